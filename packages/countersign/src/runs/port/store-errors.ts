// The errors of a store that refuses a write.
import { ConflictError, InvariantError, ProviderError } from '../../core/errors.ts';
import { tamperedRun } from './chain.ts';
import type { Append, RunRecord } from './store.ts';

export const isStale = (error: unknown): boolean => error instanceof ConflictError && error.code === 'stale-version';
export const areFreezesOld = (error: unknown): boolean =>
  error instanceof ConflictError && error.code === 'freezes-changed';
export const isLost = (error: unknown): boolean => error instanceof ConflictError && error.code === 'claim-lost';
/** Someone wrote first, and that may have been this same append. After `claim-lost` the worker must stop anyway. */
export const isSecond = (error: unknown): boolean =>
  isStale(error) || (error instanceof ConflictError && error.code === 'run-exists');
export const isAway = (error: unknown): boolean =>
  error instanceof ProviderError && error.code === 'store-failed' && error.retryable;

export function claimLapsed(runId: string): ConflictError {
  return new ConflictError(
    'claim-lost',
    { runId },
    `The claim on run ${runId} has lapsed, and another worker may have taken it over. This process stops driving it.`,
  );
}

/** Undefined once written; otherwise why not: someone wrote first, or another worker drives the run. */
export async function refusalOf(writing: Promise<void>): Promise<'stale-version' | 'claim-lost' | undefined> {
  try {
    await writing;
    return undefined;
  } catch (error) {
    if (!(error instanceof ConflictError)) throw error;
    if (error.code === 'stale-version' || error.code === 'claim-lost') return error.code;
    throw error;
  }
}

export function runGone(runId: string): ConflictError {
  return new ConflictError('stale-version', { runId }, `Run ${runId} is no longer in the store.`);
}

/** Not retryable: events that the store confirmed are missing. */
export function wentBack({ id, version }: Pick<RunRecord, 'id' | 'version'>, written: number): ProviderError {
  const message = `The store has run ${id} at version ${version}, but had said that it was at ${written}.`;
  return new ProviderError('store-failed', { runId: id, version, written }, message, { retryable: false });
}

/**
 * By its events the request is pending, and no one has appended since: so its row was changed by hand. Undefined if the
 * store refused something else.
 */
export function changedRequest({ runId, settled }: Append, error: unknown): ConflictError | undefined {
  const id = error instanceof InvariantError ? error.details.requestId : undefined;
  if (!settled.some((question) => question.id === id)) return undefined;
  return tamperedRun(
    runId,
    `By its events the question ${id} is pending, but its row in the store was deleted, settled or changed by hand. Nothing was written. Restore the row from a backup: until then the question cannot be decided, and the run cannot be cancelled.`,
  );
}
