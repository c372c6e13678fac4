// The rows of the list in their groups, and the way from one to the next.
import { useEffect, useMemo, useRef, useState } from 'react';
import type { ApiRequest } from '../api/wire.ts';
import type { ListStatus } from '../filters/filters.ts';
import { type ListGroup, listGroups, ungrouped } from '../many/groups.ts';
import { isWide } from '../many/use-is-wide.ts';

type Groups = {
  readonly groups: readonly ListGroup[];
  /** The visible requests, in their order. */
  readonly items: readonly ApiRequest[];
  readonly toggleGroup: (key: string) => void;
};

/** Decided requests are not grouped. */
export function useGroups(status: ListStatus, loaded: readonly ApiRequest[]): Groups {
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const groups = useMemo(
    () => (status === 'pending' ? listGroups(loaded, closed) : ungrouped(loaded)),
    [status, loaded, closed],
  );
  return {
    groups,
    items: useMemo(() => groups.flatMap(({ items, isClosed }) => (isClosed ? [] : items)), [groups]),
    toggleGroup: (key) =>
      setClosed((known) =>
        known.has(key) ? new Set([...known].filter((one) => one !== key)) : new Set([...known, key]),
      ),
  };
}

/** Opens the first entry where the list and a card fit beside each other. From then on it stays, whatever comes before it. */
export function useFirstOpened(
  items: readonly ApiRequest[],
  openId: string | undefined,
  open: (id: string) => void,
): void {
  const first = openId === undefined ? items[0]?.id : undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each list that is not open anywhere.
  useEffect(() => {
    if (first !== undefined && isWide()) open(first);
  }, [first]);
}

/**
 * `step` goes to the next or the previous entry. When the open one has left the list, as it does once it is decided, the
 * entry that took its place is the next. `advance` goes to the entry that follows the open one, which is about to leave.
 */
export function useStep(
  items: readonly ApiRequest[],
  openId: string | undefined,
  open: (id: string) => void,
  loadMore: () => void,
): { readonly step: (by: 1 | -1) => void; readonly advance: () => void } {
  const place = items.findIndex(({ id }) => id === openId);
  const lastPlace = useRef(-1);
  useEffect(() => {
    if (place >= 0) lastPlace.current = place;
  }, [place]);
  function goTo(next: ApiRequest | undefined) {
    if (next) open(next.id);
  }
  return {
    step: (by) => {
      const gone = place < 0 && openId !== undefined;
      const from = place >= 0 ? place : gone && by === 1 ? lastPlace.current - 1 : lastPlace.current;
      if (from + by >= items.length - 1) loadMore();
      goTo(items[Math.min(Math.max(from + by, 0), items.length - 1)]);
    },
    advance: () => {
      const others = items.filter(({ id }) => id !== openId);
      goTo(others[Math.min(Math.max(lastPlace.current, 0), others.length - 1)]);
    },
  };
}
