// What became of one of many decisions that was not recorded: its error as an outcome.
import { problemOf } from './http/problem.ts';
import type { Log } from './log.ts';
import type { DecisionOutcome } from './schemas/decisions.ts';

type Refused = Extract<DecisionOutcome, { readonly problem: unknown }>;

/** `failed`: whether it was recorded is unknown; send the same decision again to find out. The log gets the error. */
export function refusedOutcome(requestId: string, error: unknown, log?: Log): Refused {
  const problem = problemOf(error);
  const status = statusOf(problem);
  if (status === 'failed') log?.('error', 'decision', { requestId, error });
  return { status, requestId, problem };
}

/** Others must agree to an edit: the request is open with another card. */
const isEdited = (settlement: unknown): boolean => {
  const { withdrawn, note } = (settlement ?? {}) as { readonly withdrawn?: unknown; readonly note?: unknown };
  return withdrawn === true && note === 'edited';
};

function statusOf({ code, status, settlement }: Refused['problem']): Refused['status'] {
  if (code === 'outdated-card' || isEdited(settlement)) return 'outdated';
  if (code === 'not-allowed') return 'not-allowed';
  if (code === 'unknown-request' || code === 'unknown-run') return 'unknown';
  if (status === 409) return 'conflict';
  return status < 500 ? 'invalid' : 'failed';
}
