// Appends on PostgreSQL, one or several, as one statement: it compares the versions, and needs no BEGIN.
import { asOneRow, mayTake, NOW, waitsIn, watchedBy } from './conditions.ts';
import {
  type EncodedAppend,
  FIELD_TYPES,
  type Field,
  type Fields,
  type FieldType,
  fieldsOf,
  OPENED_TYPES,
  SETTLED_TYPES,
  type Shape,
  shapeOfAll,
} from './encoded.ts';
import { type Statement, statement } from './pool.ts';
import type { Tables } from './schema.ts';

/** `watched`: another process wants to hear of it; null if that was not asked. */
export type AppendedRow = { readonly id: string; readonly claimed: boolean; readonly watched: boolean | null };

export type Prepared = { readonly statement: Statement; readonly values: unknown[] };

/**
 * Makes a statement for appends to different runs. Each shape has its own, so that nobody pays for what most appends do
 * not have. It answers with one row for each append that happened. One without a row was refused, and has changed
 * nothing, while the rest happens; if one fails, none has happened. With `asksWatched`, it also looks whether another
 * process than `watcherId` watches.
 */
export type PrepareAppend = (appends: readonly EncodedAppend[], asksWatched: boolean) => Prepared;

export function appendStatements(tables: Tables, watcherId: number): PrepareAppend {
  const known = new Map<string, Composed>();
  return (appends, asksWatched) => {
    const shape = shapeOfAll(appends.map((append) => append.shape));
    const { takes, writes, opens, labels, settles, unlabels, claims } = shape;
    const key = `${takes} ${writes} ${opens} ${labels} ${settles} ${unlabels} ${claims} ${asksWatched}`;
    const composed = known.get(key) ?? compose(tables, shape, asksWatched ? watcherId : undefined);
    known.set(key, composed);
    const sent: Sent = {
      append: appends.map(({ fields }) => fields),
      opened: appends.flatMap(({ opened }) => opened),
      settled: appends.flatMap(({ settled }) => settled),
    };
    return { statement: composed.statement, values: composed.values.map((value) => value(sent)) };
  };
}

/** What all the appends of a statement consist of. */
type Sent = { readonly append: readonly Fields<typeof FIELD_TYPES>[] } & Pick<EncodedAppend, 'opened' | 'settled'>;

type Value = (sent: Sent) => unknown;
type Composed = { readonly statement: Statement; readonly values: readonly Value[] };

/** Numbers the values in the order in which the text asks for them, each once. */
function compose(tables: Tables, shape: Shape, watcherId: number | undefined): Composed {
  const values: Value[] = [];
  const numbers = new Map<string, number>();
  const value = (name: string, type: string, given: Value): string => {
    const number = numbers.get(name) ?? values.push(given);
    numbers.set(name, number);
    return `$${number}::${type}`;
  };
  /** Values of what the appends have of one kind: of the only one, or of all as a list. */
  const valuesOf = <Name extends string>(
    kind: keyof Sent,
    types: Readonly<Record<Name, FieldType>>,
  ): ListedValues<Name> => {
    const sentOf = (sent: Sent) => sent[kind] as readonly Readonly<Record<Name, string | number | null>>[];
    return {
      one: (name) => value(`${kind} ${name}`, columnType(types[name]), (sent) => sentOf(sent)[0]?.[name]),
      all: (name) => {
        const each = (sent: Sent) => sentOf(sent).map((fields) => fields[name]);
        if (types[name] !== 'json') return value(`all ${kind} ${name}`, `${types[name]}[]`, each);
        // What is not there is an empty line, which no JSON is.
        return `string_to_array(${value(`all ${kind} ${name}`, 'text', (sent) => each(sent).join('\n'))}, E'\\n', '')`;
      },
    };
  };
  const fields = valuesOf('append', FIELD_TYPES);
  const text = appendText(tables, shape, {
    of: (field) => {
      // As a constant, so that the planner leaves out what it rules out.
      if (field === 'how' && shape.claims !== 'various')
        return shape.claims === 'nothing' ? NOTHING : `'${shape.claims}'`;
      return shape.takes === 'several' ? `g.${field}` : fields.one(field);
    },
    all: fields.all,
    opened: valuesOf('opened', OPENED_TYPES),
    settled: valuesOf('settled', SETTLED_TYPES),
    ...(watcherId !== undefined && { watcher: value('watcher', 'bigint', () => watcherId) }),
  });
  return { statement: statement(text), values };
}

function columnType(type: FieldType): string {
  return type === 'json' ? 'text' : type;
}

const NOTHING = 'NULL::text';

/** How values are written into the text: that of the only one, or those of all, as an array. */
type ListedValues<Name> = { readonly one: (name: Name) => string; readonly all: (name: Name) => string };

