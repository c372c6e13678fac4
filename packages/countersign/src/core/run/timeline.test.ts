// Events in, timeline out.
import { expect, test } from 'vitest';
import type { RunEvent } from './event.ts';
import { createTimeline, type TimedEvent, timelineOf } from './timeline.ts';

const replied = (...names: readonly string[]): object => ({
  type: 'model-replied',
  content: names.map((name) => ({ toolRequest: { name, ref: `ref_${name}`, input: {} } })),
  calls: names.map((name) => ({ id: name, ref: `ref_${name}` })),
  finishReason: 'stop',
});
const settled = (callId: string): object => ({ type: 'call-settled', callId, result: { type: 'output', output: 1 } });
const asked = (callId: string, kind = 'approval'): object => ({
  type: 'call-interrupted',
  callId,
  request: {
    ...{ id: `run:${callId}`, kind, shown: { payload: true }, bound: {} },
    authority: { policies: [{}], requesters: [] },
  },
});
const inside = (callId: string, ...events: readonly object[]): object => ({
  type: 'call-went-on',
  callId,
  inside: events.map((event) => ({ v: 1, ...event })),
});
/** Each event happens a second after the one before. */
const timed = (...events: readonly object[]): readonly TimedEvent[] =>
  events.map((event, index) => ({ v: 1, at: index * 1_000, ...event }) as RunEvent & { at: number });

/** `seq type who startedAt`, as far as an entry has them. */
const shown = (events: readonly TimedEvent[]) =>
  timelineOf(events).map((entry) =>
    [
      entry.seq,
      entry.type,
      ...[...entry.path, ...('call' in entry ? [entry.call] : [])].map(({ name }) => name),
      ...('startedAt' in entry ? [entry.startedAt] : []),
    ].join(' '),
  );

test('a gated call waits, runs and ends, each with its start', () => {
  const decision = { type: 'approve', by: 'ann' };
  const events = timed(
    { type: 'user-spoke', messages: [] },
    replied('pay'),
    asked('pay'),
    { type: 'decision-made', callId: 'pay', requestId: 'run:pay', decision, resumed: true },
    { type: 'call-started', callId: 'pay' },
    settled('pay'),
    replied(),
  );
  expect(shown(events)).toEqual([
    '1 user-spoke',
    '2 model-replied 0',
    '3 wait-started pay',
    '4 wait-ended pay 2000',
    '5 call-started pay',
    '6 call-ended pay 4000',
    '7 model-replied 5000',
  ]);
  expect(timelineOf(events)[3]).toMatchObject({ decision, request: { kind: 'approval' } });
});

test('a body that stops to ask ends without a result, and so does one in doubt', () => {
  const events = timed(replied('pay'), { type: 'call-started', callId: 'pay' }, asked('pay', 'doubt'));
  expect(timelineOf(events).slice(2)).toMatchObject([
    { type: 'call-ended', startedAt: 1_000, call: { id: 'pay', name: 'pay' } },
    { type: 'wait-started', request: { kind: 'doubt' } },
  ]);
  expect(timelineOf(events)[2]).not.toHaveProperty('result');
});

test('the end of a run withdraws its open questions', () => {
  const entries = timelineOf(timed(replied('pay'), asked('pay'), { type: 'run-ended', reason: 'aborted' }));
  expect(entries.slice(2).map(({ type }) => type)).toEqual(['wait-ended', 'run-ended']);
  expect(entries[2]).not.toHaveProperty('decision');
});

test('entries of a sub-agent have the path of its calls', () => {
  const events = timed(
    replied('helper'),
    inside('helper', replied('deputy')),
    inside('helper', inside('deputy', replied('pay'), { type: 'call-started', callId: 'pay' })),
    inside('helper', inside('deputy', settled('pay'))),
    { ...settled('pay'), type: 'call-ended-late', path: ['helper', 'deputy'] },
  );
  expect(shown(events)).toEqual([
    '1 model-replied 0',
    '2 model-replied helper 1000',
    '3 model-replied helper deputy 2000',
    '3 call-started helper deputy pay',
    '4 call-ended helper deputy pay 2000',
    '5 late-result helper deputy pay',
  ]);
});

test('events of a later version are counted and add nothing', () => {
  const read = createTimeline();
  expect(read({ v: 1, type: 'something-new', at: 0 } as never)).toEqual([]);
  expect(read({ v: 1, type: 'run-went-on', at: 5 })).toEqual([{ type: 'run-continued', seq: 2, at: 5, path: [] }]);
});

test('a vote names the call that asks, also inside a sub-agent', () => {
  const vote = { by: 'ann', decision: { type: 'approve', edit: 5 } };
  const events = timed(
    replied('refund'),
    { type: 'call-started', callId: 'refund', inside: true },
    inside('refund', replied('pay'), asked('pay')),
    {
      type: 'vote-cast',
      requestId: 'run:pay',
      vote,
      edit: { input: 5, asked: { shown: { payload: true }, policies: [{}] } },
    },
  );
  expect(timelineOf(events).at(-1)).toMatchObject({ type: 'vote-cast', vote, edit: 5, path: [{ name: 'refund' }] });
  expect(shown(events).at(-1)).toBe('4 vote-cast refund pay');
});
