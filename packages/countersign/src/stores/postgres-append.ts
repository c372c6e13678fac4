// One append on PostgreSQL, as one statement: it compares the version, and writes all or nothing without a BEGIN.
import type { Append } from '../runs/store.ts';
import { type Statement, statement } from './postgres-pool.ts';
import type { Tables } from './postgres-schema.ts';

/** The time of the database, in milliseconds. */
export const NOW = '(extract(epoch FROM statement_timestamp()) * 1000)::bigint';

/** True when the token `token` may take the claim of the run `r`. */
export const mayTake = (token: string): string =>
  `(r.claim_token IS NULL OR r.claim_token = ${token} OR r.claim_until <= ${NOW})`;

/**
 * Makes statements that answer with one row if the append happened, and with none if it was refused: `claimed`, and
 * `watched` if another process than `watcherId` wants to hear of it. Each shape of an append has its own statement, so
 * that nobody pays for what most appends do not have.
 */
export function appendStatements(
  tables: Tables,
  watcherId: number,
): (append: Append) => { readonly statement: Statement; readonly values: unknown[] } {
  const statements = new Map<string, Statement>();
  return (append) => {
    const shape = shapeOf(append);
    const key = JSON.stringify(shape);
    const known = statements.get(key) ?? statement(appendText(tables, shape));
    statements.set(key, known);
    return { statement: known, values: appendValues(append, shape, watcherId) };
  };
}

type Shape = {
  readonly creates: boolean;
  readonly opens: 'none' | 'plain' | 'labelled';
  readonly settles: 'none' | 'one' | 'several';
};

function shapeOf({ create, opened, settled }: Append): Shape {
  const labelled = opened.some(({ labels }) => labels.length > 0);
  return {
    creates: create !== undefined,
    opens: opened.length === 0 ? 'none' : labelled ? 'labelled' : 'plain',
    settles: settled.length === 0 ? 'none' : settled.length === 1 ? 'one' : 'several',
  };
}

/** In the order in which `appendText` numbers them. */
function appendValues(append: Append, { creates, opens, settles }: Shape, watcherId: number): unknown[] {
  const { create, claim } = append;
  const events = JSON.stringify(append.events);
  const lease = claim === undefined ? null : Math.ceil(claim.leaseMs);
  const values: unknown[] = [append.runId, append.expectedVersion, append.events.length, events, append.hash];
  values.push(append.status, append.wakeAt, JSON.stringify(append.outcome));
  values.push(claim?.how ?? null, claim?.token ?? null, lease, watcherId);
  if (creates) values.push(create?.agent, create?.startedBy ?? null);
  if (opens !== 'none') {
    values.push(JSON.stringify(append.opened.map(openedRow)), JSON.stringify(append.opened.map(({ id }) => id)));
  }
  if (settles === 'none') return values;
  const ids = append.settled.map(({ id }) => id);
  const settlements = append.settled.map(({ settlement }) => JSON.stringify(settlement));
  return settles === 'one' ? [...values, ids[0], settlements[0]] : [...values, ids, settlements];
}

/** The columns that `json_to_recordset` reads. Values that are JSON themselves travel as text. */
function openedRow(interrupt: Append['opened'][number]): Record<string, unknown> {
  const { id, agent, tool, kind, risk, createdAt, expiresAt, remindAt, digest, labels, card } = interrupt;
  return {
    ...{ id, agent, tool, kind, risk, digest, created_at: createdAt, expires_at: expiresAt, remind_at: remindAt },
    labels: labels.length === 0 ? null : JSON.stringify(labels),
    card: JSON.stringify(card),
  };
}

const OPENED_COLUMNS = `id text, agent text, tool text, kind text, risk text, digest text, created_at bigint,
  expires_at bigint, remind_at bigint, labels text, card text`;

function appendText(tables: Tables, { creates, opens, settles }: Shape): string {
  let used = 12;
  const next = (): string => `$${++used}`;
  const parts: string[] = [];
  const [agent, startedBy] = creates ? [next(), next()] : [];
  const [opened, openedIds] = opens === 'none' ? [] : [next(), next()];
  const [settledIds, settlements] = settles === 'none' ? [] : [next(), next()];

  parts.push(creates ? creating(tables, `${agent}`, `${startedBy}`) : changing(tables, settles, settledIds));
  parts.push(`batch AS (
    INSERT INTO ${tables.event} (run_seq, version, events, opened)
    SELECT seq, version, $4, ${openedIds ?? 'NULL'} FROM changed
  )`);
  parts.push(...becomingDue(tables));
  if (opened !== undefined) parts.push(opening(tables, opened));
  if (opens === 'labelled') parts.push(labelling(tables, `${opened}`));
  if (settledIds !== undefined) parts.push(...settling(tables, settles, settledIds, `${settlements}`));
  return `WITH ${parts.join(', ')}
    SELECT coalesce(claim_token = $10, false) AS claimed,
      EXISTS (SELECT FROM ${tables.watcher} WHERE until > ${NOW} AND id <> $12::bigint) AS watched
    FROM changed`;
}