type Given = {
  /** Of the append at hand. */
  readonly of: (field: Field) => string;
  /** Of all appends, as an array. */
  readonly all: (field: Field) => string;
  readonly opened: ListedValues<keyof typeof OPENED_TYPES>;
  readonly settled: ListedValues<keyof typeof SETTLED_TYPES>;
  /** Present if it is asked whether others watch. */
  readonly watcher?: string;
};

function appendText(tables: Tables, shape: Shape, given: Given): string {
  const parts = writing(tables, shape, given);
  const openedIds = shape.opens === 'none' ? 'NULL' : given.of('opened_ids');
  parts.push(`batch AS (
    INSERT INTO ${tables.event} (run_seq, version, events, opened)
    SELECT g.seq, g.version, ${given.of('events')}, ${openedIds} FROM written g
  )`);
  if (shape.opens !== 'none') parts.push(opening(tables, shape, given));
  if (shape.labels) parts.push(labelling(tables));
  if (shape.settles !== 'none') parts.push(settling(tables, shape, given));
  if (shape.unlabels) parts.push(unlabelling(tables));
  return `WITH ${parts.join(', ')}
    SELECT g.id, coalesce(g.claim_token = ${given.of('token')}, false) AS claimed, ${watched(tables, given)} AS watched
    FROM written g`;
}

function watched(tables: Tables, { watcher }: Given): string {
  if (watcher === undefined) return 'NULL::bool';
  return watchedBy(tables.watcher, watcher);
}

/**
 * The rows of the runs, as `written`. They are looked up and locked in the order in which the appends are given, so
 * that no two statements wait for each other in a circle.
 */
function writing(tables: Tables, shape: Shape, given: Given): string[] {
  if (shape.takes === 'one') {
    return [`written AS (${shape.writes === 'new' ? creating(tables, shape, given) : changing(tables, shape, given)})`];
  }
  const fields = fieldsOf(shape);
  const created = withGiven(shape, given);
  return [
    `given AS MATERIALIZED (
      SELECT * FROM unnest(${fields.map(given.all).join(', ')}) g (${fields.join(', ')})
      WHERE ${asOneRow('g.expected')}
    )`,
    ...(shape.writes === 'new' ? [] : [`changed AS (${changing(tables, shape, given)})`]),
    ...(shape.writes === 'old' ? [] : [`created AS (${creating(tables, shape, given)})`]),
    `written AS (${{ old: 'TABLE changed', new: created, both: `TABLE changed UNION ALL ${created}` }[shape.writes]})`,
  ];
}

const WRITTEN = 'r.id, r.seq, r.version, r.claim_token, r.started_by AS starter';

/** What else of the append is asked for once its run is written. */
function carried(shape: Shape): readonly Field[] {
  const later: ReadonlySet<Field> = new Set(['token', 'events', 'opened_ids', 'settled_id', 'settlement']);
  return fieldsOf(shape).filter((field) => later.has(field));
}

/** An INSERT cannot return what it does not write. The planner is not told that the list is short, and makes a hash of it. */
function withGiven(shape: Shape, { all }: Given): string {
  const fields: readonly Field[] = ['run_id', ...carried(shape)];
  return `SELECT w.*, ${carried(shape)
    .map((field) => `s.${field}`)
    .join(', ')}
    FROM created w JOIN unnest(${fields.map(all).join(', ')}) s (${fields.join(', ')}) ON s.run_id = w.id`;
}

function creating({ run }: Tables, { takes, writes }: Shape, { of }: Given): string {
  return `INSERT INTO ${run} AS r (created_at, id, agent, started_by, version, updated_at, wake_at, due_at,
      claim_until, claim_token, status, hash, outcome)
    SELECT ${NOW}, ${of('run_id')}, ${of('agent')}, ${of('started_by')}, ${of('expected')} + ${of('added')}, ${NOW},
      ${of('wake_at')}, CASE WHEN ${of('status')} = 'running' THEN ${NOW} WHEN ${keepsDeadlines(of('status'))} THEN ${of('wake_at')} END,
      CASE WHEN ${of('how')} <> 'pass' THEN ${NOW} + ${of('lease_ms')} END,
      CASE WHEN ${of('how')} <> 'pass' THEN ${of('token')} END, ${of('status')}, ${of('hash')}, ${of('outcome')}
    ${takes === 'one' ? '' : 'FROM given g'} ${writes === 'both' ? 'WHERE g.agent IS NOT NULL' : ''}
    RETURNING ${WRITTEN}`;
}

/** Questions wait also in a run that failed beside them. */
function keepsDeadlines(status: string): string {
  return `${status} IN ('waiting', 'failed')`;
}

