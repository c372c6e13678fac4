// Tables: events in, step out.

import { describe, expect, test } from 'vitest';
import { ANYONE } from '../authority/policy.ts';
import { loadMessages, messagesOf, newState } from '../messages/load-messages.ts';
import type { Message } from '../messages/message.ts';
import { event, type RunEvent } from './event.ts';
import { type Limits, next } from './next.ts';
import { fold, type State } from './state.ts';

const user: Message = { role: 'user', content: [{ text: 'go' }] };
const said = event({ type: 'user-spoke', messages: [user] });
const text = event({ type: 'model-replied', content: [{ text: 'hi' }], calls: [], finishReason: 'stop' });
const asks = event({
  type: 'model-replied',
  content: [
    { toolRequest: { name: 'pay', ref: 'p', input: { amount: 1 } } },
    { toolRequest: { name: 'look', ref: 'l', input: {} } },
  ],
  calls: [
    { id: 'P', ref: 'p' },
    { id: 'L', ref: 'l' },
  ],
  finishReason: 'stop',
});
const started = (callId: string) => event({ type: 'call-started', callId });
const settled = (callId: string) => event({ type: 'call-settled', callId, result: { type: 'output', output: 0 } });
const ASKED = { shown: { payload: true }, authority: { policies: ANYONE, requesters: [] }, bound: {} } as const;
const waits = event({
  type: 'call-interrupted',
  callId: 'P',
  request: { id: 'P', kind: 'approval', ...ASKED },
});
const approved = event({
  type: 'decision-made',
  callId: 'P',
  requestId: 'P',
  decision: { type: 'approve' },
  resumed: true,
});
const ended = event({ type: 'run-ended', reason: 'max-turns' });

const stateAfter = (events: readonly RunEvent[]): State => events.reduce(fold, newState());
const step = (events: readonly RunEvent[], limits: Partial<Limits> = {}) => {
  const order = next(stateAfter(events), { maxTurns: 20, ...limits });
  return 'calls' in order
    ? [order.do, ...order.calls.map((call) => call.id)]
    : 'reason' in order
      ? [order.do, order.reason]
      : [order.do];
};

describe('what a run does next', () => {
  test.each<[string, readonly RunEvent[], readonly string[], Partial<Limits>?]>([
    ['the user spoke: ask the model', [said], ['call-model']],
    ['a reply without calls: finish', [said, text], ['finish']],
    ['the user spoke again: ask the model', [said, text, said], ['call-model']],
    ['a reply with calls: run them', [said, asks], ['run-calls', 'P', 'L']],
    ['calls are handed out: wait', [said, asks], ['wait'], { holdCalls: true }],
    ['one settled, one open: run the open one', [said, asks, settled('L')], ['run-calls', 'P']],
    ['one started, outcome unknown: settle the doubt first', [said, asks, started('P')], ['settle-doubt', 'P']],
    ['one waits, one open: run the open one', [said, asks, waits], ['run-calls', 'L']],
    ['one waits, the other is settled: wait', [said, asks, waits, settled('L')], ['wait']],
    ['approved: run it', [said, asks, waits, settled('L'), approved], ['run-calls', 'P']],
    [
      'approved, although calls are handed out: run it',
      [said, asks, waits, approved],
      ['run-calls', 'P'],
      { holdCalls: true },
    ],
    ['all settled: ask the model', [said, asks, settled('P'), settled('L')], ['call-model']],
    [
      'all settled, no turn left: stop',
      [said, asks, settled('P'), settled('L')],
      ['stop', 'max-turns'],
      { maxTurns: 1 },
    ],
    ['a turn that waits is not stopped by the limit', [said, asks, waits, settled('L')], ['wait'], { maxTurns: 1 }],
    ['ended: finish', [said, asks, settled('P'), settled('L'), ended], ['finish']],
    ['the user spoke while a call waits: still wait', [said, asks, waits, settled('L'), said], ['wait']],
    ['then it is settled: ask the model', [said, asks, waits, settled('L'), said, settled('P')], ['call-model']],
  ])('%s', (_name, events, expected, limits) => {
    expect(step(events, limits)).toEqual(expected);
  });

  test('folding an event changes no earlier state', () => {
    const before = stateAfter([said, asks]);
    const snapshot = JSON.stringify([before.turn, before.history.toArray()]);
    fold(fold(before, settled('P')), settled('L'));
    expect(JSON.stringify([before.turn, before.history.toArray()])).toBe(snapshot);
  });

  test('each state, turn and call has the same properties, so that they are copied fast', () => {
    const keys = new Map<string, string>();
    const expectSame = (what: string, value: object | undefined) => {
      if (!value) return;
      const found = Object.keys(value).join(' ');
      expect(found).toBe(keys.get(what) ?? found);
      keys.set(what, found);
    };
    const events = [said, asks, waits, approved, started('P'), settled('P'), settled('L'), text, said, ended];
    let state = newState();
    for (const recorded of events) {
      expectSame('state', state);
      state = fold(state, recorded);
      expectSame('turn', state.turn);
      for (const call of state.turn?.calls ?? []) expectSame('call', call);
    }
    const read = loadMessages(messagesOf(stateAfter(events.slice(0, 3)))).state;
    expectSame('state', read);
    expectSame('turn', read.turn);
    for (const call of read.turn?.calls ?? []) expectSame('call', call);
  });

  test('results are in the order of the calls, whichever finished first', () => {
    const state = stateAfter([said, asks, settled('L'), settled('P')]);
    expect(state.history.last?.content.map((part) => 'toolResponse' in part && part.toolResponse.ref)).toEqual([
      'p',
      'l',
    ]);
  });

  test('an event about a call that is not open is a bug of ours, not a silent change', () => {
    expect(() => stateAfter([said, settled('P')])).toThrow('no open turn');
    expect(() => stateAfter([said, asks, settled('X')])).toThrow('Call X is not in the open turn');
    expect(() => stateAfter([said, asks, approved])).toThrow('does not wait for a decision');
  });

  test('a decision on the first question does not decide the second', () => {
    const again = event({ ...waits, request: { id: 'P/2', kind: 'interrupt', ...ASKED } });
    const askedTwice = [said, asks, settled('L'), waits, approved, started('P'), again];
    expect(step(askedTwice)).toEqual(['wait']);
    expect(() => stateAfter([...askedTwice, approved])).toThrow('does not wait for a decision');
  });
});
