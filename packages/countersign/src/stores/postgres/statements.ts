// The statements of the Postgres store, except `append`. Numbers come out as float8, which `pg` reads as numbers.
import { FULL_PAGE_SIZE, MOST_PAGE_EVENTS } from '../../runs/port/page.ts';
import type { Dialect } from '../sql/list-query.ts';
import { DELETED, EXISTS, INTERRUPT_COLUMNS, queueSql, RUN_COLUMNS, takenUntold, toldSql } from '../sql/rows.ts';
import { firstSettledSql, settledSql } from '../sql/settled-query.ts';
import { asOneRow, IS_FREE, isOf, isPendingIn, isWatchedByOthers, mayTake, NOW } from './expressions.ts';
import { statement } from './pool.ts';
import type { Tables } from './schema.ts';

export type Statements = ReturnType<typeof postgresStatements>;

/** The row that `refusal` selects. `waiting`: which of the requests to be changed are pending in this run. */
export type RefusalRow = {
  readonly version: number;
  readonly token: string | null;
  readonly until: number;
  readonly now: number;
  readonly waiting: readonly string[];
};

export function postgresStatements({ run, event, request, decider, pending, watcher, note }: Tables) {
  // The rows of events that fill a page, at least one.
  const batches = (after: string, limit: string): string => `(
    SELECT string_agg(version || ',' || events, E'\\n' ORDER BY version) FROM (
      SELECT version, events,
        sum(octet_length(events)) OVER (ORDER BY version ROWS UNBOUNDED PRECEDING) - octet_length(events) AS size_before
      FROM (
        SELECT version, events FROM ${event} WHERE run_seq = r.seq AND version > ${after} ORDER BY version LIMIT ${limit}
      ) b
    ) p WHERE size_before < ${FULL_PAGE_SIZE}
  ) AS batches`;
  const openedBy = (runs: string): string => `i.id = ANY (ARRAY(
    SELECT unnest(e.opened) FROM ${runs} JOIN ${event} e ON e.run_seq = r.seq WHERE e.opened IS NOT NULL))`;
  const dialect: Dialect = {
    runs: run,
    runColumns: RUN_FIELDS,
    requests: request,
    interruptColumns: INTERRUPT_FIELDS,
    value: (index) => `$${index}`,
    hasLabel: (label) => `${label} = ANY (i.labels)`,
    hasKey: (keys) => `coalesce(i.deciders && ARRAY(SELECT json_array_elements_text(${keys}::json)), false)`,
    withKeys: (keys, isSettled, within, order, most) => {
      const lists = keys.map((key) => {
        const conditions = [`d.key = ${key}`, `d.settled = ${isSettled}`, ...within('d')];
        const places = `SELECT d.created_at, d.seq FROM ${decider} d WHERE ${conditions.join(' AND ')}`;
        return most === undefined ? places : `(${places} ORDER BY ${order} LIMIT ${most})`;
      });
      // Written so that the planner has only one choice: it reads the places one by one.
      return `(SELECT DISTINCT created_at, seq FROM (${lists.join(' UNION ALL ')}) u ORDER BY ${order}) d
        CROSS JOIN LATERAL (SELECT * FROM ${request} r
          WHERE r.created_at = d.created_at AND r.seq = d.seq AND r.settled_at IS ${isSettled ? 'NOT ' : ''}NULL LIMIT 1) i`;
    },
    contains: (text, word) => `strpos(${text}, ${word}) > 0`,
    // One row more than the page holds says that another page follows.
    endAtSize: (page, order, size) => `SELECT * FROM (
        SELECT p.*, sum(${size}) OVER (ORDER BY ${order} ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING) AS size
        FROM (${page}) p
      ) sized WHERE coalesce(size, 0) < ${FULL_PAGE_SIZE} ORDER BY ${order}`,
    ofRun: (runId) => `${openedBy(`(SELECT seq FROM ${run} WHERE id = ${runId}) r`)} AND ${isOf(runId)}`,
  };
  return {
    dialect,
    read: statement(
      `SELECT ${RUN_FIELDS}, ${batches('$2::int', '$3::int')} FROM ${run} r WHERE r.id = $1 AND r.${EXISTS}`,
    ),
    readSeveral: statement(`SELECT ${RUN_FIELDS}, ${batches('g.after', 'g.most')}
      FROM unnest($1::text[], $2::int[], $3::int[]) g (run_id, after, most) JOIN ${run} r ON r.id = g.run_id
      WHERE ${asOneRow('g.after')} AND r.${EXISTS}`),
    // Deletes what existed when the statement began, so a run that was appended to since then stays.
    delete: statement(`WITH gone AS (
        UPDATE ${run} r SET status = '${DELETED.status}', version = ${DELETED.version}, hash = '', agent = '',
          started_by = NULL, outcome = 'null', updated_at = ${NOW}, wake_at = NULL, due_at = NULL, claim_token = NULL,
          claim_until = NULL
        FROM (SELECT seq, version FROM ${run} WHERE id = $1 OFFSET 0) seen
        WHERE r.id = $1 AND r.version = seen.version AND r.status IN ('done', 'cancelled') AND ${IS_FREE}
        RETURNING r.seq
      ), requests AS (
        DELETE FROM ${request} i WHERE ${openedBy('gone r')} AND ${isOf('$1')}
      ), events AS (
        DELETE FROM ${event} e USING gone g WHERE e.run_seq = g.seq
      )
      SELECT ${isWatchedByOthers(watcher, '$2::bigint')} AS watched FROM gone`),
    claim: statement(`WITH r AS (
        UPDATE ${run} r SET claim_token = $2, claim_until = ${NOW} + $3::bigint
        WHERE r.id = $1 AND r.${EXISTS} AND ${mayTake('$2')} RETURNING r.*
      ) SELECT ${RUN_FIELDS}, ${batches('0', String(MOST_PAGE_EVENTS))}, ${NEED_NOT_SURVIVE} FROM r`),
    renew: statement(`WITH r AS (
        UPDATE ${run} SET claim_until = ${NOW} + $3::bigint WHERE id = $1 AND claim_token = $2 RETURNING seq
      ) SELECT ${NEED_NOT_SURVIVE} FROM r`),
    release: statement(`WITH r AS (
        UPDATE ${run} SET claim_until = NULL, claim_token = NULL WHERE id = $1 AND claim_token = $2 RETURNING seq
      ) SELECT ${NEED_NOT_SURVIVE} FROM r`),
    due: statement(`SELECT id FROM ${run} r
      WHERE due_at <= ${NOW} AND ${IS_FREE}
        AND ($2::text[] IS NULL OR agent = ANY ($2::text[])) ORDER BY due_at LIMIT $1`),
    queue: statement(queueSql(run, NOW, (value) => `(${value})::float8`)),
    // A crash of the server may lose what these two write: people would be told of the request again, which does no harm.
    takeUntold: statement(`WITH untold AS MATERIALIZED (
        SELECT id, tell_at FROM ${request} WHERE tell_at <= ${NOW} ORDER BY tell_at LIMIT $1 FOR UPDATE SKIP LOCKED
      ), taken AS (
        UPDATE ${request} i SET ${takenUntold(NOW, '$2::bigint', 'least', 'i.')}
        WHERE i.id = ANY (ARRAY(SELECT id FROM untold)) RETURNING i.*
      ) SELECT ${INTERRUPT_FIELDS}, i.news, ${NEED_NOT_SURVIVE} FROM taken i JOIN untold u ON u.id = i.id
      ORDER BY u.tell_at`),
    told: statement(`WITH r AS (${toldSql(request, '$1', '$2::int')} RETURNING seq) SELECT ${NEED_NOT_SURVIVE} FROM r`),
    request: statement(`SELECT ${INTERRUPT_FIELDS} FROM ${request} i WHERE id = $1`),
    countRuns: statement(`SELECT status, count(*)::float8 AS count FROM ${run} GROUP BY status`),
    pending: statement(`SELECT tool, sum(change)::float8 AS waiting, count(*)::float8 AS changes,
        (SELECT min(created_at)::float8 FROM ${request} WHERE settled_at IS NULL) AS oldest_at
      FROM ${pending} GROUP BY tool`),
    // Those of one starter, found by their key.
    pendingOf: statement(`SELECT i.tool, count(*)::float8 AS waiting, min(i.created_at)::float8 AS oldest_at
      FROM ${decider} d JOIN ${request} i ON i.created_at = d.created_at AND i.seq = d.seq AND i.settled_at IS NULL
      WHERE d.key = $1 AND d.settled = false GROUP BY i.tool`),
    // Changes that are put together by two readers at once are put together by one of them.
    sumPending: statement(`WITH changes AS (DELETE FROM ${pending} RETURNING tool, change)
      INSERT INTO ${pending} (change, tool) SELECT sum(change), tool FROM changes GROUP BY tool
      HAVING sum(change) <> 0`),
    settled: statement(
      settledSql(
        request,
        (index) => `$${index}::bigint`,
        (column) => `${column}::float8`,
      ),
    ),
    firstSettled: statement(firstSettledSql(request, '$1::bigint', (column) => `${column}::float8`)),
    now: statement(`SELECT ${NOW}::float8 AS now`),
    identity: statement(`SELECT n.tableoid::text AS identity FROM ${note} n LIMIT 1`),
    refusal:
      statement(`SELECT version, claim_token AS token, claim_until::float8 AS until, ${NOW}::float8 AS now, ARRAY(
        SELECT s.id FROM unnest($2::text[]) s (id) JOIN ${request} i ON i.id = s.id
        WHERE ${asOneRow('length(s.id)')} AND ${isPendingIn('$1')}
      ) AS waiting FROM ${run} r WHERE r.id = $1`),
  };
}

const RUN_FIELDS = fields('r', RUN_COLUMNS);
const INTERRUPT_FIELDS = fields('i', INTERRUPT_COLUMNS);

function fields(table: string, columns: readonly string[]): string {
  return columns.map((column) => `${field(`${table}.${column}`)} AS ${column}`).join(', ');
}

function field(column: string): string {
  if (column.endsWith('.labels') || column.endsWith('.deciders')) return `array_to_json(${column})::text`;
  return column.endsWith('.seq') || column.endsWith('_at') ? `${column}::float8` : column;
}

/**
 * A claim that a crash of the server loses does no harm: its holder finds out with the next append. So it need not
 * wait for the disk.
 */
const NEED_NOT_SURVIVE = "set_config('synchronous_commit', 'off', true) AS settled";
