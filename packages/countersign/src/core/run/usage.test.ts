// Replies in, recorded tokens and their sum out.
import { expect, test } from 'vitest';
import { newState } from '../messages/load-messages.ts';
import { event, type RunEvent } from './event.ts';
import { GrowSet } from './grow.ts';
import { replyEvents } from './reply.ts';
import { fold } from './state.ts';
import type { Usage } from './usage.ts';

const tokens = (inputTokens: number, outputTokens: number, more: Partial<Usage> = {}): Usage => ({
  inputTokens,
  outputTokens,
  totalTokens: inputTokens + outputTokens,
  ...more,
});

/** A reply that calls `sub`, under this id, or that ends the turn. */
const replied = (usage: unknown, callId?: string): RunEvent =>
  event({
    type: 'model-replied',
    content: callId === undefined ? [{ text: 'hi' }] : [{ toolRequest: { name: 'sub', ref: callId, input: {} } }],
    calls: callId === undefined ? [] : [{ id: callId, ref: callId }],
    finishReason: 'stop',
    usage: usage as Usage,
  });
const began = (callId: string): RunEvent => event({ type: 'call-started', callId, inside: true });
const inside = (callId: string, ...events: readonly RunEvent[]): RunEvent =>
  event({ type: 'call-went-on', callId, inside: events });

const totalOf = (...events: readonly RunEvent[]) => events.reduce(fold, newState()).usage;

test.each<[string, unknown, Usage | undefined]>([
  [
    'all counts',
    tokens(3, 4, { reasoningTokens: 2, cachedInputTokens: 0 }),
    tokens(3, 4, { reasoningTokens: 2, cachedInputTokens: 0 }),
  ],
  ["the provider's own total", tokens(3, 4, { totalTokens: 9 }), tokens(3, 4, { totalTokens: 9 })],
  ['no usage', undefined, undefined],
  ['a text', 'many', undefined],
  ['a missing count', { inputTokens: 3, outputTokens: 4 }, undefined],
  ['a negative count', tokens(-1, 4), undefined],
  ['a fraction', tokens(1.5, 4), undefined],
  ['not a number', tokens(Number.NaN, 4), undefined],
  ['infinity', tokens(Number.POSITIVE_INFINITY, 4), undefined],
  ['other fields, and an invalid optional count', { ...tokens(3, 4), reasoningTokens: '2', price: 5 }, tokens(3, 4)],
])('a reply with %s is recorded with what is valid', (_what, usage, expected) => {
  const [recorded] = replyEvents({ content: [], finishReason: 'stop', usage }, GrowSet.of<string>(), () => 'id');
  expect(recorded).toEqual({
    v: 1,
    type: 'model-replied',
    content: [],
    calls: [],
    finishReason: 'stop',
    ...(expected && { usage: expected }),
  });
});

test('a run adds up the tokens of its replies and skips replies without any', () => {
  expect(totalOf(replied(undefined))).toBeUndefined();
  const events = [replied(tokens(3, 4)), replied(undefined), replied(tokens(10, 20, { reasoningTokens: 5 }))];
  expect(totalOf(...events)).toEqual(tokens(13, 24, { reasoningTokens: 5 }));
});

test('tokens of sub-agents, at any depth, count for the run', () => {
  const deep = inside('a', replied(tokens(10, 0), 'b'), began('b'), inside('b', replied(tokens(100, 0))));
  expect(totalOf(replied(tokens(1, 0), 'a'), began('a'), deep)).toEqual(tokens(111, 0));
});

test('an invalid count in the record is ignored, and a sum stays a whole number', () => {
  expect(totalOf(replied(tokens(1, 1)), replied({ inputTokens: 'x' }))).toEqual(tokens(1, 1));
  const most = tokens(Number.MAX_SAFE_INTEGER, 0);
  expect(totalOf(replied(most), replied(most))).toEqual(most);
});
