// Appends on PostgreSQL, one or several, as one statement: it compares the versions, and needs no BEGIN.
import type { Append, ClaimHow } from '../runs/store.ts';
import { asOneRow, mayTake, NOW, waitsIn } from './postgres-conditions.ts';
import { type Statement, statement } from './postgres-pool.ts';
import type { Tables } from './postgres-schema.ts';

export type AppendedRow = { readonly id: string; readonly claimed: boolean; readonly watched: boolean };

export type Prepared = { readonly statement: Statement; readonly values: unknown[] };

/**
 * Makes statements that answer with one row for each append that happened: `id`, `claimed`, and `watched` if another
 * process than `watcherId` wants to hear of it. An append without a row was refused, and has changed nothing.
 */
export type AppendStatements = {
  /** Each shape has its own statement, so that nobody pays for what most appends do not have. */
  readonly one: (append: EncodedAppend) => Prepared;
  /** Appends to different runs. Some may be refused and the rest happens; if one fails, none has happened. */
  readonly several: (appends: readonly EncodedAppend[]) => Prepared;
};

export function appendStatements(tables: Tables, watcherId: number): AppendStatements {
  const known = new Map<string, Composed>();
  function prepare(shape: Shape, appends: readonly EncodedAppend[]): Prepared {
    const key = Object.values(shape).join();
    const composed = known.get(key) ?? compose(tables, shape, watcherId);
    known.set(key, composed);
    return { statement: composed.statement, values: composed.values.map((value) => value(appends)) };
  }
  return {
    one: (append) => prepare(append.shape, [append]),
    several: (appends) => prepare(shapeOfAll(appends.map(({ shape }) => shape)), appends),
  };
}

/** An append as it travels: what the caller changes afterwards is no matter. */
export type EncodedAppend = {
  readonly shape: Shape;
  readonly runId: string;
  readonly fields: Readonly<Record<Field, string | number | null>>;
  readonly opened: readonly ReturnType<typeof openedRow>[];
  readonly settled: readonly { readonly id: string; readonly settlement: string }[];
};

export function encodeAppend(append: Append): EncodedAppend {
  const { runId, create, claim, events, opened, settled } = append;
  return {
    shape: shapeOf(append),
    runId,
    fields: {
      run_id: runId,
      expected: append.expectedVersion,
      added: events.length,
      events: JSON.stringify(events),
      hash: append.hash,
      status: append.status,
      wake_at: append.wakeAt,
      outcome: JSON.stringify(append.outcome),
      how: claim?.how ?? null,
      token: claim?.token ?? null,
      lease_ms: claim === undefined ? null : Math.ceil(claim.leaseMs),
      agent: create?.agent ?? null,
      started_by: create?.startedBy ?? null,
      opened_ids: opened.length === 0 ? null : JSON.stringify(opened.map(({ id }) => id)),
    },
    opened: opened.map(openedRow),
    settled: settled.map(({ id, settlement }) => ({ id, settlement: JSON.stringify(settlement) })),
  };
}

/** What an append consists of, beside interrupts, by the names in the statement. */
const FIELD_TYPES = {
  ...{ run_id: 'text', expected: 'int', added: 'int', events: 'text', hash: 'text', status: 'text', wake_at: 'bigint' },
  ...{ outcome: 'text', how: 'text', token: 'text', lease_ms: 'bigint', agent: 'text', started_by: 'text' },
  opened_ids: 'text',
} as const;

type Field = keyof typeof FIELD_TYPES;
const FIELDS = Object.keys(FIELD_TYPES) as readonly Field[];

/** What a statement has to be able to do. */
type Shape = {
  readonly takes: 'one' | 'several';
  readonly writes: 'new' | 'old' | 'both';
  readonly opens: 'none' | 'plain' | 'labelled';
  readonly settles: 'none' | 'one' | 'several';
  /** Whether the runs are due afterwards, now or later. */
  readonly due: 'yes' | 'no' | 'both';
  /** What all of them do about the claim, if it is the same. */
  readonly claims: ClaimHow | 'nothing' | 'various';
};

