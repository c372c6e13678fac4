// Random runs: events that may follow upon each other, as the engine would record them.
import fc from 'fast-check';
import type { Json } from '../../src/core/json.ts';
import { newState } from '../../src/core/messages/load-messages.ts';
import type { Message } from '../../src/core/messages/message.ts';
import { type Call, requestId } from '../../src/core/run/call.ts';
import type { RunEvent } from '../../src/core/run/event.ts';
import { fold, type State } from '../../src/core/run/state.ts';
import type { TimedEvent } from '../../src/core/run/timeline.ts';

/** Picks among what may happen next. */
type Picks = { next(count: number): number };

type Fact = { readonly type: RunEvent['type']; readonly [key: string]: unknown };

const NAMES = ['pay', 'look', 'send'];
const PEOPLE = ['ann', 'bob', 'cleo'];
const INPUTS: readonly Json[] = [{ amount: 1 }, { amount: 250, to: 'ACME' }, {}, { deep: { list: [1, null, ''] } }];
const VALUES: readonly Json[] = [null, '', 0, false, 'paid', { id: 7 }, [1]];

const pick = <T>(picks: Picks, all: readonly T[]): T => all[picks.next(all.length)] as T;
const maybe = (picks: Picks, part: object): object => (picks.next(2) === 0 ? part : {});

/** What the engine might record next; several facts that it records together. */
function factsAfter(state: State, picks: Picks, count: number): readonly Fact[] {
  const { turn } = state;
  if (!turn) {
    if (state.history.length === 0 || picks.next(4) === 0) return [spoken(picks)];
    return [replied(picks, count)];
  }
  const open = turn.calls.filter(({ phase }) => phase.at !== 'settled');
  const call = pick(picks, open);
  if (picks.next(12) === 0) return [spoken(picks)];
  switch (call.phase.at) {
    case 'open':
      return pick(picks, [
        asked(call, picks),
        asked(call, picks),
        started(call),
        settled(call, picks),
        granted(call, picks),
      ]);
    case 'waiting':
      return pick(picks, [
        ...[decided(call, picks), decided(call, picks), decided(call, picks), collected(call, picks)],
        // Withdrawn: its result came late, or the run was cancelled.
        settled(call, picks),
      ]);
    case 'cleared':
      return pick(picks, [started(call), started(call), asked(call, picks)]);
    default:
      return pick(picks, [settled(call, picks), settled(call, picks), asked(call, picks), stepped(call, picks)]);
  }
}

const spoken = (picks: Picks): Fact => ({
  type: 'user-spoke',
  messages: [{ role: 'user', content: [{ text: pick(picks, ['go', '', 'again']) }] }],
  ...maybe(picks, { by: pick(picks, PEOPLE) }),
});

function replied(picks: Picks, count: number): Fact {
  const calls = Array.from({ length: picks.next(4) }, (_, index) => ({
    id: `c${count}.${index}`,
    ref: `r${count}.${index}`,
  }));
  const content = calls.map(({ ref }) => ({
    toolRequest: { name: pick(picks, NAMES), ref, input: pick(picks, INPUTS) },
    ...maybe(picks, { metadata: { signature: 'of the provider' } }),
  }));
  return {
    type: 'model-replied',
    content: [...(picks.next(2) === 0 ? [{ text: 'So.' }] : []), ...content],
    calls,
    finishReason: 'stop',
  };
}

function asked(call: Call, picks: Picks): readonly Fact[] {
  const { at } = call.phase;
  const kind =
    at === 'started'
      ? pick(picks, ['interrupt', 'doubt'])
      : at === 'open'
        ? pick(picks, ['approval', 'question'])
        : 'unavailable';
  const policies = pick(picks, [
    [{}],
    [{ deciders: { people: ['ann'] } }],
    [{ quorum: [{ of: { roles: ['cfo'] }, count: 2 }] }],
  ]);
  const request = {
    id: requestId(call.id, call.pauses + 1),
    kind,
    shown: { payload: pick(picks, VALUES.slice(1)), ...maybe(picks, { title: 'Pay', risk: 'high' }) },
    authority: { policies, requesters: pick(picks, [[], ['ann']]) },
    ...(kind !== 'question' && { bound: pick(picks, [{}, { runsWith: { amount: 2 } }]) }),
    ...(kind === 'approval' && maybe(picks, { wait: { expiresAt: 5_000 } })),
    ...(kind === 'approval' && maybe(picks, { previews: { preview: { value: 'Rows' } } })),
  };
  return [{ type: 'call-interrupted', callId: call.id, request }];
}

