// The statements of the Postgres store, but for `append`. Numbers come out as float8, which `pg` reads as numbers.
import type { RunQuery } from '../../runs/port/store.ts';
import { readPageRequest } from '../rules/page.ts';
import type { Dialect, Sql } from '../sql/list-query.ts';
import { MOST_ATTEMPTS, MOST_DOUBLINGS, REMINDER_DUE_AT, REMINDER_WAITS } from '../sql/reminders.ts';
import { BATCH, INTERRUPT_COLUMNS, IS_THERE, RUN_COLUMNS } from '../sql/rows.ts';
import { asOneRow, IS_FREE, isListOfIds, isOf, mayTake, NOW, waitsIn } from './conditions.ts';
import { type Statement, statement } from './pool.ts';
import type { Tables } from './schema.ts';

type Name =
  | 'read'
  | 'readSeveral'
  | 'readPart'
  | 'claim'
  | 'renew'
  | 'release'
  | 'due'
  | 'takeReminders'
  | 'reminded'
  | 'interrupt'
  | 'countRuns'
  | 'now'
  | 'refusal';

export type PostgresSql = { readonly dialect: Dialect } & { readonly [name in Name]: Statement };

export function postgresSql({ run, event, interrupt, label }: Tables): PostgresSql {
  const batches = (after: string): string => `(
    SELECT string_agg(e.batch, E'\\n')
    FROM (SELECT ${BATCH} AS batch FROM ${event} WHERE run_seq = r.seq AND version > ${after} ORDER BY version) e
  ) AS batches`;
  return {
    read: statement(`SELECT ${RUN_FIELDS}, ${batches('$2::int')} FROM ${run} r WHERE r.id = $1 AND r.${IS_THERE}`),
    readSeveral: statement(`SELECT ${RUN_FIELDS}, ${batches('g.after')}
      FROM unnest($1::text[], $2::int[]) g (run_id, after) JOIN ${run} r ON r.id = g.run_id
      WHERE ${asOneRow('g.after')} AND r.${IS_THERE}`),
    readPart: statement(`SELECT ${RUN_FIELDS}, (
        SELECT string_agg(${BATCH}, E'\\n' ORDER BY version)
        FROM (SELECT events, version FROM ${event} WHERE run_seq = r.seq AND version > $2::int
          ORDER BY version LIMIT $3::int) e
      ) AS batches FROM ${run} r WHERE r.id = $1 AND r.${IS_THERE}`),
    claim: statement(`WITH r AS (
        UPDATE ${run} r SET claim_token = $2, claim_until = ${NOW} + $3::bigint
        WHERE r.id = $1 AND r.${IS_THERE} AND ${mayTake('$2')} RETURNING r.*
      ) SELECT ${RUN_FIELDS}, ${batches('0')}, ${NEED_NOT_SURVIVE} FROM r`),
    renew: statement(`WITH r AS (
        UPDATE ${run} SET claim_until = ${NOW} + $3::bigint WHERE id = $1 AND claim_token = $2 RETURNING seq
      ) SELECT ${NEED_NOT_SURVIVE} FROM r`),
    release: statement(`WITH r AS (
        UPDATE ${run} SET claim_until = NULL, claim_token = NULL WHERE id = $1 AND claim_token = $2 RETURNING seq
      ) SELECT ${NEED_NOT_SURVIVE} FROM r`),
    due: statement(`SELECT id FROM ${run} r
      WHERE due_at <= ${NOW} AND ${IS_FREE}
        AND ($2::text[] IS NULL OR agent = ANY ($2::text[])) ORDER BY due_at LIMIT $1`),
    // Those that another takes at this moment, or that are being settled, are left out; nobody waits for anybody.
    takeReminders: statement(`UPDATE ${interrupt} i SET reminder_attempts = ${ATTEMPTS} + 1,
        reminder_due_at = ${NOW} + $2::bigint * (1 << least(${ATTEMPTS}, ${MOST_DOUBLINGS}))
      WHERE i.id = ANY (ARRAY(
        SELECT id FROM ${interrupt}
        WHERE ${REMINDER_WAITS} AND ${REMINDER_DUE_AT} <= ${NOW} AND (expires_at IS NULL OR expires_at > ${NOW})
        ORDER BY ${REMINDER_DUE_AT} LIMIT $1 FOR UPDATE SKIP LOCKED
      )) RETURNING ${INTERRUPT_FIELDS}, i.reminder_attempts AS attempt`),
    // By its id, however few a planner believes to wait.
    reminded: statement(`UPDATE ${interrupt} SET reminded_at = ${NOW}
      WHERE id = $1 AND coalesce(${REMINDER_WAITS}, false)`),
    interrupt: statement(`SELECT ${INTERRUPT_FIELDS} FROM ${interrupt} i WHERE id = $1`),
    countRuns: statement(`SELECT status, count(*)::float8 AS count FROM ${run} GROUP BY status`),
    now: statement(`SELECT ${NOW}::float8 AS now`),
    refusal:
      statement(`SELECT version, claim_token AS token, claim_until::float8 AS until, ${NOW}::float8 AS now, ARRAY(
        SELECT s.id FROM unnest($2::text[]) s (id) JOIN ${interrupt} i ON i.id = s.id
        WHERE ${asOneRow('length(s.id)')} AND ${waitsIn('$1')}
      ) AS waiting FROM ${run} r WHERE r.id = $1`),
    dialect: {
      columns: INTERRUPT_FIELDS,
      interrupts: interrupt,
      labels: label,
      value: (index) => `$${index}`,
      waiting: (isWaiting) => `${isWaiting}`,
      decision: `${SETTLEMENT} #>> '{decision,type}'`,
      settled: (name) => `${SETTLEMENT} ->> '${name}'`,
      isSettledWith: (...path) => `${SETTLEMENT} #> '{${path.join(',')}}' IS NOT NULL`,
      hasLabel: (label) => `coalesce(${label} = ANY (i.labels), false)`,
      mayHave: (word) => `strpos(${TEXTS}, ${word}) > 0`,
      ofRun: (runId) => `i.id = ANY (ARRAY(
        SELECT json_array_elements_text(CASE WHEN ${isListOfIds('e.opened')} THEN e.opened END::json)
        FROM ${run} r JOIN ${event} e ON e.run_seq = r.seq
        WHERE r.id = ${runId} AND e.opened IS NOT NULL)) AND ${isOf(runId)}`,
    },
  };
}