function shapeOfAll(shapes: readonly Shape[]): Shape {
  const common = <Key extends keyof Shape, Other>(key: Key, other: Other): Shape[Key] | Other => {
    const [first] = shapes;
    return first !== undefined && shapes.every((shape) => shape[key] === first[key]) ? first[key] : other;
  };
  return {
    takes: 'several',
    writes: common('writes', 'both'),
    opens: shapes.some(({ opens }) => opens === 'labelled') ? 'labelled' : common('opens', 'plain'),
    settles: common('settles', 'several') === 'none' ? 'none' : 'several',
    due: common('due', 'both'),
    claims: common('claims', 'various'),
  };
}

function shapeOf({ create, opened, settled, status, wakeAt, claim }: Append): Shape {
  const labelled = opened.some(({ labels }) => labels.length > 0);
  return {
    takes: 'one',
    writes: create === undefined ? 'old' : 'new',
    opens: opened.length === 0 ? 'none' : labelled ? 'labelled' : 'plain',
    settles: settled.length === 0 ? 'none' : settled.length === 1 ? 'one' : 'several',
    due: status === 'running' || (status === 'waiting' && wakeAt !== null) ? 'yes' : 'no',
    claims: claim?.how ?? 'nothing',
  };
}

type Value = (appends: readonly EncodedAppend[]) => unknown;
type Composed = { readonly statement: Statement; readonly values: readonly Value[] };

/** Numbers the values in the order in which the text asks for them, each once. */
function compose(tables: Tables, shape: Shape, watcherId: number): Composed {
  const values: Value[] = [];
  const numbers = new Map<string, number>();
  const value = (name: string, type: string, given: Value): string => {
    const number = numbers.get(name) ?? values.push(given);
    numbers.set(name, number);
    return `$${number}::${type}`;
  };
  const settled = (name: string, of: (append: EncodedAppend) => readonly string[]): string =>
    shape.settles === 'one'
      ? value(name, 'text', (appends) => appends.flatMap(of)[0])
      : value(name, 'text[]', (appends) => appends.flatMap(of));
  const text = appendText(tables, shape, {
    of: (field) => {
      // As a constant, so that the planner leaves out what it rules out.
      if (field === 'how' && shape.claims !== 'various')
        return shape.claims === 'nothing' ? NOTHING : `'${shape.claims}'`;
      if (shape.takes === 'several') return `g.${field}`;
      return value(field, FIELD_TYPES[field], ([append]) => append?.fields[field]);
    },
    all: (field) => value(field, `${FIELD_TYPES[field]}[]`, (appends) => appends.map(({ fields }) => fields[field])),
    opened: () => value('opened', 'json', (appends) => JSON.stringify(appends.flatMap(({ opened }) => opened))),
    settledIds: () => settled('settled ids', (append) => append.settled.map(({ id }) => id)),
    settledRuns: () => settled('settled runs', (append) => append.settled.map(() => append.runId)),
    settlements: () => settled('settlements', (append) => append.settled.map(({ settlement }) => settlement)),
    watcher: () => value('watcher', 'bigint', () => watcherId),
  });
  return { statement: statement(text), values };
}

const NOTHING = 'NULL::text';

/** How the values are written into the text. */
type Given = {
  /** Of the append at hand. */
  readonly of: (field: Field) => string;
  /** Of all appends, as an array. */
  readonly all: (field: Field) => string;
  readonly opened: () => string;
  readonly settledIds: () => string;
  readonly settledRuns: () => string;
  readonly settlements: () => string;
  readonly watcher: () => string;
};

function appendText(tables: Tables, shape: Shape, given: Given): string {
  const parts = writing(tables, shape, given);
  const openedIds = shape.opens === 'none' ? 'NULL' : given.of('opened_ids');
  parts.push(`batch AS (
    INSERT INTO ${tables.event} (run_seq, version, events, opened)
    SELECT g.seq, g.version, ${given.of('events')}, ${openedIds} FROM written g
  )`);
  if (shape.due !== 'no') parts.push(becomingDue(tables));
  if (shape.due !== 'yes' && shape.writes !== 'new') parts.push(endingDue(tables));
  if (shape.opens !== 'none') parts.push(opening(tables, given));
  if (shape.opens === 'labelled') parts.push(labelling(tables));
  if (shape.settles !== 'none') parts.push(settling(tables, shape, given), unlabelling(tables));
  return `WITH ${parts.join(', ')}
    SELECT g.id, coalesce(g.claim_token = ${given.of('token')}, false) AS claimed,
      EXISTS (SELECT FROM ${tables.watcher} WHERE until > ${NOW} AND id <> ${given.watcher()}) AS watched
    FROM written g`;
}

