// Appends on PostgreSQL: any number of them to different runs is one statement, which compares the versions itself.

import { FREEZES } from '../../runs/port/store.ts';
import { STARTER } from '../rules/deciders.ts';
import type { EncodedAppend } from '../sql/encode.ts';
import { unlessUnasked, untoldSince } from '../sql/rows.ts';
import { asOneRow, isPendingIn, isWatchedByOthers, mayTake, NOW } from './expressions.ts';
import { type Statement, statement } from './pool.ts';
import type { Tables } from './schema.ts';

/** `watched`: whether another process watches. */
export type AppendedRow = { readonly id: string; readonly claimed: boolean; readonly watched: boolean };

export type Prepared = { readonly statement: Statement; readonly values: unknown[] };

/**
 * The columns of the lists that travel to the database. A `line` is text without line ends: a list of them travels as
 * lines, because an array would escape every quotation mark of the JSON.
 */
type ColumnType = 'text' | 'int' | 'bigint' | 'line';

const RUN = {
  run_id: 'text',
  expected: 'int',
  added: 'int',
  alters: 'int',
  events: 'line',
  hash: 'text',
  status: 'text',
  wake_at: 'bigint',
  outcome: 'line',
  how: 'text',
  token: 'text',
  lease_ms: 'bigint',
  agent: 'text',
  started_by: 'text',
  at: 'bigint',
} as const;

/** Where a call starts with some of them. */
const RUN_STARTING = { ...RUN, freezes: 'bigint' } as const;

const OPENED = {
  run_id: 'text',
  id: 'text',
  agent: 'text',
  tool: 'text',
  kind: 'text',
  risk: 'text',
  digest: 'text',
  created_at: 'bigint',
  expires_at: 'bigint',
  labels: 'line',
  deciders: 'line',
  search_text: 'line',
  card: 'line',
  progress: 'line',
} as const;

const SETTLEMENT = {
  settlement: 'line',
  outcome: 'text',
  edited: 'int',
  expired: 'int',
  ended: 'text',
  ending: 'line',
} as const;

const SETTLED = { run_id: 'text', id: 'text', ...SETTLEMENT } as const;

/** Where some of them are settled from the start. */
const OPENED_SETTLED = { ...OPENED, ...SETTLEMENT } as const;

const ENDED = { run_id: 'text', id: 'text', ended: 'text', ending: 'line' } as const;

const PROGRESSED = { run_id: 'text', id: 'text', progress: 'line', deciders: 'line' } as const;

/** How many rows a list has. One row travels as plain values, which cost both sides less than lists. */
type Count = 'none' | 'one' | 'several';

/** What the appends of a statement do: a statement has no parts that none of its appends needs. */
type Parts = {
  readonly creates: boolean;
  readonly changes: boolean;
  readonly runs: Count;
  /** A call starts with some of them. */
  readonly starts: boolean;
  readonly opened: Count;
  /** Some of them are settled from the start. */
  readonly opensSettled: boolean;
  readonly settled: Count;
  readonly progressed: Count;
  readonly ended: Count;
};

/**
 * Makes the statement for appends to different runs. It answers with one row for each append that happened. An append
 * without a row was refused and has changed nothing, while the others happened. If the statement fails, none happened.
 */
export function appendStatements(tables: Tables, watcherId: number): (appends: readonly EncodedAppend[]) => Prepared {
  const known = new Map<string, Statement>();
  return (appends) => {
    const runs = appends.map(({ run }) => run);
    const opened = appends.flatMap((append) => append.opened);
    const settled = appends.flatMap((append) => append.settled);
    const progressed = appends.flatMap((append) => append.progressed);
    const ended = appends.flatMap((append) => append.ended);
    const parts: Parts = {
      creates: runs.some(({ agent }) => agent !== null),
      changes: runs.some(({ agent }) => agent === null),
      runs: countOf(runs),
      starts: runs.some(({ freezes }) => freezes !== null),
      opened: countOf(opened),
      opensSettled: opened.some(({ settlement }) => settlement !== undefined),
      settled: countOf(settled),
      progressed: countOf(progressed),
      ended: countOf(ended),
    };
    const key = Object.values(parts).join();
    const made = known.get(key) ?? statement(appendText(tables, parts));
    known.set(key, made);
    const changed = [...valuesOf(SETTLED, settled), ...valuesOf(PROGRESSED, progressed), ...valuesOf(ENDED, ended)];
    const openedValues = parts.opensSettled
      ? valuesOf(OPENED_SETTLED, opened.map(settledOrNot))
      : valuesOf(OPENED, opened);
    const values = [watcherId, ...valuesOf(parts.starts ? RUN_STARTING : RUN, runs), ...openedValues, ...changed];
    return { statement: made, values };
  };
}

