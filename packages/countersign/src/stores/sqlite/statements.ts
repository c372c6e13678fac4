// The statements of the SQLite store, except `append` and notes. Values that occur twice have names: Node before 22.20 and
// 24.8 does not bind numbered parameters (`?1`).
import type { Dialect } from '../sql/list-query.ts';
import {
  DELETED,
  EXISTS,
  INTERRUPT_COLUMNS,
  isFree,
  queueSql,
  RUN_COLUMNS,
  takenUntold,
  toldSql,
} from '../sql/rows.ts';

/** True if this row has one of these keys, a JSON array. */
export const keyIn = (keys: string, row: string): string => `${row}.key IN (SELECT value FROM json_each(${keys}))`;

export const SQLITE_DIALECT: Dialect = {
  runs: 'countersign_run',
  runColumns: RUN_COLUMNS.join(', '),
  requests: 'countersign_request',
  interruptColumns: INTERRUPT_COLUMNS.join(', '),
  value: () => '?',
  ofRun: (runId) => `i.run_id = ${runId}`,
  // A text that is not JSON would fail the whole statement.
  hasLabel: (label) =>
    `EXISTS (SELECT 1 FROM json_each(CASE WHEN json_valid(i.labels) THEN i.labels END) WHERE value = ${label})`,
  hasKey: (keys, isSettled, within) => {
    // The list is in another order than the keys, so each of its rows is looked up by its place.
    if (!within) {
      const place = `d.settled = ${Number(isSettled)} AND d.created_at = i.created_at AND d.seq = i.seq`;
      return `EXISTS (SELECT 1 FROM countersign_decider d WHERE ${keyIn(keys, 'd')} AND ${place})`;
    }
    const conditions = [keyIn(keys, 'd'), `d.settled = ${Number(isSettled)}`, ...within('d')];
    return `i.seq IN (SELECT d.seq FROM countersign_decider d WHERE ${conditions.join(' AND ')})`;
  },
  among: (seqs) => `i.seq IN (SELECT value FROM json_each(${seqs}))`,
  contains: (text, word) => `instr(${text}, ${word}) > 0`,
};

/** How many rows of events one statement reads. Not a parameter: SQLite compiles a statement again when its limit is bound. */
export const EVENTS_AT_ONCE = 64;

export const SQL = {
  run: `SELECT ${RUN_COLUMNS.join(', ')} FROM countersign_run WHERE id = ? AND ${EXISTS}`,
  events: `SELECT version, events FROM countersign_event WHERE run_seq = ? AND version > ? ORDER BY version
    LIMIT ${EVENTS_AT_ONCE}`,
  claim: `UPDATE countersign_run SET claim_token = :token, claim_until = :until
    WHERE id = :runId AND ${EXISTS} AND (claim_token = :token OR ${isFree(':now')}) RETURNING seq`,
  renew: 'UPDATE countersign_run SET claim_until = ? WHERE id = ? AND claim_token = ? RETURNING seq',
  release: 'UPDATE countersign_run SET claim_token = NULL, claim_until = NULL WHERE id = ? AND claim_token = ?',
  due: `SELECT id FROM countersign_run
    WHERE due_at <= :now AND ${isFree(':now')} AND (:agents IS NULL OR agent IN (SELECT value FROM json_each(:agents)))
    ORDER BY due_at LIMIT :limit`,
  queue: queueSql('countersign_run', ':now', (value) => value),
  untold: 'SELECT seq FROM countersign_request WHERE tell_at <= ? ORDER BY tell_at LIMIT ?',
  takeUntold: `UPDATE countersign_request SET ${takenUntold('?', '?', 'min')} WHERE seq = ?
    RETURNING ${INTERRUPT_COLUMNS.join(', ')}, news`,
  told: toldSql('countersign_request', '?', '?'),
  request: `SELECT ${INTERRUPT_COLUMNS.join(', ')} FROM countersign_request WHERE id = ?`,
  changes: `SELECT e.seq, r.id FROM countersign_event e JOIN countersign_run r ON r.seq = e.run_seq
    WHERE e.seq > ? ORDER BY e.seq`,
  deletable: `SELECT seq FROM countersign_run WHERE id = ? AND status IN ('done', 'cancelled') AND ${isFree('?')}`,
};

/**
 * Each with the number of the run's row. A new row of events comes first: it notifies other processes, and keeps row
 * numbers from being used again.
 */
export const DELETIONS: readonly string[] = [
  'DELETE FROM countersign_request WHERE run_id = (SELECT id FROM countersign_run WHERE seq = ?)',
  `INSERT INTO countersign_event (run_seq, version, events) VALUES (?, ${DELETED.version}, '[]')`,
  `DELETE FROM countersign_event WHERE run_seq = ? AND version > ${DELETED.version}`,
  `UPDATE countersign_run SET status = '${DELETED.status}', version = ${DELETED.version}, hash = '', agent = '',
    started_by = NULL, wake_at = NULL, due_at = NULL, claim_token = NULL, claim_until = NULL, outcome = 'null'
  WHERE seq = ?`,
];
