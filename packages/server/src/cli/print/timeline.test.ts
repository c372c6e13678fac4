// The lines of a timeline, read from events.
import { countersign, memoryStore } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import type { SequencedEvent } from '../backend/backend.ts';
import { createTimeline } from './timeline.ts';

test('the events of a sub-agent are shown under its name, once', () => {
  const read = createTimeline();
  const events = [
    { type: 'user-spoke', messages: [{ role: 'user', content: [{ text: 'Pay.' }] }] },
    replied('a', 'helper'),
    { type: 'call-started', callId: 'a', inside: true },
    inside('a', { type: 'user-spoke', messages: [{ role: 'user', content: [{ text: 'Pay bob.' }] }] }),
    inside('a', replied('b', 'deputy'), { type: 'call-started', callId: 'b', inside: true }),
    inside('a', inside('b', replied('c', 'pay'), { type: 'call-started', callId: 'c' })),
    inside('a', inside('b', { type: 'call-settled', callId: 'c', result: { type: 'output', output: 'paid' } })),
    inside('a', { type: 'decision-made', callId: 'b', requestId: 'b', decision: { type: 'approve' }, resumed: true }),
  ];
  const entries = events.flatMap((event, index) =>
    read({ v: 1, seq: index + 1, at: index * 1_000, ...event } as never),
  );
  expect(entries.map(({ seq, who, what }) => `${seq} ${who}: ${what}`)).toEqual([
    '1 user: Pay.',
    '2 model: calls helper',
    '3 helper: starts',
    '5 helper › model: calls deputy',
    '5 helper › deputy: starts',
    '6 helper › deputy › model: calls pay',
    '6 helper › deputy › pay: starts',
    '7 helper › deputy › pay: gives "paid"',
  ]);
  expect(entries.at(-1)).toMatchObject({ tookMs: 1_000 });
});

test('a request and its decision lead with the title', () => {
  const read = createTimeline();
  const request = {
    id: 'a',
    kind: 'approval',
    shown: { payload: { message: 'Sure?' }, title: 'Pay €950 to ACME', risk: 'high' },
    authority: { policies: [{}], requesters: [] },
    bound: {},
  };
  const events = [
    replied('a', 'pay'),
    { type: 'call-interrupted', callId: 'a', request },
    { type: 'decision-made', callId: 'a', requestId: 'a', decision: { type: 'approve', by: 'ann' }, resumed: true },
  ];
  const entries = events.flatMap((event, at) => read({ v: 1, seq: at + 1, at, ...event } as never));
  expect(entries.slice(1).map(({ who, what }) => `${who}: ${what}`)).toEqual([
    'pay: Pay €950 to ACME, waits for an approval, high risk: Sure?',
    'ann: Pay €950 to ACME (pay): approved',
  ]);
});

test('a late result is marked as late', () => {
  const read = createTimeline();
  const settled = (type: string, output: string) => ({ type, callId: 'a', result: { type: 'output', output } });
  const events = [replied('a', 'pay'), settled('call-settled', 'paid'), settled('call-ended-late', 'paid, too')];
  const entries = events.flatMap((event, at) => read({ v: 1, seq: at + 1, at, ...event } as never));
  expect(entries.map(({ what, tone }) => [what, tone])).toEqual([
    ['calls pay', expect.anything()],
    ['gives "paid"', 'done'],
    ['an earlier try ended late, and gives "paid, too"', 'bad'],
  ]);
});

test('a late result of a sub-agent is shown with its path', () => {
  const read = createTimeline();
  const inside = [replied('b', 'pay')];
  const late = { type: 'call-ended-late', callId: 'b', path: ['a'], result: { type: 'output', output: 'paid' } };
  const events = [replied('a', 'helper'), { type: 'call-went-on', callId: 'a', inside }, late];
  const entries = events.flatMap((event, at) => read({ v: 1, seq: at + 1, at, ...event } as never));
  expect(entries.at(-1)).toMatchObject({
    who: 'helper › pay',
    what: 'an earlier try ended late, and gives "paid"',
    tone: 'bad',
  });
});

test('a run that failed shows its reason', async () => {
  const model = scriptedModel([{ fail: { message: 'down' } }]);
  const ai = countersign({ model, store: memoryStore(), retry: false });
  const { id } = await ai.defineAgent({ name: 'clerk' }).start('Go.');
  await ai.runs.settled();
  const read = createTimeline();
  const entries = (await ai.runs.recorded(id)).flatMap((event, index) => read({ ...event, seq: index + 1 }));
  expect(entries.at(-1)).toMatchObject({ who: 'run', what: expect.stringMatching(/^failed: .*down/), tone: 'bad' });
});

const replied = (id: string, name: string) => ({
  v: 1,
  type: 'model-replied',
  content: [{ toolRequest: { name, ref: id, input: {} } }],
  calls: [{ id, ref: id }],
  finishReason: 'stop',
});

const inside = (callId: string, ...events: readonly object[]) =>
  ({
    v: 1,
    type: 'call-went-on',
    callId,
    inside: events.map((event) => ({ v: 1, ...event })),
  }) as unknown as SequencedEvent;
