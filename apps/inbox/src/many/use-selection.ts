// The requests that are selected to be decided together, each as the user saw it when they selected it.
import { useRef, useState } from 'react';
import type { ApiRequest } from '../api/wire.ts';

export type Selection = {
  /** In the order of the list. */
  readonly items: readonly ApiRequest[];
  has(id: string): boolean;
  /** With `isRange`, everything between the last one and this one becomes like this one. */
  toggle(request: ApiRequest, isRange?: boolean): void;
  /** Adds these, or replaces the selected ones with them. */
  add(requests: readonly ApiRequest[]): void;
  keepOnly(ids: ReadonlySet<string>): void;
  clear(): void;
};

/** A person decides what fits on a desk; the server takes as many in one request. */
export const MOST_SELECTED = 500;

/** `listed`: the visible list. */
export function useSelection(listed: readonly ApiRequest[]): Selection {
  const [selected, setSelected] = useState<ReadonlyMap<string, ApiRequest>>(new Map());
  const last = useRef<string>(undefined);
  const with_ = (known: ReadonlyMap<string, ApiRequest>, more: readonly ApiRequest[]) =>
    new Map([...known, ...more.map((request) => [request.id, request] as const)].slice(0, MOST_SELECTED));

  function between(id: string): readonly ApiRequest[] {
    const places = [last.current, id].map((one) => listed.findIndex((item) => item.id === one));
    if (places.includes(-1)) return [];
    return listed.slice(Math.min(...places), Math.max(...places) + 1).filter(canSelect);
  }

  return {
    items: [...selected.values()],
    has: (id) => selected.has(id),
    toggle: (request, isRange = false) => {
      const range = isRange ? between(request.id) : [];
      const these = range.length > 0 ? range : [request];
      const isOn = !selected.has(request.id);
      last.current = request.id;
      const ids = new Set(these.map(({ id }) => id));
      setSelected(isOn ? with_(selected, these) : new Map([...selected].filter(([id]) => !ids.has(id))));
    },
    add: (requests) => setSelected((known) => with_(known, requests)),
    keepOnly: (ids) => setSelected((known) => new Map([...known].filter(([id]) => ids.has(id)))),
    clear: () => setSelected(new Map()),
  };
}

/** A question must be answered by itself, but it can be rejected with others. */
export const canSelect = ({ status, mayDecide }: ApiRequest): boolean => status === 'pending' && mayDecide;