/**
 * The rows of the runs, as `written`. They are looked up and locked in the order in which the appends are given, so
 * that no two statements wait for each other in a circle.
 */
function writing(tables: Tables, shape: Shape, given: Given): string[] {
  if (shape.takes === 'one') {
    return [`written AS (${shape.writes === 'new' ? creating(tables, shape, given) : changing(tables, shape, given)})`];
  }
  return [
    `given AS MATERIALIZED (
      SELECT * FROM unnest(${FIELDS.map(given.all).join(', ')}) g (${FIELDS.join(', ')})
      WHERE ${asOneRow('g.expected')}
    )`,
    ...(shape.writes === 'new' ? [] : [`changed AS (${changing(tables, shape, given)})`]),
    ...(shape.writes === 'old' ? [] : [`created AS (${creating(tables, shape, given)})`]),
    `written AS (${{ old: 'TABLE changed', new: withGiven(given), both: `TABLE changed UNION ALL ${withGiven(given)}` }[shape.writes]})`,
  ];
}

const WRITTEN = 'r.id, r.seq, r.version, r.claim_token, r.due_at, r.started_by AS starter';
/** What else of the append is asked for once its run is written. */
const CARRIED = ['token', 'events', 'opened_ids'] as const;

/** An INSERT cannot return what it does not write. The planner is not told that the list is short, and makes a hash of it. */
function withGiven({ all }: Given): string {
  const fields = ['run_id', ...CARRIED] as const;
  return `SELECT w.*, ${CARRIED.map((field) => `s.${field}`).join(', ')}
    FROM created w JOIN unnest(${fields.map(all).join(', ')}) s (${fields.join(', ')}) ON s.run_id = w.id`;
}

function creating({ run }: Tables, { takes }: Shape, { of }: Given): string {
  return `INSERT INTO ${run} AS r (created_at, id, agent, started_by, version, updated_at, wake_at, due_at,
      claim_until, claim_token, status, hash, outcome)
    SELECT ${NOW}, ${of('run_id')}, ${of('agent')}, ${of('started_by')}, ${of('expected')} + ${of('added')}, ${NOW},
      ${of('wake_at')}, CASE ${of('status')} WHEN 'running' THEN ${NOW} WHEN 'waiting' THEN ${of('wake_at')} END,
      CASE WHEN ${of('how')} <> 'pass' THEN ${NOW} + ${of('lease_ms')} END,
      CASE WHEN ${of('how')} <> 'pass' THEN ${of('token')} END, ${of('status')}, ${of('hash')}, ${of('outcome')}
    ${takes === 'one' ? '' : 'FROM given g WHERE g.agent IS NOT NULL'}
    RETURNING ${WRITTEN}`;
}

/** A run that was running before has been due since then: an append does not send it to the end of the queue. */
function changing(tables: Tables, shape: Shape, given: Given): string {
  const { of } = given;
  const holds = `(${of('how')} IN ('hold', 'enter') OR ${of('how')} = 'take' AND ${mayTake(of('token'))})`;
  const leaves = `${of('how')} IN ('release', 'pass')`;
  return `UPDATE ${tables.run} r SET
      version = r.version + ${of('added')}, hash = ${of('hash')}, status = ${of('status')}, updated_at = ${NOW},
      wake_at = ${of('wake_at')}, outcome = ${of('outcome')},
      due_at = CASE ${of('status')}
        WHEN 'running' THEN CASE r.status WHEN 'running' THEN r.due_at ELSE ${NOW} END
        WHEN 'waiting' THEN ${of('wake_at')}
      END,
      claim_token = CASE WHEN ${holds} THEN ${of('token')}
        WHEN ${leaves} THEN NULL ELSE r.claim_token END,
      claim_until = CASE WHEN ${holds} THEN ${NOW} + ${of('lease_ms')}
        WHEN ${leaves} THEN NULL ELSE r.claim_until END
    ${shape.takes === 'one' ? 'WHERE' : 'FROM given g WHERE g.agent IS NULL AND'}
      r.id = ${of('run_id')} AND r.version = ${of('expected')}
      AND (${of('how')} IS NULL OR ${of('how')} = 'take' OR r.claim_token = ${of('token')}
        OR ${of('how')} IN ('enter', 'pass') AND ${mayTake(of('token'))})
      ${shape.settles === 'none' ? '' : `AND ${allWait(tables, shape, given)}`}
    RETURNING ${WRITTEN}${shape.takes === 'one' ? '' : CARRIED.map((field) => `, g.${field}`).join('')}`;
}

