// A store that fails right after a write, and stays down for a moment.
import { memoryStore, ProviderError } from 'countersign';
import type { Store } from 'countersign/store';
import { changedStore } from '../changed-store.ts';

export const away = () => new ProviderError('store-failed', {}, 'away', { retryable: true });

/** The operation that follows the write, which then fails twice. */
export const ASKED_NEXT = ['renew', 'read'] as const;

type Append = Parameters<Store['append']>[0];

/** Loses the answer to a written append if `loses` returns true. `kept` is the store as other processes see it. */
export function flakyStore(next: (typeof ASKED_NEXT)[number], loses: (append: Append) => boolean | Promise<boolean>) {
  const kept = memoryStore();
  let left = 0;
  const isAway = () => {
    if (left === 0) return;
    left -= 1;
    throw away();
  };
  const store = changedStore(kept, {
    append: async (append) => {
      const done = await kept.append(append);
      if (!(await loses(append))) return done;
      left = 2;
      throw away();
    },
    renew: async (...args) => {
      if (next === 'renew') isAway();
      return kept.renew(...args);
    },
    read: async (...args) => {
      if (next === 'read') isAway();
      return kept.read(...args);
    },
  });
  return { kept, store };
}
