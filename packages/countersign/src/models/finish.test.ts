// The finish reason and usage of a reply, from each version.
import { expect, test } from 'vitest';
import { finishOf } from './finish.ts';

test.each([
  ['stop', { finishReason: 'stop' }],
  ['unknown', { finishReason: 'other' }],
  ['content-filter', { finishReason: 'blocked' }],
  [{ unified: 'stop', raw: 'end_turn' }, { finishReason: 'stop' }],
  [{ unified: 'tool-calls', raw: 'tool_use' }, { finishReason: 'tool-calls' }],
  [
    { unified: 'length', raw: 'max_tokens' },
    { finishReason: 'length', finishMessage: 'max_tokens' },
  ],
  [
    { unified: 'content-filter', raw: 'SAFETY' },
    { finishReason: 'blocked', finishMessage: 'SAFETY' },
  ],
  [{ unified: 'interrupted', raw: undefined }, { finishReason: 'cut-off' }],
  [
    { unified: 'error', raw: 'boom' },
    { finishReason: 'error', finishMessage: 'boom' },
  ],
  [
    { unified: 'other', raw: 'pause_turn' },
    { finishReason: 'other', finishMessage: 'pause_turn' },
  ],
  [{ unified: 'something-new', raw: undefined }, { finishReason: 'other' }],
  [undefined, { finishReason: 'other' }],
])('%j', (reason, expected) => {
  expect(finishOf(reason, undefined)).toEqual(expected);
});

test.each([
  [
    { inputTokens: 3, outputTokens: 4, totalTokens: 9, reasoningTokens: 2, cachedInputTokens: 0 },
    { inputTokens: 3, outputTokens: 4, totalTokens: 9, reasoningTokens: 2, cachedInputTokens: 0 },
  ],
  [{ inputTokens: 3 }, { inputTokens: 3, outputTokens: 0, totalTokens: 3 }],
  [
    { inputTokens: { total: 3, cacheRead: 1 }, outputTokens: { total: 4, reasoning: 2 } },
    { inputTokens: 3, outputTokens: 4, totalTokens: 7, reasoningTokens: 2, cachedInputTokens: 1 },
  ],
  [
    { inputTokens: { total: undefined, noCache: 2, cacheRead: 1 }, outputTokens: { text: 4, reasoning: Number.NaN } },
    { inputTokens: 3, outputTokens: 4, totalTokens: 7, cachedInputTokens: 1 },
  ],
  [{ totalTokens: 9 }, { inputTokens: 0, outputTokens: 0, totalTokens: 9 }],
  [{ inputTokens: -1, outputTokens: 1.5, totalTokens: 'many' }, undefined],
  [{ inputTokens: {}, outputTokens: undefined }, undefined],
  [{}, undefined],
])('usage %j', (usage, expected) => {
  expect(finishOf('stop', usage).usage).toEqual(expected);
});