/** A run that was running before has been due since then: an append does not send it to the end of the queue. */
function changing(tables: Tables, shape: Shape, given: Given): string {
  const { of } = given;
  const holds = `(${of('how')} IN ('hold', 'enter') OR ${of('how')} = 'take' AND ${mayTake(of('token'))})`;
  const leaves = `${of('how')} IN ('release', 'pass')`;
  return `UPDATE ${tables.run} r SET
      version = r.version + ${of('added')}, hash = ${of('hash')}, status = ${of('status')}, updated_at = ${NOW},
      wake_at = ${of('wake_at')}, outcome = ${of('outcome')},
      due_at = CASE WHEN ${of('status')} = 'running' THEN CASE r.status WHEN 'running' THEN r.due_at ELSE ${NOW} END
        WHEN ${keepsDeadlines(of('status'))} THEN ${of('wake_at')} END,
      claim_token = CASE WHEN ${holds} THEN ${of('token')}
        WHEN ${leaves} THEN NULL ELSE r.claim_token END,
      claim_until = CASE WHEN ${holds} THEN ${NOW} + ${of('lease_ms')}
        WHEN ${leaves} THEN NULL ELSE r.claim_until END
    ${shape.takes === 'one' ? '' : 'FROM given g'} WHERE ${shape.writes === 'both' ? 'g.agent IS NULL AND' : ''}
      r.id = ${of('run_id')} AND r.version = ${of('expected')}
      AND (${of('how')} IS NULL OR ${of('how')} = 'take' OR r.claim_token = ${of('token')}
        OR ${of('how')} IN ('enter', 'pass') AND ${mayTake(of('token'))})
      ${shape.settles === 'none' ? '' : `AND ${allWait(tables, shape, given)}`}
    RETURNING ${[WRITTEN, ...(shape.takes === 'one' ? [] : carried(shape).map((field) => `g.${field}`))].join(', ')}`;
}

/** Whoever settled one of them in the meantime has also changed the version. */
function allWait({ interrupt }: Tables, { takes, settles }: Shape, { of, settled: { all } }: Given): string {
  const waiting = waitsIn('r.id');
  if (settles === 'one') {
    const waits = `EXISTS (SELECT FROM ${interrupt} i WHERE i.id = ${of('settled_id')} AND ${waiting})`;
    return takes === 'one' ? waits : `(${of('settled_id')} IS NULL OR ${waits})`;
  }
  return `(SELECT count(DISTINCT i.id) FROM unnest(${all('id')}, ${all('run_id')}) s (id, run_id)
      JOIN ${interrupt} i ON i.id = s.id WHERE s.run_id = r.id AND ${waiting})
    = (SELECT count(*) FROM unnest(${all('run_id')}) s (run_id) WHERE s.run_id = r.id)`;
}

function opening({ interrupt }: Tables, { opens, labels }: Shape, { opened }: Given): string {
  const names = Object.keys(OPENED_TYPES) as readonly (keyof typeof OPENED_TYPES)[];
  // Without labels there is nothing to make an array of.
  const columns = names.filter((name) => name !== 'run_id' && (labels || name !== 'labels'));
  const column = (name: (typeof names)[number]): string => {
    const value = opens === 'one' ? opened.one(name) : `o.${name}`;
    return name === 'labels' ? `ARRAY(SELECT json_array_elements_text(${value}::json))` : value;
  };
  const from =
    opens === 'one'
      ? ''
      : `JOIN unnest(${names.map(opened.all).join(', ')}) WITH ORDINALITY o (${names.join(', ')}, place)
          ON o.run_id = g.id ORDER BY o.place`;
  return `opened AS (
    INSERT INTO ${interrupt} AS i (run_id, started_by, ${columns.join(', ')})
    SELECT g.id, g.starter, ${columns.map(column).join(', ')} FROM written g ${from}
    RETURNING i.id, i.seq, i.created_at, i.labels
  )`;
}

function labelling({ label }: Tables): string {
  return `labelled AS (
    INSERT INTO ${label} (label, waiting, created_at, seq, interrupt_id)
    SELECT DISTINCT name, true, o.created_at, o.seq, o.id FROM opened o, unnest(o.labels) AS name
  )`;
}

function settling({ interrupt }: Tables, { settles }: Shape, { of, settled: { all } }: Given): string {
  const [settlement, from, matches] =
    settles === 'one'
      ? [of('settlement'), 'written g', `i.id = ${of('settled_id')}`]
      : [
          's.settlement',
          `written g JOIN unnest(${all('id')}, ${all('run_id')}, ${all('settlement')})
            s (id, run_id, settlement) ON s.run_id = g.id`,
          'i.id = s.id',
        ];
  return `settled AS (
    UPDATE ${interrupt} i SET settled_at = ${NOW}, settlement = ${settlement} FROM ${from} WHERE ${matches}
    RETURNING i.seq, i.created_at, i.labels
  )`;
}

function unlabelling({ label }: Tables): string {
  return `unlabelled AS (
    UPDATE ${label} l SET waiting = false FROM settled s, unnest(s.labels) AS name
    WHERE l.label = name AND l.waiting AND l.created_at = s.created_at AND l.seq = s.seq AND ${asOneRow('length(name)')}
  )`;
}
