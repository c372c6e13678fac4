// What became of one of many decisions that was not recorded: its error as an outcome.
import { problemOf } from './http/problem.ts';
import type { DecisionOutcome } from './schemas/decisions.ts';

type Refused = Extract<DecisionOutcome, { readonly problem: unknown }>;

/** `failed`: nobody knows whether it was recorded; the same decision again finds out. */
export function refusedOutcome(interruptId: string, error: unknown): Refused {
  const problem = problemOf(error);
  return { status: statusOf(problem), interruptId, problem };
}

function statusOf({ code, status }: Refused['problem']): Refused['status'] {
  if (code === 'outdated-card') return 'outdated';
  if (code === 'not-allowed') return 'not-allowed';
  if (code === 'unknown-interrupt' || code === 'unknown-run') return 'unknown';
  if (status === 409) return 'conflict';
  return status < 500 ? 'invalid' : 'failed';
}
