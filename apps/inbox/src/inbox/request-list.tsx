// The list of requests in their groups. However many are loaded, the page holds only those around the view.
import { type Ref, type RefObject, useImperativeHandle, useMemo, useRef } from 'react';
import type { ApiRequest } from '../api/wire.ts';
import { GroupHeader } from '../many/group-header.tsx';
import type { ListGroup } from '../many/groups.ts';
import { canSelect, type Selection } from '../many/use-selection.ts';
import { RequestRow } from './request-row.tsx';
import { useWindow } from './use-window.ts';

export type RequestListHandle = {
  /** Brings the row of this request into view, and the focus to it. */
  focus(id: string): void;
};

type RequestListProps = {
  readonly handle: Ref<RequestListHandle>;
  /** The element that scrolls the list. */
  readonly scroller: RefObject<HTMLElement | null>;
  readonly groups: readonly ListGroup[];
  readonly hasMore: boolean;
  readonly openId: string | undefined;
  readonly selection: Selection;
  readonly hrefOf: (id: string) => string;
  readonly onSelect: (request: ApiRequest, isRange: boolean) => void;
  readonly onOpen: () => void;
  readonly onToggle: (key: string) => void;
  readonly onReview: (group: ListGroup) => void;
};

/** A headline, or a request at its place among all requests of the list. */
type Entry = { readonly group: ListGroup } & (
  | { readonly request?: undefined }
  | { readonly request: ApiRequest; readonly place: number }
);

export function RequestList({ handle, scroller, groups, hasMore, openId, selection, ...does }: RequestListProps) {
  const entries = useMemo(() => entriesOf(groups), [groups]);
  const list = useRef<HTMLUListElement>(null);
  const { from, to, before, after, reveal } = useWindow(entries.length, list, scroller);
  const count = entries.findLast(({ request }) => request !== undefined);
  const size = hasMore || count?.request === undefined ? -1 : count.place;
  useImperativeHandle(handle, () => ({
    focus: (id) => {
      reveal(entries.findIndex(({ request }) => request?.id === id));
      const row = list.current?.querySelector<HTMLElement>(`[data-row="${CSS.escape(id)}"]`);
      row?.focus({ preventScroll: true });
      row?.scrollIntoView({ block: 'nearest' });
    },
  }));
  return (
    <ul ref={list} className="flex flex-col">
      <Gap height={before} />
      {entries
        .slice(from, to)
        .map((entry) =>
          entry.request === undefined ? (
            <GroupHeader
              key={`group ${entry.group.key}`}
              items={entry.group.items}
              hasMore={hasMore}
              isClosed={entry.group.isClosed}
              onToggle={() => does.onToggle(entry.group.key)}
              onReview={() => does.onReview(entry.group)}
            />
          ) : (
            <RequestRow
              key={entry.request.id}
              request={entry.request}
              place={entry.place}
              size={size}
              href={does.hrefOf(entry.request.id)}
              isOpen={entry.request.id === openId}
              isSelected={selection.has(entry.request.id)}
              onSelect={does.onSelect}
              onOpen={does.onOpen}
            />
          ),
        )}
      <Gap height={after} />
    </ul>
  );
}

function Gap({ height }: { readonly height: number }) {
  return <li role="presentation" aria-hidden="true" className="shrink-0" style={{ height }} />;
}

/** Requests that are alike have a headline; a single one is just a row. */
function entriesOf(groups: readonly ListGroup[]): readonly Entry[] {
  const entries: Entry[] = [];
  let place = 0;
  for (const group of groups) {
    const { items, isClosed } = group;
    if (items.length > 1 && items.filter(canSelect).length > 1) entries.push({ group });
    if (isClosed) continue;
    for (const request of items) {
      place += 1;
      entries.push({ group, request, place });
    }
  }
  return entries;
}
