// The pending requests of a backend, kept up to date.
import type { Backend, Card, CardQuery } from '../backend/backend.ts';
import { failureOf } from '../failure.ts';
import { shortTime } from '../print/moment.ts';
import { visibleLine } from '../print/visible-text.ts';

const PAGE = 200;

export type PendingList = {
  /** By id, oldest first. */
  readonly cards: ReadonlyMap<string, Card>;
  /** Whether more requests are pending than were loaded. */
  readonly hasMore: boolean;
  /** Why the list may be outdated, if it may. */
  readonly problem: string | undefined;
  refresh(): Promise<void>;
  close(): void;
};

/** Loads the list when something changes, and calls `onChange` after each load. */
export function openPendingList(backend: Backend, query: CardQuery, onChange: () => void): PendingList {
  let cards: ReadonlyMap<string, Card> = new Map();
  let hasMore = false;
  let problem: string | undefined;
  let loading = Promise.resolve();
  let isQueued = false;

  const load = async () => {
    isQueued = false;
    try {
      const page = await backend.cards({ ...query, limit: PAGE });
      cards = new Map(page.items.map((card) => [card.id, card]));
      hasMore = page.cursor !== null;
      problem = undefined;
    } catch (error) {
      problem = `Cannot load requests: ${visibleLine(failureOf(error).message)}`;
    }
    onChange();
  };
  /** One load at a time. A change during a load starts one more, because that load may have read too early. */
  const refresh = () => {
    if (!isQueued) loading = loading.then(load);
    isQueued = true;
    return loading;
  };
  const stopWatching = backend.watch(
    () => void refresh(),
    (isConnected) => {
      if (isConnected) problem = undefined;
      else problem ??= `Lost connection to ${visibleLine(backend.where)} at ${shortTime(Date.now())}. Retrying …`;
      onChange();
    },
  );
  return {
    get cards() {
      return cards;
    },
    get hasMore() {
      return hasMore;
    },
    get problem() {
      return problem;
    },
    refresh,
    close: stopWatching,
  };
}