/** Every row of a list has a value for each column. */
function settledOrNot(row: EncodedAppend['opened'][number]) {
  return { settlement: null, outcome: null, edited: null, expired: null, ended: null, ending: null, ...row };
}

type Columns = { readonly [name: string]: ColumnType };

function countOf(rows: readonly unknown[]): Count {
  return rows.length === 0 ? 'none' : rows.length === 1 ? 'one' : 'several';
}

/** One value for each column: that of the only row, or the list of what all rows have there. */
function valuesOf<C extends Columns>(columns: C, rows: readonly { readonly [name in keyof C]: unknown }[]): unknown[] {
  const [only] = rows;
  if (only === undefined) return [];
  if (rows.length === 1) return Object.keys(columns).map((name) => only[name]);
  return Object.entries(columns).map(([name, type]) => {
    const list = rows.map((row) => row[name as keyof C]);
    return type === 'line' ? list.map((line) => line ?? '').join('\n') : list;
  });
}

/**
 * The rows of such values, from the parameter number `first` on, numbered in the order of the list. The planner puts the
 * values of a single row where they are used.
 */
function rowsSql(columns: Columns, count: Count, first: number): string {
  if (count === 'one') {
    const values = Object.entries(columns).map(
      ([name, type], index) => `$${first + index}::${type === 'line' ? 'text' : type} AS ${name}`,
    );
    return `NOT MATERIALIZED (SELECT ${values.join(', ')}, 1 AS place)`;
  }
  const lists = Object.values(columns).map((type, index) =>
    // An empty line is null: no JSON is empty.
    type === 'line' ? `string_to_array($${first + index}::text, E'\\n', '')` : `$${first + index}::${type}[]`,
  );
  return `MATERIALIZED (SELECT * FROM unnest(${lists.join(', ')})
    WITH ORDINALITY AS list (${Object.keys(columns).join(', ')}, place) WHERE ${asOneRow('place')})`;
}

function appendText(tables: Tables, parts: Parts): string {
  const { creates, changes, runs, starts, opened, opensSettled, settled, progressed, ended } = parts;
  const openedColumns = opensSettled ? OPENED_SETTLED : OPENED;
  const [opens, settles] = [opened !== 'none', settled !== 'none'];
  const [progresses, ends] = [progressed !== 'none', ended !== 'none'];
  const altered = [settles && 'settling', progresses && 'progressing'].filter((list) => list !== false);
  const runColumns = starts ? RUN_STARTING : RUN;
  const openedFrom = 2 + Object.keys(runColumns).length;
  const settledFrom = openedFrom + (opens ? Object.keys(openedColumns).length : 0);
  const progressedFrom = settledFrom + (settles ? Object.keys(SETTLED).length : 0);
  const endedFrom = progressedFrom + (progresses ? Object.keys(PROGRESSED).length : 0);
  const both = creates && changes;
  const steps = [
    `given AS ${rowsSql(runColumns, runs, 2)}`,
    starts && `freezing AS MATERIALIZED (${readingFreezes(tables)})`,
    opens && `opening AS ${rowsSql(openedColumns, opened, openedFrom)}`,
    settles && `settling AS ${rowsSql(SETTLED, settled, settledFrom)}`,
    progresses && `progressing AS ${rowsSql(PROGRESSED, progressed, progressedFrom)}`,
    ends && `ending AS ${rowsSql(ENDED, ended, endedFrom)}`,
    altered.length > 0 && `pending AS MATERIALIZED (${countingPending(tables, altered)})`,
    changes && `${both ? 'changed' : 'written'} AS (${changing(tables, altered.length > 0, starts)})`,
    creates && `${both ? 'created' : 'written'} AS (${creating(tables, starts)})`,
    both && 'written AS (SELECT * FROM changed UNION ALL SELECT * FROM created)',
    `batch AS (${adding(tables, opens)})`,
    opens && `opened AS (${opening(tables, opensSettled)})`,
    settles && `settled AS (${settling(tables)})`,
    progresses && `progressed AS (${progressing(tables)})`,
    ends && `ended AS (${endingSql(tables)})`,
  ];
  return `WITH ${steps.filter(Boolean).join(', ')}
    SELECT w.id, coalesce(w.claim_token = g.token, false) AS claimed,
      ${isWatchedByOthers(tables.watcher, '$1::bigint')} AS watched
    FROM written w JOIN given g ON g.run_id = w.id`;
}