const started = (call: Call): readonly Fact[] => [{ type: 'call-started', callId: call.id }];
const stepped = (call: Call, picks: Picks): readonly Fact[] => [
  { type: 'step-done', callId: call.id, step: pick(picks, ['one', 'two']), output: pick(picks, VALUES) },
];
const granted = (call: Call, picks: Picks): readonly Fact[] => [
  { type: 'call-granted', callId: call.id, grantId: 'g', policies: [{}], ...maybe(picks, { amount: 3 }) },
];

function settled(call: Call, picks: Picks, type?: 'rejected' | 'cancelled'): readonly Fact[] {
  const output = { type: 'output', output: pick(picks, VALUES) };
  const failed = {
    type: type ?? 'error',
    text: 'No.',
    ...(type === undefined && maybe(picks, { mayHaveActed: true })),
  };
  return [
    { type: 'call-settled', callId: call.id, result: type === undefined && picks.next(2) === 0 ? output : failed },
  ];
}

function decided(call: Call, picks: Picks): readonly Fact[] {
  if (call.phase.at !== 'waiting') return [];
  const { request } = call.phase;
  const signed = maybe(picks, { by: pick(picks, PEOPLE), channel: 'inbox', note: 'ok' });
  const made = (decision: object): Fact => ({
    ...{ type: 'decision-made', callId: call.id, requestId: request.id, resumed: pick(picks, [true, { note: 1 }]) },
    decision: { ...decision, ...signed },
  });
  switch (picks.next(request.kind === 'question' ? 3 : 6)) {
    case 0:
      return [made({ type: 'reject', reason: 'Too much.' }), ...settled(call, picks, 'rejected')];
    case 1:
      return [made({ type: 'cancel' }), ...settled(call, picks, 'cancelled')];
    case 2:
      return [
        made({ type: 'respond', output: pick(picks, VALUES) }),
        { type: 'call-settled', callId: call.id, result: { type: 'output', output: pick(picks, VALUES) } },
      ];
    case 3:
      return [made({ type: 'approve', input: pick(picks, INPUTS), bound: {} })];
    case 4:
      return [made({ type: 'restart', resumed: pick(picks, VALUES) })];
    default:
      return [made({ type: 'approve' })];
  }
}

function collected(call: Call, picks: Picks): readonly Fact[] {
  if (call.phase.at !== 'waiting') return [];
  const { id } = call.phase.request;
  return [
    pick<Fact>(picks, [
      { type: 'vote-cast', requestId: id, vote: { by: pick(picks, PEOPLE), decision: { type: 'approve' } } },
      { type: 'request-assigned', requestId: id, to: pick(picks, ['bob', null]), by: 'ann' },
      { type: 'request-commented', requestId: id, by: 'ann', text: 'Hm.' },
      { type: 'votes-withdrawn', requestId: id, of: pick(picks, PEOPLE), by: 'root' },
      { type: 'request-escalated', requestId: id, to: { people: ['dan'] } },
    ]),
  ];
}

/** The events of a run, which were recorded a second after each other, and the state after each of them. */
export type RandomRun = { readonly events: readonly TimedEvent[]; readonly states: readonly State[] };

/** Ends between two appends, as a process that dies does. */
export const randomRun: fc.Arbitrary<RandomRun> = fc
  .array(fc.nat({ max: 1_000 }), { minLength: 1, maxLength: 160, size: 'max' })
  .map((numbers) => {
    let at = 0;
    const picks: Picks = { next: (count) => (numbers[at++] ?? 0) % count };
    const events: TimedEvent[] = [];
    const states: State[] = [newState()];
    while (at < numbers.length) {
      for (const fact of factsAfter(states.at(-1) as State, picks, events.length)) {
        const event = { v: 1, ...fact, at: events.length * 1_000 } as unknown as TimedEvent;
        events.push(event);
        states.push(fold(states.at(-1) as State, event));
      }
    }
    return { events, states };
  });

/** The same without its storage: what a program can read of a state. */
export function shownState(state: State): Json {
  const plain = (value: unknown): unknown => {
    if (value instanceof Map) return [...value].map(plain);
    if (Array.isArray(value)) return value.map(plain);
    if (typeof value !== 'object' || value === null) return value;
    if ('toArray' in value) return (value as { toArray(): readonly Message[] }).toArray().map(plain);
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]));
  };
  return JSON.parse(JSON.stringify(plain(state))) as Json;
}
