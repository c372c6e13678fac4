// Searching on SQLite: an index of the words of the questions that wait, kept up by triggers once it is prepared.
import type { InterruptQuery } from '../../runs/port/store.ts';
import { readPageRequest } from '../rules/page.ts';
import { namedWords, tagsOf } from '../rules/search-text.ts';
import { type Dialect, filtersOf, outcomesOf, type Sql } from '../sql/list-query.ts';
import type { Job } from './connection.ts';

/** Whether the index is there: any process may have made it. One that an earlier version made may lack what is asked. */
export const isSearchPrepared: Job<boolean> = (prepare) => isOurs(madeWith(prepare));

const madeWith: Job<unknown> = (prepare) =>
  prepare("SELECT sql FROM sqlite_schema WHERE name = 'countersign_search'").get()?.sql;

const isOurs = (made: unknown): boolean => typeof made === 'string' && made.includes(TOKENIZER);

/** Makes what is not there yet. In a transaction, so that no question is left out. */
export const prepareSqliteSearch: Job<void> = (prepare) => {
  for (const index of INDEXES) prepare(`CREATE INDEX IF NOT EXISTS ${index}`).get();
  const made = madeWith(prepare);
  if (isOurs(made)) return;
  // Those that earlier versions made found words without their accents.
  if (made !== undefined) for (const undo of UNDO) prepare(undo).get();
  prepare(TABLE).get();
  prepare(ADD_WAITING).get();
  for (const trigger of TRIGGERS) prepare(trigger).get();
};

/** A page of what waits and has all words. It is read in the order of the list, whether few have them or many. */
export function sqliteSearchSql(query: InterruptQuery, words: readonly string[], dialect: Dialect): Sql {
  const { after, limit } = readPageRequest(query);
  const newest = query.order === 'newest';
  const values: (string | number)[] = [];
  const value = (given: string | number): string => {
    values.push(given);
    return '?';
  };
  // Words are letters and digits only.
  const asked = [...words, ...namedWords(query)].map((word) => `words : "${word}" *`);
  for (const tag of tagsOf(query, hex)) asked.push(`tags : "${tag}"`);
  const conditions = [`countersign_search MATCH ${value(asked.join(' AND '))}`];
  const place = (createdAt: number, seq: number): string =>
    rowidOf(`CAST(${value(createdAt)} AS INTEGER)`, `CAST(${value(seq)} AS INTEGER)`);
  if (after !== undefined) conditions.push(`s.rowid ${newest ? '<' : '>'} ${place(after.createdAt, after.seq)}`);
  if (query.createdBefore !== undefined) conditions.push(`i.created_at < ${value(query.createdBefore)}`);
  if (query.createdAfter !== undefined) conditions.push(`i.created_at > ${value(query.createdAfter)}`);
  conditions.push(...filtersOf(query, value), ...outcomesOf(query, dialect));
  if (query.label !== undefined) conditions.push(dialect.hasLabel(value(query.label)));
  // A CROSS JOIN is done in the order in which it is written.
  const text = `SELECT ${dialect.columns} FROM countersign_search s CROSS JOIN countersign_interrupt i ON i.seq = s.seq
    WHERE ${conditions.join(' AND ')} ORDER BY s.rowid ${newest ? 'DESC' : 'ASC'} LIMIT ${value(limit + 1)}`;
  return { text, values };
}

const INDEXES = [
  `countersign_interrupt_starter_waiting ON countersign_interrupt (started_by, created_at) WHERE settled_at IS NULL`,
  `countersign_interrupt_starter_settled ON countersign_interrupt (started_by, created_at)
    WHERE settled_at IS NOT NULL`,
  `countersign_interrupt_settled_at ON countersign_interrupt (settled_at) WHERE settled_at IS NOT NULL`,
] as const;

/** Words are as they are written: the memory store tells `n` from `ñ`, too. */
const TOKENIZER = "tokenize = 'unicode61 remove_diacritics 0'";

const TABLE = `CREATE VIRTUAL TABLE countersign_search
  USING fts5 (words, tags, seq UNINDEXED, columnsize = 0, ${TOKENIZER})`;

/**
 * The words are found in the order of the rowids. So these have the order of the list: the time is in front of the number.
 * Times that are out of all reason share the first or last place.
 */
function rowidOf(createdAt: string, seq: string): string {
  return `(max(min(${createdAt}, 8796093022206), -8796093022207) * 1048576 + ${seq} % 1048576)`;
}

function hex(text: string): string {
  return Buffer.from(text).toString('hex');
}

/** Null instead of what was changed and is no JSON any more: a look into it would fail the whole statement. */
export function ifJson(column: string): string {
  return `CASE WHEN json_valid(${column}) THEN ${column} END`;
}

/** What is looked for in, of the interrupt `i`. */
function textsOf(i: string): string {
  const shown = (path: string): string =>
    `coalesce((SELECT group_concat(atom, ' ') FROM json_tree(${i}.card, '${path}')
      WHERE type IN ('text', 'integer', 'real')), '')`;
  return `${i}.agent || ' ' || ${i}.tool
    || ' ' || coalesce((SELECT group_concat(value, ' ') FROM json_each(${ifJson(`${i}.labels`)})), '')
    || ' ' || CASE WHEN json_valid(${i}.card)
      THEN ${shown('$.part.toolRequest.input')} || ' ' || ${shown('$.part.metadata.interrupt')} ELSE '' END`;
}

function fieldsOf(i: string): string {
  const tag = (letter: string, column: string): string => `coalesce('${letter}' || lower(hex(${i}.${column})), '')`;
  const tags = [tag('s', 'started_by'), tag('k', 'kind'), tag('r', 'risk')].join(" || ' ' || ");
  return `${rowidOf(`${i}.created_at`, `${i}.seq`)}, ${textsOf(i)}, ${tags}, ${i}.seq`;
}

/** Two that share a place cannot both be found, but both can be written. */
const ADD = 'INSERT OR REPLACE INTO countersign_search (rowid, words, tags, seq)';

const ADD_WAITING = `${ADD} SELECT ${fieldsOf('i')} FROM countersign_interrupt i WHERE i.settled_at IS NULL`;

const TRIGGERS = [
  `CREATE TRIGGER countersign_search_open AFTER INSERT ON countersign_interrupt WHEN new.settled_at IS NULL
   BEGIN ${ADD} VALUES (${fieldsOf('new')}); END`,
  `CREATE TRIGGER countersign_search_settle AFTER UPDATE OF settled_at ON countersign_interrupt
   WHEN old.settled_at IS NULL AND new.settled_at IS NOT NULL
   BEGIN DELETE FROM countersign_search WHERE rowid = ${rowidOf('old.created_at', 'old.seq')}; END`,
] as const;

const UNDO = [
  'DROP TRIGGER IF EXISTS countersign_search_open',
  'DROP TRIGGER IF EXISTS countersign_search_settle',
  'DROP TABLE countersign_search',
] as const;
