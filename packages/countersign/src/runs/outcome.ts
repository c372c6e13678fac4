// How an error is kept with a run that stopped for it.
import { CountersignError, messageOf } from '../core/errors.ts';
import { type Json, toJson } from '../core/json.ts';

export function errorOutcome(error: unknown): Json {
  const known = error instanceof CountersignError;
  const retryable = known && 'retryable' in error && error.retryable === true;
  const json = toJson({ error: { code: known ? error.code : 'invariant', message: messageOf(error), retryable } });
  return json.ok ? json.value : null;
}
