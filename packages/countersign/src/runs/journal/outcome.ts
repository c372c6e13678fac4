// Records the error that a run stopped with, and reads it back.
import {
  CountersignError,
  type ErrorCode,
  type ErrorDetails,
  InvariantError,
  messageOf,
  ProviderError,
  UsageError,
} from '../../core/errors.ts';
import { type Json, toJson } from '../../core/json.ts';
import { event } from '../../core/run/event.ts';
import type { Run } from '../../loop/run.ts';
import type { RunRecord, RunStatus } from '../port/store.ts';
import type { Journal } from './journal.ts';

function errorOutcome(error: unknown): Json {
  const known = error instanceof CountersignError;
  const retryable = known && 'retryable' in error && error.retryable === true;
  const json = toJson({ error: { code: known ? error.code : 'invariant', message: messageOf(error), retryable } });
  return json.ok ? json.value : null;
}

/** The error that a run stopped with, with the class that the driving process threw. */
export function errorOf(
  { code, message, retryable }: { readonly code: string; readonly message: string; readonly retryable: boolean },
  details: ErrorDetails,
): CountersignError {
  const known = code as ErrorCode;
  if (FROM_OUTSIDE.has(code)) return new ProviderError(known, details, message, { retryable });
  return new (code === 'invariant' ? InvariantError : UsageError)(known, details, message);
}

const FROM_OUTSIDE: ReadonlySet<string> = new Set(['provider-failed', 'stream-cut-off', 'store-failed']);

/** Records that a failed run is driven again, so that another worker takes over if this process dies. */
export function goOn(run: Run, status: RunStatus): void {
  if (status === 'failed') run.record(event({ type: 'run-went-on' }));
}

/** Keeps a failed run failed after a change that drives nothing, such as a vote that settles no request. */
export function stayFailed(run: Run, { status, outcome }: Pick<RunRecord, 'status' | 'outcome'>): void {
  if (status === 'failed') run.record(event({ type: 'run-failed', error: outcome }));
}

/** Records that the run failed. `again`: others wrote after it, so perhaps no worker drives the run. */
export async function fail(run: Run, journal: Journal, error: unknown): Promise<'done' | 'again'> {
  run.record(event({ type: 'run-failed', error: errorOutcome(error) }));
  for (;;) {
    const rest = await journal.finish();
    if (rest !== 'more') return rest;
  }
}
