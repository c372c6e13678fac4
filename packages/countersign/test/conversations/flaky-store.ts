// A store that goes away right after it wrote, and stays away for a moment.
import { memoryStore, ProviderError } from 'countersign';
import type { Store } from 'countersign/store';
import { changedStore } from '../changed-store.ts';

export const away = () => new ProviderError('store-failed', {}, 'away', { retryable: true });

/** What is asked of it next, and is away for two times. */
export const ASKED_NEXT = ['renew', 'read'] as const;

type Append = Parameters<Store['append']>[0];

/** The answer to an append is lost if `loses` says so once it is written. `kept` is the store as others see it. */
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
    renew: async (...given) => {
      if (next === 'renew') isAway();
      return kept.renew(...given);
    },
    read: async (...given) => {
      if (next === 'read') isAway();
      return kept.read(...given);
    },
  });
  return { kept, store };
}
