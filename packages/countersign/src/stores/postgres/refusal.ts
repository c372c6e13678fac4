// Why PostgreSQL refused an append, judged by the current rows.
import type { Append } from '../../runs/port/store.ts';
import { claimLost, isLost, notPending, runDeleted, runExists, staleVersion } from '../rules/refusals.ts';
import { DELETED } from '../sql/rows.ts';

/** `waiting`: which of the interrupts to be settled are pending in this run. */
export type RefusalRow = {
  readonly version: number;
  readonly token: string | null;
  readonly until: number;
  readonly now: number;
  readonly waiting: readonly string[];
};

/** Undefined if the append would be accepted now. */
export function postgresRefusal(append: Append, row: RefusalRow | undefined): Error | undefined {
  const { runId, claim } = append;
  const isDeleted = row?.version === DELETED.version;
  if (append.create !== undefined && row !== undefined) return isDeleted ? runDeleted(runId) : runExists(runId);
  if (row === undefined || isDeleted) return staleVersion(append, undefined);
  const held = row.token === null ? undefined : { token: row.token, until: row.until };
  if (claim !== undefined && isLost(claim, held, row.now)) return claimLost(runId, claim.token);
  if (row.version !== append.expectedVersion) return staleVersion(append, row.version);
  const ids = append.settled.map(({ id }) => id);
  const missing = ids.find((id, index) => !row.waiting.includes(id) || ids.indexOf(id) !== index);
  return missing === undefined ? undefined : notPending(runId, missing);
}
