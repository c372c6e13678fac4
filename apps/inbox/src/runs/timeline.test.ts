// From events to the picture of a run.
import { expect, test } from 'vitest';
import type { RunEvent } from '../api/wire.ts';
import { timeScale } from './time-scale.ts';
import { type Timeline, timelineOf } from './timeline.ts';
import { shortCount, tokensText } from './tokens.tsx';

let seq = 0;
const authority = { policies: [{}], requesters: [] };
const request = { id: 'run:1', kind: 'approval', shown: { payload: true }, authority, bound: {} };
const at = (time: number, type: string, said: object = {}) =>
  ({ v: 1, seq: ++seq, at: time, type, ...said }) as RunEvent;
const callsOf = (timeline: Timeline | undefined) => timeline?.steps.filter(({ is }) => is === 'call') ?? [];
const replied = (time: number, calls: Readonly<Record<string, string>>) =>
  at(time, 'model-replied', {
    content: Object.entries(calls).map(([ref, name]) => ({ toolRequest: { ref, name, input: { to: 'ann' } } })),
    calls: Object.keys(calls).map((ref) => ({ id: `call_${ref}`, ref })),
    finishReason: 'stop',
  });

test('a pause, its decision and the work after it are told apart', () => {
  const timeline = timelineOf([
    at(0, 'user-spoke'),
    replied(10, { a: 'pay' }),
    at(11, 'call-interrupted', { callId: 'call_a', request }),
    at(500, 'decision-made', { callId: 'call_a', decision: { type: 'approve', by: 'ada', input: {} } }),
    at(501, 'call-started', { callId: 'call_a' }),
    at(520, 'call-settled', { callId: 'call_a', result: { type: 'output', output: 1 } }),
    replied(540, {}),
  ]);
  expect(timeline).toMatchObject({
    from: 0,
    to: 540,
    steps: [
      { is: 'message', name: 'User message', spans: [], marks: [{ is: 'said', title: 'User message', at: 0 }] },
      { is: 'turn', name: 'Turn 1', spans: [{ is: 'turn', title: 'Turn 1', from: 0, to: 10 }], marks: [] },
      {
        is: 'call',
        id: 'call_a',
        name: 'pay',
        spans: [
          { is: 'wait', title: 'Waiting for approval', from: 11, to: 500 },
          { is: 'work', title: 'Runs', from: 501, to: 520 },
        ],
        marks: [{ is: 'edited', title: 'Approved with changes by ada', at: 500 }],
        requests: ['run:1'],
        facts: [
          { name: 'Input', value: { to: 'ann' } },
          { name: 'Edited input', value: {} },
          { name: 'Output', value: 1 },
        ],
      },
      {
        is: 'turn',
        name: 'Turn 2',
        spans: [{ is: 'turn', title: 'Turn 2', from: 520, to: 540 }],
        marks: [{ is: 'ended', title: 'Completed', at: 540 }],
      },
    ],
  });
  expect(timeline?.steps[2]?.events.map(({ type }) => type)).toEqual([
    'call-interrupted',
    'decision-made',
    'call-started',
    'call-settled',
  ]);
});

test('a try that ended late is marked on its call', () => {
  const result = { type: 'output', output: 1 };
  const timeline = timelineOf([
    replied(10, { a: 'pay' }),
    at(20, 'call-settled', { callId: 'call_a', result }),
    at(30, 'call-ended-late', { callId: 'call_a', result }),
  ]);
  expect(callsOf(timeline)[0]?.marks).toEqual([{ is: 'failed', title: 'An earlier attempt finished late', at: 30 }]);
});

test('what goes on has no end', () => {
  const timeline = timelineOf([
    at(0, 'user-spoke'),
    replied(10, { a: 'pay', b: 'pay' }),
    at(11, 'call-interrupted', { callId: 'call_a', request }),
    at(12, 'call-started', { callId: 'call_b' }),
  ]);
  expect(callsOf(timeline).map(({ spans }) => spans[0]?.to)).toEqual([null, null]);
});

test('a body that asks in the middle works, waits and works again', () => {
  const timeline = timelineOf([
    replied(10, { a: 'pay' }),
    at(11, 'call-started', { callId: 'call_a' }),
    at(20, 'call-interrupted', { callId: 'call_a', request }),
    at(90, 'decision-made', { callId: 'call_a', decision: { type: 'restart' } }),
    at(91, 'call-started', { callId: 'call_a' }),
    at(99, 'call-settled', { callId: 'call_a', result: { type: 'error', text: 'no' } }),
  ]);
  const [lane] = callsOf(timeline);
  expect(lane?.spans.map(({ is, from, to }) => [is, from, to])).toEqual([
    ['work', 11, 20],
    ['wait', 20, 90],
    ['work', 91, 99],
  ]);
  expect(lane?.marks.map(({ is }) => is)).toEqual(['approved', 'failed']);
});