/** Walked along the one list, whatever else is asked for: see `interruptsSql`. */
export function runsSql(query: RunQuery, { run }: Tables): Sql {
  const { after, limit } = readPageRequest(query);
  const values: (string | number)[] = [];
  const value = (given: string | number): string => `$${values.push(given)}`;
  const conditions = [`r.${IS_THERE}`];
  const asked = { status: query.status, agent: query.agent, started_by: query.startedBy };
  for (const [column, wanted] of Object.entries(asked)) {
    if (wanted !== undefined) conditions.push(`coalesce(r.${column} = ${value(wanted)}, false)`);
  }
  const oldest = query.order === 'oldest';
  if (after !== undefined) conditions.push(`r.seq ${oldest ? '>' : '<'} ${value(after.seq)}`);
  const text = `SELECT ${RUN_FIELDS} FROM ${run} r WHERE ${conditions.join(' AND ')}
    ORDER BY r.seq ${oldest ? 'ASC' : 'DESC'} LIMIT ${value(limit + 1)}`;
  return { text, values };
}

const TEXTS = `lower(concat_ws(' ', i.agent, i.tool, i.labels::text, i.card) COLLATE "C")`;

/** PostgreSQL reads no JSON with a zero character or half of a surrogate pair, both of which are escaped in ours. */
const SETTLEMENT = `CASE WHEN strpos(i.settlement, '\\u') = 0 THEN i.settlement
  ELSE regexp_replace(i.settlement, '\\\\u(0000|d[89a-f][0-9a-f]{2})', '\\\\u0020', 'g') END::json`;

const ATTEMPTS = `greatest(0, least(coalesce(i.reminder_attempts, 0), ${MOST_ATTEMPTS}))`;

const RUN_FIELDS = fields('r', RUN_COLUMNS);
const INTERRUPT_FIELDS = fields('i', INTERRUPT_COLUMNS);

function fields(table: string, columns: readonly string[]): string {
  return columns.map((column) => `${field(`${table}.${column}`)} AS ${column}`).join(', ');
}

function field(column: string): string {
  if (column.endsWith('.labels')) return `array_to_json(${column})::text`;
  return column.endsWith('.seq') || column.endsWith('_at') ? `${column}::float8` : column;
}

/**
 * A claim that is lost when the server crashes does no harm: whoever holds it is told with the next append, which is
 * durable together with everything before it. So nobody waits for the disk.
 */
const NEED_NOT_SURVIVE = "set_config('synchronous_commit', 'off', true) AS settled";
