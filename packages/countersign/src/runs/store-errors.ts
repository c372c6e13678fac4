// What a store answers to a write that it does not take.
import { ConflictError, ProviderError } from '../core/errors.ts';
import type { RunRecord } from './store.ts';

export const isStale = (error: unknown): boolean => error instanceof ConflictError && error.code === 'stale-version';
export const isLost = (error: unknown): boolean => error instanceof ConflictError && error.code === 'claim-lost';
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

/** Undefined when it was written; otherwise who was in the way: one who wrote first, or one who drives the run. */
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

/** Trying again would go on for ever: what the store said was written is not there. */
export function wentBack({ id, version }: Pick<RunRecord, 'id' | 'version'>, written: number): ProviderError {
  const message = `The store has run ${id} at version ${version}, but had said that it was at ${written}.`;
  return new ProviderError('store-failed', { runId: id, version, written }, message, { retryable: false });
}
