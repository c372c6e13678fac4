// Deleting a run on SQLite, as one job of a transaction.
import { DELETED, isFree, labelsIn } from '../sql/rows.ts';
import { type Job, valuesOf } from './connection.ts';
import { inReach } from './dialect.ts';

export function sqliteDelete(runId: string, clock: () => number): Job<boolean> {
  return (prepare) => {
    const now = clock();
    const seq = prepare(DELETABLE).get(runId, now)?.seq;
    if (seq === undefined) return false;
    for (const row of prepare(QUESTIONS, 'arrays').all(runId)) {
      const [question, labels, createdAt] = valuesOf<readonly [number, string | null, number]>(row);
      const names = labels === null ? [] : labelsIn(labels);
      if (names === undefined) prepare(DELETE_LABELS).get(createdAt, question);
      else for (const label of new Set(names)) prepare(DELETE_LABEL).get(label, createdAt, question);
    }
    prepare(DELETE_QUESTIONS).get(runId);
    // The new row comes first: it tells other processes, and keeps the numbers of the others from being given again.
    prepare(ADD_LAST).get(seq);
    prepare(DELETE_EVENTS).get(seq);
    prepare(DELETE_RUN).get(now, seq);
    return true;
  };
}

const DELETABLE = `SELECT seq FROM countersign_run WHERE id = ? AND status IN ('done', 'cancelled')
  AND ${isFree('?')}`;

const QUESTIONS = `SELECT seq, labels, ${inReach('created_at')} FROM countersign_interrupt WHERE run_id = ?`;

const DELETE_LABEL = `DELETE FROM countersign_label
  WHERE label = ? AND waiting IN (0, 1) AND created_at = ? AND seq = ?`;

/** For labels that cannot be read any more; every label is looked at. */
const DELETE_LABELS = 'DELETE FROM countersign_label WHERE created_at = ? AND seq = ?';

const DELETE_QUESTIONS = 'DELETE FROM countersign_interrupt WHERE run_id = ?';

const ADD_LAST = `INSERT INTO countersign_event (run_seq, version, events) VALUES (?, ${DELETED.version}, '[]')`;

const DELETE_EVENTS = `DELETE FROM countersign_event WHERE run_seq = ? AND version > ${DELETED.version}`;

const DELETE_RUN = `UPDATE countersign_run SET status = '${DELETED.status}', version = ${DELETED.version}, hash = '',
    agent = '', started_by = NULL, updated_at = ?, wake_at = NULL, due_at = NULL, claim_token = NULL, claim_until = NULL,
    outcome = 'null'
  WHERE seq = ?`;
