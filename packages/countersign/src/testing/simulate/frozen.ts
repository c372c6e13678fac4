// Hands out what the store in memory keeps as frozen values, each read once. Code that changes what it read fails.
import type { Store, StoredEvent } from '../../runs/port/store.ts';
import { storeWith } from '../../stores/memory/memory.ts';

/** A store in memory for one schedule: most of the work of a schedule was copying what nobody changes. */
export function frozenStore(clock: () => number): Store {
  const read = new Map<string, StoredEvent>();
  return storeWith(clock, {
    event(text) {
      const known = read.get(text) ?? freeze(JSON.parse(text));
      read.set(text, known);
      return known;
    },
    record: freeze,
  });
}

function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) freeze(inner);
  return Object.freeze(value);
}
