// A store of which some things are otherwise, for tests.
import type { Store } from 'countersign/store';

/** The same store, but for what `changes` brings. */
export function changedStore(store: Store, changes: Partial<Store>): Store {
  return new Proxy(store, {
    get(kept, name) {
      const value: unknown = Reflect.get(Object.hasOwn(changes, name) ? changes : kept, name);
      return typeof value === 'function' ? value.bind(kept) : value;
    },
  });
}

/** The same store, which does something more before it tells that a start is on record. */
export function afterStarts(store: Store, act: () => Promise<void> | void): Store {
  return changedStore(store, {
    append: async (append) => {
      const appended = await store.append(append);
      if (append.events.some(({ type }) => type === 'call-started')) await act();
      return appended;
    },
  });
}