test('a decision carries its reason and its note', () => {
  const said = { reason: 'Not ours.', note: 'Paid in March.' };
  const timeline = timelineOf([
    replied(10, { a: 'pay' }),
    at(20, 'call-interrupted', { callId: 'call_a', request }),
    at(90, 'decision-made', { callId: 'call_a', decision: { type: 'reject', by: 'ann', ...said } }),
  ]);
  expect(callsOf(timeline)[0]?.marks).toEqual([{ is: 'rejected', title: 'Rejected by ann', at: 90, ...said }]);
});

test('events of a later version are no trouble, and without times there is no picture', () => {
  expect(timelineOf([at(0, 'user-spoke'), at(5, 'something-new', { callId: 'call_x' })])?.to).toBe(5);
  expect(timelineOf([{ seq: 1, type: 'user-spoke' } as RunEvent])).toBeUndefined();
  expect(timelineOf([])).toBeUndefined();
});

test('on the scale a day and a millisecond are both seen, and the order stays', () => {
  const scale = timeScale([0, 1, 86_400_000, 86_400_005]);
  const places = [0, 1, 43_200_000, 86_400_000, 86_400_005].map(scale);
  expect(places[0]).toBe(0);
  expect(places.at(-1)).toBe(1);
  expect([...places].sort((a, b) => a - b)).toEqual(places);
  expect((places[1] ?? 0) - 0).toBeGreaterThan(0.01);
  expect(timeScale([7])(7)).toBe(0);
});

test('the calls of a conversation inside a call have steps of their own', () => {
  const inside = (time: number, callId: string, ...events: readonly RunEvent[]) =>
    at(time, 'call-went-on', { callId, inside: events.map(({ at: _at, seq: _seq, ...event }) => event) });
  const timeline = timelineOf([
    at(0, 'user-spoke'),
    replied(10, { a: 'helper' }),
    at(11, 'call-started', { callId: 'call_a', inside: true }),
    inside(12, 'call_a', at(0, 'user-spoke'), replied(0, { b: 'deputy' }), at(0, 'call-started', { callId: 'call_b' })),
    inside(13, 'call_a', inside(0, 'call_b', replied(0, { c: 'pay' }), at(0, 'call-started', { callId: 'call_c' }))),
    inside(20, 'call_a', inside(0, 'call_b', at(0, 'call-settled', { callId: 'call_c', result: { type: 'error' } }))),
    inside(
      21,
      'call_a',
      at(0, 'call-settled', { callId: 'call_b', result: { type: 'output', output: 1 } }),
      replied(0, {}),
    ),
    at(22, 'call-settled', { callId: 'call_a', result: { type: 'output', output: 1 } }),
  ]);
  expect(timeline?.steps.map(({ is }) => is)).toEqual(['message', 'turn', 'call', 'call', 'call']);
  expect(callsOf(timeline)).toMatchObject([
    { id: 'call_a', name: 'helper', spans: [{ is: 'work', title: 'Runs', from: 11, to: 22 }], marks: [] },
    { id: 'call_b', name: 'helper › deputy', spans: [{ is: 'work', title: 'Runs', from: 12, to: 21 }], marks: [] },
    {
      id: 'call_c',
      name: 'helper › deputy › pay',
      spans: [{ is: 'work', title: 'Runs', from: 13, to: 20 }],
      marks: [{ is: 'failed', title: 'Tool failed', at: 20 }],
    },
  ]);
});

test('a turn has its tokens, and a call those of the sub-agent in it', () => {
  const tokens = (count: number) => ({ inputTokens: count, outputTokens: 1, totalTokens: count + 1 });
  const timeline = timelineOf([
    { ...replied(0, { a: 'clerk' }), usage: tokens(10) } as RunEvent,
    at(1, 'call-started', { callId: 'call_a', inside: true }),
    at(2, 'call-went-on', { callId: 'call_a', inside: [{ ...replied(2, { b: 'pay' }), usage: tokens(20) }] }),
    at(3, 'call-went-on', { callId: 'call_a', inside: [{ ...replied(3, {}), usage: tokens(30) }] }),
    replied(4, {}),
  ]);
  expect(timeline?.steps.map(({ name, usage }) => [name, usage?.totalTokens])).toEqual([
    ['Turn 1', 11],
    ['clerk', 52],
    ['clerk › pay', undefined],
    ['Turn 2', undefined],
  ]);
});

test.each([
  [0, '0'],
  [1_234, '1,234'],
  [9_999, '9,999'],
  [12_345, '12.3k'],
  [999_949, '999.9k'],
  [999_950, '1.0M'],
  [4_500_000, '4.5M'],
])('%i tokens are shown as %s', (count, text) => {
  expect(shortCount(count)).toBe(text);
});

test('the exact text of tokens names the cached and reasoning ones', () => {
  const usage = { inputTokens: 1_000, outputTokens: 234, totalTokens: 1_234 };
  expect(tokensText(usage)).toBe('1,234 tokens: 1,000 input, 234 output');
  expect(tokensText({ ...usage, cachedInputTokens: 800, reasoningTokens: 200 })).toBe(
    '1,234 tokens: 1,000 input (800 cached), 234 output (200 reasoning)',
  );
});
