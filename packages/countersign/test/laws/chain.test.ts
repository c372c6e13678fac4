// The laws of the hash chain: whatever is done to a recorded event is seen.
import fc from 'fast-check';
import { expect } from 'vitest';
import { chainStart, inspectChain, linkAll, linkNew } from '../../src/runs/port/chain.ts';
import type { LoadedRun, StoredEvent } from '../../src/runs/port/store.ts';
import { law } from './law.ts';

const event = fc
  .record({ text: fc.string({ maxLength: 5 }), at: fc.nat(100) })
  .map(({ text, at }) => ({ v: 1, type: 'run-failed', error: text, at }) as unknown as StoredEvent);
const appends = fc.array(fc.array(event, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 5 });
const header = fc.record({
  id: fc.constantFrom('run_1', 'run_2'),
  agent: fc.constantFrom('clerk', 'teller'),
  startedBy: fc.constantFrom('ann', 'bob', null),
});

function recorded(
  all: readonly (readonly StoredEvent[])[],
  run: { id: string; agent: string; startedBy: string | null },
) {
  let hash = chainStart(run);
  const events: StoredEvent[] = [];
  for (const append of all) {
    const linked = linkNew(hash, append as [StoredEvent, ...StoredEvent[]]);
    events.push(...linked.events);
    hash = linked.hash;
  }
  return { run: { ...run, version: events.length, hash }, events } as unknown as LoadedRun;
}
const isSound = async (loaded: LoadedRun) => (await inspectChain(loaded)).problem === undefined;

/** Ways to change a record; each returns the events after it. */
const CHANGES: readonly ((
  events: readonly StoredEvent[],
  at: number,
  other: number,
  more: StoredEvent,
) => readonly StoredEvent[])[] = [
  (events, at) => events.toSpliced(at, 1),
  (events, at, _other, more) => events.toSpliced(at, 0, more),
  (events, at, _other, more) => events.with(at, more),
  (events, at, other) => events.with(at, events[other] as StoredEvent).with(other, events[at] as StoredEvent),
  (events, at) => events.slice(0, at),
  (events, at) => events.with(at, { ...(events[at] as StoredEvent), at: ((events[at] as StoredEvent).at ?? 0) + 1 }),
  (events, at) =>
    events.map(
      ({ appended: _appended, ...rest }, index) =>
        (index === at ? { ...rest } : (events[index] as StoredEvent)) as StoredEvent,
    ),
  (events, at) => events.with(at, { ...(events[at] as StoredEvent), appended: 2 } as StoredEvent),
  (events) => events.toReversed(),
];

law(
  'a record as it was written is sound, and read in appends it has the same end',
  fc.asyncProperty(appends, header, async (all, run) => {
    const loaded = recorded(all, run);
    expect(await isSound(loaded)).toBe(true);
    expect(linkAll(chainStart(run), loaded.events)).toBe(loaded.run.hash);
    expect(await isSound({ ...loaded, events: structuredClone(loaded.events) })).toBe(true);
  }),
);
law(
  'an event that is changed, removed, added or moved is seen, even if the count in the record is changed too',
  fc.asyncProperty(appends, header, fc.nat(), fc.nat(), fc.nat(), event, async (all, run, how, at, other, more) => {
    const loaded = recorded(all, run);
    const { length } = loaded.events;
    const change = CHANGES[how % CHANGES.length] as (typeof CHANGES)[number];
    const events = change(loaded.events, at % length, other % length, more);
    fc.pre(JSON.stringify(events) !== JSON.stringify(loaded.events));
    expect(await isSound({ ...loaded, events })).toBe(false);
    expect(await isSound({ events, run: { ...loaded.run, version: events.length } })).toBe(false);
  }),
  600,
);
law(
  'the events of one run are not those of another run, agent or person',
  fc.asyncProperty(appends, header, header, async (all, run, other) => {
    fc.pre(JSON.stringify(run) !== JSON.stringify(other));
    const loaded = recorded(all, run);
    expect(await isSound({ ...loaded, run: { ...loaded.run, ...other } })).toBe(false);
  }),
);