function creating({ run }: Tables, agent: string, startedBy: string): string {
  return `changed AS (
    INSERT INTO ${run} (created_at, id, agent, started_by, version, updated_at, wake_at, due_at,
      claim_until, claim_token, status, hash, outcome)
    VALUES (${NOW}, $1, ${agent}, ${startedBy}, $2::int + $3::int, ${NOW}, $7::bigint,
      CASE $6::text WHEN 'running' THEN ${NOW} WHEN 'waiting' THEN $7::bigint END,
      CASE WHEN $9::text IS NOT NULL THEN ${NOW} + $11::bigint END, $10::text, $6::text, $5, $8)
    RETURNING seq, version, claim_token, due_at
  )`;
}

/** A run that was running before has been due since then: an append does not send it to the end of the queue. */
function changing(tables: Tables, settles: Shape['settles'], settledIds: string | undefined): string {
  const holds = `($9::text = 'hold' OR $9::text = 'take' AND ${mayTake('$10')})`;
  return `changed AS (
    UPDATE ${tables.run} r SET version = r.version + $3::int, hash = $5, status = $6::text, updated_at = ${NOW},
      wake_at = $7::bigint, outcome = $8,
      due_at = CASE $6::text
        WHEN 'running' THEN CASE r.status WHEN 'running' THEN r.due_at ELSE ${NOW} END
        WHEN 'waiting' THEN $7::bigint
      END,
      claim_token = CASE WHEN ${holds} THEN $10::text WHEN $9::text = 'release' THEN NULL ELSE r.claim_token END,
      claim_until = CASE WHEN ${holds} THEN ${NOW} + $11::bigint
        WHEN $9::text = 'release' THEN NULL ELSE r.claim_until END
    WHERE r.id = $1 AND r.version = $2::int AND ($9::text IS NULL OR $9::text = 'take' OR r.claim_token = $10)
      ${settledIds === undefined ? '' : `AND ${allWait(tables, settles, settledIds)}`}
    RETURNING r.seq, r.version, r.claim_token, r.due_at
  )`;
}

/** Whoever settled one of them in the meantime has also changed the version. */
function allWait({ interrupt }: Tables, settles: Shape['settles'], ids: string): string {
  const [matches, count] =
    settles === 'one' ? [`id = ${ids}`, '1'] : [`id = ANY (${ids}::text[])`, `cardinality(${ids}::text[])`];
  return `(SELECT count(*) FROM ${interrupt} WHERE ${matches} AND run_id = $1 AND settled_at IS NULL) = ${count}`;
}

/** Most appends leave it as it is, and then nothing is written. */
function becomingDue({ due }: Tables): string[] {
  return [
    `due AS (
      INSERT INTO ${due} AS d (run_id, due_at) SELECT $1, due_at FROM changed WHERE due_at IS NOT NULL
      ON CONFLICT (run_id) DO UPDATE SET due_at = excluded.due_at WHERE d.due_at <> excluded.due_at
    )`,
    `undue AS (DELETE FROM ${due} d USING changed WHERE d.run_id = $1 AND changed.due_at IS NULL)`,
  ];
}

function opening({ interrupt }: Tables, opened: string): string {
  const columns = 'id, agent, tool, kind, risk, digest, created_at, expires_at, remind_at, labels, card';
  return `opened AS (
    INSERT INTO ${interrupt} (run_id, ${columns})
    SELECT $1, ${columns.replaceAll(/(\w+)/g, 'o.$1')}
    FROM changed, json_to_recordset(${opened}::json) AS o (${OPENED_COLUMNS})
  )`;
}

function labelling({ label }: Tables, opened: string): string {
  return `labelled AS (
    INSERT INTO ${label} (label, waiting, created_at, interrupt_id)
    SELECT DISTINCT name, true, o.created_at, o.id
    FROM changed, json_to_recordset(${opened}::json) AS o (${OPENED_COLUMNS}),
      json_array_elements_text(o.labels::json) AS name
  )`;
}

function settling({ interrupt, label }: Tables, settles: Shape['settles'], ids: string, settlements: string): string[] {
  const [matches, settlement] =
    settles === 'one'
      ? [`i.id = ${ids}`, settlements]
      : [`i.id = ANY (${ids}::text[])`, `(${settlements}::text[])[array_position(${ids}::text[], i.id)]`];
  return [
    `settled AS (
      UPDATE ${interrupt} i SET settled_at = ${NOW}, settlement = ${settlement} FROM changed WHERE ${matches}
      RETURNING i.id, i.created_at, i.labels
    )`,
    `unlabelled AS (
      UPDATE ${label} l SET waiting = false
      FROM settled s, json_array_elements_text(s.labels::json) AS name
      WHERE l.label = name AND l.waiting AND l.created_at = s.created_at AND l.interrupt_id = s.id
    )`,
  ];
}
