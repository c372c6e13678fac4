// A store of which some things are otherwise, for tests.
import type { Store } from 'countersign';

/** The same store, but for what `changes` brings. */
export function changedStore(store: Store, changes: Partial<Store>): Store {
  return new Proxy(store, {
    get(kept, name) {
      const value: unknown = Reflect.get(Object.hasOwn(changes, name) ? changes : kept, name);
      return typeof value === 'function' ? value.bind(kept) : value;
    },
  });
}
