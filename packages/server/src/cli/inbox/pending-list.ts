// The pending requests of a backend, kept up to date.

import { shortTime } from '../../text/moment.ts';
import { visibleLine } from '../../text/visible-text.ts';
import type { Backend, Card, CardQuery } from '../backend/backend.ts';
import { failureOf } from '../failure.ts';

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
  let loading = Promise.resolve();
  let isQueued = false;

  const load = async () => {
    isQueued = false;
    try {
      const page = await backend.cards({ ...query, limit: PAGE });
      list.cards = new Map(page.items.map((card) => [card.id, card]));
      list.hasMore = page.cursor !== null;
      list.problem = undefined;
    } catch (error) {
      list.problem = `Cannot load requests: ${visibleLine(failureOf(error).message)}`;
    }
    onChange();
  };
  /** One load at a time. A change during a load starts one more, because that load may have read too early. */
  const refresh = () => {
    if (!isQueued) loading = loading.then(load);
    isQueued = true;
    return loading;
  };
  const onConnection = (isConnected: boolean) => {
    if (isConnected) list.problem = undefined;
    else list.problem ??= `Lost connection to ${visibleLine(backend.where)} at ${shortTime(Date.now())}. Retrying …`;
    onChange();
  };
  const list: { -readonly [name in keyof PendingList]: PendingList[name] } = {
    cards: new Map(),
    hasMore: false,
    problem: undefined,
    refresh,
    close: backend.watch(() => void refresh(), onConnection),
  };
  return list;
}
