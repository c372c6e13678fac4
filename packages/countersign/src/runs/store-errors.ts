// What a journal hears from its store.
import { ConflictError, ProviderError } from '../core/errors.ts';

export const isStale = (error: unknown): boolean => error instanceof ConflictError && error.code === 'stale-version';
/** Somebody was first, and that may have been this very append. Whoever has lost the claim may not go on in any case. */
export const isSecond = (error: unknown): boolean =>
  isStale(error) || (error instanceof ConflictError && error.code === 'run-exists');
export const isAway = (error: unknown): boolean =>
  error instanceof ProviderError && error.code === 'store-failed' && error.retryable;

export function claimLapsed(runId: string): ConflictError {
  return new ConflictError(
    'claim-lost',
    { runId },
    `The claim on run ${runId} has lapsed; another worker may have it. Nothing more is done here.`,
  );
}