/** Whoever settled one of them in the meantime has also changed the version. */
function allWait({ interrupt }: Tables, { settles }: Shape, given: Given): string {
  const waiting = waitsIn('r.id');
  if (settles === 'one') return `EXISTS (SELECT FROM ${interrupt} i WHERE i.id = ${given.settledIds()} AND ${waiting})`;
  return `(SELECT count(DISTINCT i.id) FROM unnest(${given.settledIds()}, ${given.settledRuns()}) s (id, run_id)
      JOIN ${interrupt} i ON i.id = s.id WHERE s.run_id = r.id AND ${waiting})
    = (SELECT count(*) FROM unnest(${given.settledRuns()}) s (run_id) WHERE s.run_id = r.id)`;
}

/** Most appends leave it as it is, and then nothing is written. */
function becomingDue({ due }: Tables): string {
  return `due AS (
    INSERT INTO ${due} AS d (run_id, due_at) SELECT g.id, g.due_at FROM written g WHERE g.due_at IS NOT NULL
    ON CONFLICT (run_id) DO UPDATE SET due_at = excluded.due_at WHERE d.due_at <> excluded.due_at
  )`;
}

function endingDue({ due }: Tables): string {
  return `undue AS (DELETE FROM ${due} d USING written g WHERE d.run_id = g.id AND g.due_at IS NULL)`;
}

const OPENED_COLUMNS = {
  ...{ id: 'text', agent: 'text', tool: 'text', kind: 'text', risk: 'text', digest: 'text', created_at: 'bigint' },
  ...{ expires_at: 'bigint', remind_at: 'bigint', labels: 'text[]', card: 'text' },
};

/** The columns that `json_to_recordset` reads. The card travels, and stays, as text. */
function openedRow(interrupt: Append['opened'][number]): Record<keyof typeof OPENED_COLUMNS | 'run_id', unknown> {
  const { id, runId, agent, tool, kind, risk, createdAt, expiresAt, remindAt, digest, labels, card } = interrupt;
  return {
    ...{ id, run_id: runId, agent, tool, kind, risk, digest },
    ...{ created_at: createdAt, expires_at: expiresAt, remind_at: remindAt },
    labels: labels.length === 0 ? null : [...labels],
    card: JSON.stringify(card),
  };
}

function opening({ interrupt }: Tables, given: Given): string {
  const columns = Object.keys(OPENED_COLUMNS);
  const types = Object.entries(OPENED_COLUMNS).map(([column, type]) => `${column} ${type}`);
  return `opened AS (
    INSERT INTO ${interrupt} AS i (run_id, started_by, ${columns.join(', ')})
    SELECT g.id, g.starter, ${columns.map((column) => `o.${column}`).join(', ')}
    FROM written g JOIN json_to_recordset(${given.opened()}) AS o (run_id text, ${types.join(', ')}) ON o.run_id = g.id
    RETURNING i.id, i.seq, i.created_at, i.labels
  )`;
}

function labelling({ label }: Tables): string {
  return `labelled AS (
    INSERT INTO ${label} (label, waiting, created_at, seq, interrupt_id)
    SELECT DISTINCT name, true, o.created_at, o.seq, o.id FROM opened o, unnest(o.labels) AS name
  )`;
}

function settling({ interrupt }: Tables, { settles }: Shape, given: Given): string {
  const [settlement, from, matches] =
    settles === 'one'
      ? [given.settlements(), 'written g', `i.id = ${given.settledIds()}`]
      : [
          's.settlement',
          `written g JOIN unnest(${given.settledIds()}, ${given.settledRuns()}, ${given.settlements()})
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
