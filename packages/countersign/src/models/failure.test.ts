// Failures: what may be tried again, and what the error tells.
import { expect, test } from 'vitest';
import { UsageError } from '../core/errors.ts';
import { failureOf } from './failure.ts';

const START = { model: 'test/model', partial: [], emitted: false };
const MIDDLE = { model: 'test/model', partial: [{ text: 'Half' }], emitted: true };

const network = (message: string, code: string) =>
  new TypeError(message, { cause: Object.assign(new Error('socket'), { code }) });

const api = (fields: object) => Object.assign(new Error('it failed'), fields);

test.each<[what: string, error: unknown, retryable: boolean]>([
  ['an API error that says so', api({ isRetryable: true, statusCode: 400 }), true],
  ['an API error that says not', api({ isRetryable: false, statusCode: 500 }), false],
  ['a status alone: 503', api({ statusCode: 503 }), true],
  ['a status alone: 429', api({ statusCode: 429 }), true],
  ['a status alone: 401', api({ statusCode: 401 }), false],
  ['a lost connection', network('fetch failed', 'ECONNREFUSED'), true],
  ['a connection lost in the middle', network('terminated', 'UND_ERR_SOCKET'), true],
  [
    'an API error over a lost connection',
    api({ isRetryable: false, cause: network('terminated', 'ECONNRESET') }),
    true,
  ],
  ['a time-out', new DOMException('too slow', 'TimeoutError'), true],
  ['an overloaded provider, in a stream', { type: 'overloaded_error', message: 'Overloaded' }, true],
  ['a failing provider, in a stream', { type: 'error', error: { type: 'server_error', message: 'Oops' } }, true],
  ['a wrong request, in a stream', { type: 'invalid_request_error', message: 'No' }, false],
  ['no credit', { type: 'insufficient_quota', message: 'No credit' }, false],
  ['a bug in a provider', new RangeError('oops'), false],
  ['a text', 'oops', false],
  ['nothing', undefined, false],
])('%s', (_what, error, retryable) => {
  expect(failureOf(error, START)).toMatchObject({ code: 'provider-failed', retryable, cause: error });
});

test('a connection lost after the reply began: cut off, with what had arrived', () => {
  expect(failureOf(network('terminated', 'UND_ERR_SOCKET'), MIDDLE)).toMatchObject({
    code: 'stream-cut-off',
    retryable: true,
    details: MIDDLE,
  });
});

test('an error of the provider after the reply began is a failure', () => {
  expect(failureOf({ type: 'overloaded_error', message: 'Overloaded' }, MIDDLE).code).toBe('provider-failed');
});

test.each([
  [new Error('plain'), 'plain'],
  ['text', 'text'],
  [{ error: { message: 'nested' } }, 'nested'],
  [{ odd: 1 }, '{"odd":1}'],
  [undefined, 'undefined'],
  [null, 'null'],
  [1n, '[object BigInt]'],
])('the message of %o', (error, message) => {
  expect(failureOf(error, START).message).toBe(`The model test/model failed: ${message}`);
});

test('the details have the status and the start of the body, never headers or the request', () => {
  const error = api({
    statusCode: 500,
    responseBody: 'x'.repeat(10_000),
    requestBodyValues: { messages: ['private'] },
    responseHeaders: { 'set-cookie': 'private' },
    url: 'https://private.example',
  });
  const { details } = failureOf(error, START);
  expect(details).toEqual({ ...START, statusCode: 500, responseBody: 'x'.repeat(500) });
});

test.each<[headers: Record<string, string>, retryAfterMs: number | undefined]>([
  [{ 'retry-after': '2' }, 2000],
  [{ 'retry-after': '0.5' }, 500],
  [{ 'retry-after-ms': '120', 'retry-after': '9' }, 120],
  [{ 'retry-after': 'Wed, 21 Oct 2026 07:28:09 GMT', date: 'Wed, 21 Oct 2026 07:28:00 GMT' }, 9000],
  [{ 'retry-after': 'Wed, 21 Oct 2026 07:27:00 GMT', date: 'Wed, 21 Oct 2026 07:28:00 GMT' }, 0],
  [{ 'retry-after': 'Wed, 21 Oct 2026 07:28:09 GMT' }, undefined],
  [{ 'retry-after': 'soon' }, undefined],
  [{}, undefined],
])('retry-after %j', (responseHeaders, retryAfterMs) => {
  expect(failureOf(api({ statusCode: 429, responseHeaders }), START).details.retryAfterMs).toBe(retryAfterMs);
});

test('a Countersign error stays unchanged', () => {
  const error = new UsageError('invalid-options', {}, 'wrong');
  expect(failureOf(error, START)).toBe(error);
});
