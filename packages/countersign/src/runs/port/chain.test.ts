// One hash covers the events of an append, and how many they are.
import { expect, test } from 'vitest';
import { appendsIn, eventsText, linkAll, linkNew } from './chain.ts';
import type { StoredEvent } from './store.ts';

const events = Array.from(
  { length: 5 },
  (_, at) => ({ v: 1, type: 'run-went-on', at }) as const,
) satisfies StoredEvent[];
const [a, b, c, d, e] = events as unknown as readonly [StoredEvent, StoredEvent, StoredEvent, StoredEvent, StoredEvent];

test('the chain over whole appends is followed event by event', () => {
  const first = linkNew('start', [a, b, c]);
  const second = linkNew(first.hash, [d]);
  const third = linkNew(second.hash, [e]);
  const all = [...first.events, ...second.events, ...third.events];
  expect([...appendsIn(all)].map(({ length }) => length)).toEqual([3, 1, 1]);
  expect(linkAll('start', all)).toBe(third.hash);
  expect(linkAll(first.hash, all.slice(3))).toBe(third.hash);
  expect(linkAll('start', JSON.parse(JSON.stringify(all)))).toBe(third.hash);
});

test('the same events in other appends have another hash', () => {
  const together = linkNew('start', [a, b]);
  const alone = linkNew(linkNew('start', [a]).hash, [b]);
  expect(together.hash).not.toBe(alone.hash);
});

test.each([0, 1, 2, 4, 100, -1, 1.5, '3', null])('a changed number of events does not match: %s', (appended) => {
  const { events, hash } = linkNew('start', [a, b, c]);
  const [first, ...rest] = events;
  expect(linkAll('start', [{ ...first, appended } as StoredEvent, ...rest])).not.toBe(hash);
});

test('the text of new events is made once, as the array that stores keep', () => {
  for (const added of [[a], [a, b]] as const) {
    const { events } = linkNew('start', added);
    expect(JSON.parse(eventsText(events))).toEqual(events);
  }
});
