// Deletes a run on SQLite, as one job of a transaction.
import { DELETED, isFree } from '../sql/rows.ts';
import type { Job } from './connection.ts';

export function sqliteDelete(runId: string, clock: () => number): Job<boolean> {
  return (prepare) => {
    const now = clock();
    const seq = prepare(DELETABLE).get(runId, now)?.seq;
    if (seq === undefined) return false;
    prepare(DELETE_INTERRUPTS).get(runId);
    // The new row comes first: it notifies other processes, and keeps row numbers from being used again.
    prepare(ADD_LAST).get(seq);
    prepare(DELETE_EVENTS).get(seq);
    prepare(DELETE_RUN).get(now, seq);
    return true;
  };
}

const DELETABLE = `SELECT seq FROM countersign_run WHERE id = ? AND status IN ('done', 'cancelled')
  AND ${isFree('?')}`;

const DELETE_INTERRUPTS = 'DELETE FROM countersign_interrupt WHERE run_id = ?';

const ADD_LAST = `INSERT INTO countersign_event (run_seq, version, events) VALUES (?, ${DELETED.version}, '[]')`;

const DELETE_EVENTS = `DELETE FROM countersign_event WHERE run_seq = ? AND version > ${DELETED.version}`;

const DELETE_RUN = `UPDATE countersign_run SET status = '${DELETED.status}', version = ${DELETED.version}, hash = '',
    agent = '', started_by = NULL, updated_at = ?, wake_at = NULL, due_at = NULL, claim_token = NULL, claim_until = NULL,
    outcome = 'null'
  WHERE seq = ?`;