const WRITTEN = 'r.id, r.seq, r.version, r.claim_token, r.started_by';

/** When the append `g` was recorded. */
const AT = `coalesce(g.at, ${NOW})`;

const KEEPS_WAKE_AT = `g.status IN ('waiting', 'failed')`;

/**
 * A freeze waits for the starts that share this lock, and a start that waits for a freeze sees what it wrote: then the version is
 * another one, and the call does not start. At a strict isolation level, the statement fails and is sent again.
 */
function readingFreezes({ note }: Tables): string {
  return `SELECT n.version FROM ${note} n WHERE n.collection = '${FREEZES[0]}' AND n.key = '${FREEZES[1]}' FOR SHARE`;
}

const MAY_START = `(g.freezes IS NULL OR g.freezes = coalesce((SELECT f.version FROM freezing f), 0))`;

function creating({ run }: Tables, starts: boolean): string {
  return `INSERT INTO ${run} AS r (created_at, id, agent, started_by, version, updated_at, wake_at, due_at,
      claim_until, claim_token, status, hash, outcome)
    SELECT ${AT}, g.run_id, g.agent, g.started_by, g.expected + g.added, ${AT}, g.wake_at,
      CASE WHEN g.status = 'running' THEN ${AT} WHEN ${KEEPS_WAKE_AT} THEN g.wake_at END,
      CASE WHEN g.how <> 'pass' THEN ${AT} + g.lease_ms END, CASE WHEN g.how <> 'pass' THEN g.token END,
      g.status, g.hash, g.outcome
    FROM given g WHERE g.agent IS NOT NULL${starts ? ` AND ${MAY_START}` : ''}
    RETURNING ${WRITTEN}`;
}

/**
 * Locks the rows of the runs in the order of the appends, so that no two statements deadlock. A run that was running
 * before stays due since then: an append does not move it to the end of the queue.
 */
function changing({ run }: Tables, alters: boolean, starts: boolean): string {
  const holds = `(g.how IN ('hold', 'enter') OR g.how = 'take' AND ${mayTake('g.token')})`;
  const releases = `g.how IN ('release', 'pass')`;
  const allPending = 'g.alters = coalesce((SELECT p.count FROM pending p WHERE p.run_id = g.run_id), 0)';
  return `UPDATE ${run} r SET
      version = r.version + g.added, hash = g.hash, status = g.status, updated_at = ${AT},
      wake_at = g.wake_at, outcome = g.outcome,
      due_at = CASE WHEN g.status = 'running' THEN CASE r.status WHEN 'running' THEN r.due_at ELSE ${AT} END
        WHEN ${KEEPS_WAKE_AT} THEN g.wake_at END,
      claim_token = CASE WHEN ${holds} THEN g.token WHEN ${releases} THEN NULL ELSE r.claim_token END,
      claim_until = CASE WHEN ${holds} THEN ${AT} + g.lease_ms WHEN ${releases} THEN NULL ELSE r.claim_until END
    FROM given g
    WHERE g.agent IS NULL AND r.id = g.run_id AND r.version = g.expected
      AND (g.how IS NULL OR g.how = 'take' OR r.claim_token = g.token
        OR g.how IN ('enter', 'pass') AND ${mayTake('g.token')})
      ${alters ? `AND ${allPending}` : ''} ${starts ? `AND ${MAY_START}` : ''}
    RETURNING ${WRITTEN}`;
}

