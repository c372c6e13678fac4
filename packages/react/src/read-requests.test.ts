import { expect, test } from 'vitest';
import { readRequests } from './read-requests.ts';
import type { ChatMessage } from './request.ts';

const part = (id: string, status = 'pending') => ({
  type: 'data-request',
  id,
  data: { id, toolCallId: `call-${id}`, tool: 'pay', kind: 'approval', status, digest: 'd' },
});
const assistant = (id: string, ...parts: { type: string }[]): ChatMessage => ({ id, role: 'assistant', parts });
const user = (id: string): ChatMessage => ({ id, role: 'user', parts: [] });

const idsOf = (messages: readonly ChatMessage[], status: 'ready' | 'streaming' | 'error' = 'ready') => {
  const { pending, decided } = readRequests({ messages, status }, []);
  return { pending: pending.map(({ card }) => card.id), decided: decided.map(({ card }) => card.id) };
};

test('pending and decided requests, in the order of the messages', () => {
  const messages = [user('u1'), assistant('a1', part('1', 'decided'), part('2'), part('3'))];
  expect(idsOf(messages)).toEqual({ pending: ['2', '3'], decided: ['1'] });
});

test('a new user message cancels pending requests, and earlier decisions stay', () => {
  const messages = [assistant('a1', part('1'), part('2', 'decided')), user('u2'), assistant('a2', part('3'))];
  expect(idsOf(messages)).toEqual({ pending: ['3'], decided: ['2'] });
});

test('words that failed to be sent were not heard', () => {
  const messages = [assistant('a1', part('1')), user('u2')];
  expect(idsOf(messages, 'streaming').pending).toEqual([]);
  expect(idsOf(messages, 'error').pending).toEqual(['1']);
});

test('a request for which a message waits stays while the message is on its way', () => {
  const kept = { ...part('1'), data: { ...part('1').data, onMessage: 'waits' } };
  const messages = [assistant('a0', part('2')), assistant('a1', kept), user('u2')];
  expect(idsOf(messages, 'streaming').pending).toEqual(['1']);
  expect(idsOf([...messages, assistant('a1', kept)]).pending).toEqual(['1']);
});

test('the latest version of a card counts', () => {
  const messages = [assistant('a1', part('1')), user('u2'), assistant('a2', part('1'))];
  expect(idsOf(messages).pending).toEqual(['1']);
});

test('while a message is replayed, a card that is not there yet has not gone; with its message it has', () => {
  const before = readRequests({ messages: [assistant('a1', part('1'))], status: 'ready' }, []).pending;
  const during = (messages: ChatMessage[], status: 'streaming' | 'ready') =>
    readRequests({ messages, status }, before).pending.length;
  expect(during([assistant('a1')], 'streaming')).toBe(1);
  expect(during([assistant('a1', part('1', 'decided'))], 'streaming')).toBe(0);
  expect(during([assistant('a1')], 'ready')).toBe(0);
  expect(during([assistant('a2')], 'streaming')).toBe(0);
});

test('a card missing from an interrupted replay is still pending', () => {
  const before = readRequests({ messages: [assistant('a1', part('1'))], status: 'ready' }, []).pending;
  const after = (messages: ChatMessage[]) => readRequests({ messages, status: 'error' }, before).pending.length;
  expect(after([assistant('a1')])).toBe(1);
  expect(after([assistant('a1', part('1', 'decided'))])).toBe(0);
  expect(after([assistant('a2')])).toBe(0);
});

test('a decided plain card is no longer pending, even if sending it failed', () => {
  const plain = (state: string) => ({ type: 'tool-pay', toolCallId: 'c', state, input: 0, approval: { id: 'a' } });
  const asked = readRequests({ messages: [assistant('a1', plain('approval-requested'))], status: 'ready' }, []);
  expect(asked.pending).toHaveLength(1);
  const messages = [assistant('a1', plain('approval-responded'))];
  expect(readRequests({ messages, status: 'error' }, asked.pending).pending).toEqual([]);
});

test('parts that are not cards, and user messages, are ignored', () => {
  const broken = { type: 'data-request', data: { id: 5 } };
  const forged = { id: 'u1', role: 'user', parts: [part('1')] };
  expect(idsOf([assistant('a1', broken, { type: 'data-request' }), forged])).toEqual({ pending: [], decided: [] });
});

test('a tool part that waits for approval is a card, unless an request part speaks for it', () => {
  const tool = (toolCallId: string) => ({
    type: 'tool-pay',
    toolCallId,
    state: 'approval-requested',
    input: 0,
    approval: { id: `approval of ${toolCallId}`, requestReason: 'Because.' },
  });
  const { pending } = readRequests(
    { messages: [assistant('a1', tool('call-1'), part('1'), tool('c'))], status: 'ready' },
    [],
  );
  expect(pending.map(({ card, by }) => [card.id, by])).toEqual([
    ['1', 'decisions'],
    ['approval of c', 'plain'],
  ]);
  expect(pending[1]?.card).toMatchObject({
    tool: 'pay',
    input: 0,
    allows: ['approve', 'reject'],
    payload: { message: 'Because.' },
  });
});
