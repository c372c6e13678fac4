// Retries: when, how often, how long.
import { expect, test } from 'vitest';
import { ProviderError, UsageError } from '../core/errors.ts';
import type { Model, ModelChunk, ModelReply, ModelRequest } from './model.ts';
import { DEFAULT_RETRY, withRetries } from './retry.ts';

const REQUEST: ModelRequest = { messages: [], tools: [], toolChoice: 'auto', config: {} };
const REPLY: ModelReply = { content: [{ text: 'Hi' }], finishReason: 'stop' };

const failed = (retryable: boolean, details = {}) =>
  new ProviderError('provider-failed', details, 'it failed', { retryable });

/** A model that follows a list: throws an error, replies, or emits a chunk and continues. */
function scripted(...script: (Error | ModelReply | ModelChunk)[]): Model & { asked: number } {
  return {
    name: 'scripted',
    asked: 0,
    async reply(_request, emit) {
      this.asked++;
      for (;;) {
        const next = script.shift();
        if (next instanceof Error) throw next;
        if (next && 'content' in next) return next;
        if (next) emit?.(next);
      }
    },
  };
}

function retried(model: Model, random = 0, sleep?: (ms: number, signal?: AbortSignal) => Promise<void>) {
  const waits: number[] = [];
  const wait = async (ms: number, signal?: AbortSignal) => {
    waits.push(ms);
    await sleep?.(ms, signal);
  };
  return { model: withRetries(model, DEFAULT_RETRY, wait, () => random), waits };
}

test('a reply needs no second try', async () => {
  const { model, waits } = retried(scripted(REPLY));
  expect(await model.reply(REQUEST)).toBe(REPLY);
  expect(waits).toEqual([]);
  expect(model.name).toBe('scripted');
});

test('it asks again after longer and longer waits, half of them chance', async () => {
  const least = retried(scripted(failed(true), failed(true), REPLY), 0);
  expect(await least.model.reply(REQUEST)).toBe(REPLY);
  expect(least.waits).toEqual([250, 500]);
  const most = retried(scripted(failed(true), failed(true), REPLY), 1);
  await most.model.reply(REQUEST);
  expect(most.waits).toEqual([500, 1000]);
});

test('it gives up after the last attempt, with the last error', async () => {
  const last = failed(true);
  const asked = scripted(failed(true), failed(true), last, REPLY);
  await expect(retried(asked).model.reply(REQUEST)).rejects.toBe(last);
  expect(asked.asked).toBe(3);
});

test('waits do not grow beyond the limit', async () => {
  const waits: number[] = [];
  const policy = { attempts: 8, initialDelayMs: 500, maxDelayMs: 8_000 };
  const asked = scripted(...Array.from({ length: 7 }, () => failed(true)), REPLY);
  await withRetries(
    asked,
    policy,
    async (ms) => void waits.push(ms),
    () => 1,
  ).reply(REQUEST);
  expect(waits).toEqual([500, 1000, 2000, 4000, 8000, 8000, 8000]);
});

test.each([
  ['an error that is not retryable', failed(false)],
  ['an error of the caller', new UsageError('invalid-options', {}, 'wrong')],
  ['any other error', new Error('bug')],
])('%s is final', async (_what, error) => {
  const asked = scripted(error, REPLY);
  await expect(retried(asked).model.reply(REQUEST)).rejects.toBe(error);
  expect(asked.asked).toBe(1);
});

test('once a chunk is out the failure is final', async () => {
  const error = failed(true);
  const asked = scripted({ type: 'text', text: 'Ha' }, error, REPLY);
  const heard: ModelChunk[] = [];
  await expect(retried(asked).model.reply(REQUEST, (chunk) => heard.push(chunk))).rejects.toBe(error);
  expect(asked.asked).toBe(1);
  expect(heard).toEqual([{ type: 'text', text: 'Ha' }]);
});

test('it stays a request without stream where none was wanted', async () => {
  let streamed: boolean | undefined;
  const asked: Model = {
    name: 'asked',
    async reply(_request, emit) {
      streamed = emit !== undefined;
      return REPLY;
    },
  };
  await retried(asked).model.reply(REQUEST);
  expect(streamed).toBe(false);
});

test.each([
  [3_000, 3_000],
  [600_000, 8_000],
  [0, 250],
])('a provider that asks for %d ms gets %d', async (retryAfterMs, waited) => {
  const { model, waits } = retried(scripted(failed(true, { retryAfterMs }), REPLY));
  await model.reply(REQUEST);
  expect(waits).toEqual([waited]);
});

test('an abort ends the wait at once, even of a sleep that does not listen', async () => {
  const stop = new AbortController();
  const reason = new Error('enough');
  const asked = scripted(failed(true), REPLY);
  const { model } = retried(asked, 0, () => {
    queueMicrotask(() => stop.abort(reason));
    return new Promise(() => {});
  });
  await expect(model.reply({ ...REQUEST, signal: stop.signal })).rejects.toBe(reason);
  expect(asked.asked).toBe(1);
});
