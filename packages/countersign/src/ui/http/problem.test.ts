import { expect, test } from 'vitest';
import { ConflictError, ProviderError, UsageError } from '../../core/errors.ts';
import { problemOf } from './problem.ts';

const store = (retryable: boolean) => new ProviderError('store-failed', {}, 'The file is away.', { retryable });

test.each([
  ['a store that is unavailable', store(true), 503],
  ['a store that fails for good', store(false), 500],
  ['a model that failed', new ProviderError('provider-failed', {}, 'No answer.', { retryable: true }), 502],
  ['an earlier decision', new ConflictError('already-decided', {}, 'Ann was first.'), 409],
  ['an unknown run', new UsageError('unknown-run', {}, 'There is no such run.'), 404],
  ['a hook error with a success status', new UsageError('not-allowed', { status: 200 }, 'No.'), 400],
  ['a hook error with an invalid status', new UsageError('not-allowed', { status: 0.5 }, 'No.'), 400],
  ['a foreign error', new Error('password hunter2'), 500],
] as const)('%s: %s', (_, error, status) => {
  const problem = problemOf(error);
  expect(problem.status).toBe(status);
  if (status >= 500) expect(problem.detail).not.toMatch(/file|answer|hunter2/);
});

test('an internal error hides its reason, and a store error says what to do', () => {
  expect(problemOf(new Error('password hunter2')).detail).toBe('Something went wrong on the server.');
  expect(problemOf(store(false)).detail).toMatch(/a retry does not help.*the operator must check the server\.$/);
});

test('an unavailable part is named, with what to do', () => {
  expect(problemOf(store(true)).detail).toMatch(/^The store is unavailable. Try again later/);
  const full = new UsageError('too-many-streams', { status: 503 }, 'Too many streams are open. Try again later.');
  expect(problemOf(full)).toMatchObject({ status: 503, detail: full.message });
});
