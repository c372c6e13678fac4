// Deleting a run on PostgreSQL, in one statement.

import { DELETED } from '../sql/rows.ts';
import { asOneRow, IS_FREE, isOf, NOW, watchedBy } from './conditions.ts';
import { type Statement, statement } from './pool.ts';
import type { Tables } from './schema.ts';

export type DeletedRow = { readonly watched: boolean };

/**
 * $1 is the run, $2 the number of the process that deletes. What is deleted beside the run is what there was when the
 * statement began, so a run that was appended to since then stays. One row, or none if nothing was deleted.
 */
export function deleteStatement({ run, event, interrupt, label, watcher }: Tables): Statement {
  return statement(`WITH gone AS (
      UPDATE ${run} r SET status = '${DELETED.status}', version = ${DELETED.version}, hash = '', agent = '',
        started_by = NULL, outcome = 'null', updated_at = ${NOW}, wake_at = NULL, due_at = NULL, claim_token = NULL,
        claim_until = NULL
      FROM (SELECT seq, version FROM ${run} WHERE id = $1 OFFSET 0) seen
      WHERE r.id = $1 AND r.version = seen.version AND r.status IN ('done', 'cancelled')
        AND ${IS_FREE}
      RETURNING r.seq
    ), questions AS (
      DELETE FROM ${interrupt} i WHERE i.id = ANY (ARRAY(
        SELECT json_array_elements_text(e.opened::json) FROM gone g JOIN ${event} e ON e.run_seq = g.seq
        WHERE e.opened IS NOT NULL
      )) AND ${isOf('$1')} RETURNING i.id, i.seq, i.created_at, i.labels
    ), labels AS (
      DELETE FROM ${label} l USING questions q, unnest(q.labels) AS name
      WHERE l.label = name AND l.waiting IN (true, false) AND l.created_at = q.created_at AND l.seq = q.seq
        AND ${asOneRow('length(q.id)')} AND ${asOneRow('length(name)')}
    ), events AS (
      DELETE FROM ${event} e USING gone g WHERE e.run_seq = g.seq
    )
    SELECT ${watchedBy(watcher, '$2::bigint')} AS watched FROM gone`);
}