/**
 * Counts the requests of these lists that are pending. Settling one of them in the meantime would also have changed the
 * version of the run.
 */
function countingPending({ request }: Tables, lists: readonly string[]): string {
  const altered = lists.map((list) => `SELECT run_id, id FROM ${list}`).join(' UNION ALL ');
  return `SELECT s.run_id, count(DISTINCT i.id) AS count FROM (${altered}) s JOIN ${request} i ON i.id = s.id
    WHERE ${isPendingIn('s.run_id')} GROUP BY s.run_id`;
}

function adding({ event }: Tables, opens: boolean): string {
  const ids = 'NULLIF(ARRAY(SELECT o.id FROM opening o WHERE o.run_id = w.id ORDER BY o.place), ARRAY[]::text[])';
  return `INSERT INTO ${event} (run_seq, version, events, opened)
    SELECT w.seq, w.version, g.events, ${opens ? ids : 'NULL'} FROM written w JOIN given g ON g.run_id = w.id`;
}

/** The defaults of the table mark the request as untold. Nobody is told of one that is settled from the start. */
function opening({ request }: Tables, opensSettled: boolean): string {
  const columns = Object.keys(opensSettled ? OPENED_SETTLED : OPENED);
  const values = columns.map((name) =>
    name === 'labels'
      ? `CASE WHEN o.labels IS NOT NULL THEN ${textsIn('o.labels')} END`
      : name === 'deciders'
        ? keysWith('o.deciders', 'w.started_by')
        : `o.${name}`,
  );
  if (opensSettled) {
    columns.push('settled_at', 'tell_at', 'news');
    const isSettled = (then: string, otherwise: string) =>
      `CASE WHEN o.settlement IS NULL THEN ${otherwise} ELSE ${then} END`;
    values.push(isSettled(AT, 'NULL'), isSettled('NULL', NOW), isSettled('NULL', '1'));
  }
  return `INSERT INTO ${request} (started_by, ${columns.join(', ')})
    SELECT w.started_by, ${values.join(', ')} FROM written w JOIN opening o ON o.run_id = w.id${
      opensSettled ? ' JOIN given g ON g.run_id = w.id' : ''
    } ORDER BY o.place`;
}

const textsIn = (json: string): string => `ARRAY(SELECT json_array_elements_text(${json}::json))`;

/** The keys of the deciders, and that of the person who started the run. */
const keysWith = (json: string, startedBy: string): string =>
  `${textsIn(json)} || CASE WHEN ${startedBy} IS NULL THEN ARRAY[]::text[] ELSE ARRAY['${STARTER}' || ${startedBy}] END`;

function settling({ request }: Tables): string {
  return `UPDATE ${request} i SET settled_at = ${AT}, settlement = s.settlement, outcome = s.outcome,
      edited = s.edited, expired = s.expired, ended = s.ended, ending = s.ending, ${untoldSince(NOW, 'i.')}
    FROM written w JOIN given g ON g.run_id = w.id JOIN settling s ON s.run_id = w.id WHERE i.id = s.id`;
}

function progressing({ request }: Tables): string {
  return `UPDATE ${request} i SET progress = p.progress,
      deciders = CASE WHEN p.deciders IS NULL THEN i.deciders ELSE ${keysWith('p.deciders', 'i.started_by')} END,
      ${untoldSince(NOW, 'i.')}
    FROM written w JOIN progressing p ON p.run_id = w.id WHERE i.id = p.id`;
}

function endingSql({ request }: Tables): string {
  return `UPDATE ${request} i SET ended = e.ended, ending = e.ending, ${untoldSince(unlessUnasked(NOW, 'i.'), 'i.')}
    FROM written w JOIN ending e ON e.run_id = w.id WHERE i.id = e.id AND i.run_id = e.run_id`;
}
