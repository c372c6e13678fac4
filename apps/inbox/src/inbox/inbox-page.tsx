// The inbox and the history: a list, and the request that is open beside it, or in its place on a phone.
import { History, Inbox } from 'lucide-react';
import { useEffect, useMemo, useRef, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { useGrowingList } from '../api/growing-list.ts';
import type { ApiRequest } from '../api/wire.ts';
import { PageHeader } from '../frame/page-header.tsx';
import { Empty, Loading, Trouble } from '../frame/placeholders.tsx';
import { useShortcuts } from '../frame/shortcuts.ts';
import { useStable } from '../frame/stable.ts';
import { useNow } from '../live/now.ts';
import { type ListGroup, listGroups, ungrouped, wholeGroup } from '../many/groups.ts';
import { SelectionBar } from '../many/selection-bar.tsx';
import { Together } from '../many/together.tsx';
import { isWide } from '../many/use-is-wide.ts';
import { canSelect, useSelection } from '../many/use-selection.ts';
import { LoadMore } from '../primitives/load-more.tsx';
import { press } from './card-keys.ts';
import { FilterBar } from './filter-bar.tsx';
import { addressOf, type ListStatus, queryFor, useFilters } from './filters.ts';
import { RequestDetail } from './request-detail.tsx';
import { RequestList, type RequestListHandle } from './request-list.tsx';

type OpenProps = { readonly openId: string | undefined };

export function InboxPage({ openId }: OpenProps) {
  return <Desk key="pending" status="pending" openId={openId} />;
}

export function HistoryPage({ openId }: OpenProps) {
  return <Desk key="settled" status="settled" openId={openId} />;
}

const PLACES = {
  pending: { title: 'Inbox', list: '/', card: '/requests' },
  settled: { title: 'History', list: '/history', card: '/history' },
} as const;

const MINUTE = 60_000;

function Desk({ status, openId }: OpenProps & { readonly status: ListStatus }) {
  const use = useFilters();
  const { filters, isFiltered } = use;
  const minute = Math.floor(useNow() / MINUTE) * MINUTE;
  const query = useMemo(() => queryFor(status, filters, minute), [status, filters, minute]);
  const list = useGrowingList<ApiRequest>('requests', 'requests', query);
  const loaded = list.items ?? [];
  const { groups, items, toggleGroup } = useGroups(status, loaded);
  const selection = useSelection(items);
  const [isReviewing, setReviewing] = useState(false);
  const showsTogether = isReviewing && selection.items.length > 0;
  const { title, list: listPath, card } = PLACES[status];
  const [, navigate] = useLocation();
  const search = useRef<HTMLInputElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useRef<RequestListHandle>(null);
  const address = addressOf(filters);
  const hrefOf = (id: string) => `${card}/${encodeURIComponent(id)}${address}`;
  const close = () => navigate(`${listPath}${address}`);
  // Nothing to list, to filter or to open: the page says so, in one piece.
  const isBare = list.items?.length === 0 && !isFiltered && openId === undefined && !showsTogether;
  const goTo = (id: string) => {
    navigate(hrefOf(id));
    rows.current?.focus(id);
  };
  const { step, advance } = useStep(items, openId, goTo, list.loadMore);
  useFirstOpened(items, openId, (id) => navigate(hrefOf(id), { replace: true }));

  function select(request: ApiRequest, isRange: boolean) {
    selection.toggle(request, isRange);
    // On a phone the table would hide the list that is being selected from.
    if (isWide()) setReviewing(true);
  }
  async function review({ items: known }: ListGroup) {
    const [first] = known;
    if (!first) return;
    setReviewing(true);
    selection.add(known.filter(canSelect));
    if (list.hasMore) selection.add(await wholeGroup(first, query).catch(() => []));
  }
  const onSelect = useStable(select);
  const onOpen = useStable(() => setReviewing(false));
  const opened = items.find(({ id }) => id === openId);

  useShortcuts({
    j: () => step(1),
    k: () => step(-1),
    a: () => press('approve'),
    e: () => press('edit'),
    r: () => press('reject'),
    n: () => press('note'),
    c: () => press('hold'),
    x: () => opened && canSelect(opened) && select(opened, false),
    X: () => void (opened && review(groups.find((group) => group.items.includes(opened)) ?? NO_GROUP)),
    '/': () => search.current?.focus(),
    Escape: () => {
      // Escape leaves the focused field first, then the card.
      const field = document.activeElement?.matches('input, textarea, select') ? document.activeElement : null;
      const leave = () => field instanceof HTMLElement && field.blur();
      if (field && !field.closest('form')) leave();
      else if (showsTogether) setReviewing(false);
      else if (press('back')) return;
      else if (field) leave();
      // Beside the list there is nowhere to go back to.
      else if (openId !== undefined && !isWide()) close();
    },
  });

  return (
    <div className="flex min-h-0 flex-1">
      <h1 className="sr-only">{title}</h1>
      <section
        aria-label={title}
        className={`min-h-0 w-full flex-col border-line md:flex ${isBare ? '' : 'md:w-80 md:shrink-0 md:border-r lg:w-100'} ${openId === undefined && !showsTogether ? 'flex' : 'hidden'}`}
      >
        <PageHeader title={title} isHeading={false}>
          <Summary count={loaded.length} hasMore={list.hasMore} status={status} />
        </PageHeader>
        {!isBare && <FilterBar status={status} use={use} search={search} items={loaded} />}
        <div ref={scroller} className="flex min-h-0 flex-1 flex-col overflow-y-auto" data-scroll="list">
          {list.error && list.items === undefined ? (
            <Trouble error={list.error} what="The list" onRetry={list.retry} />
          ) : list.items === undefined ? (
            <div className="p-4">
              <Loading what="the list" rows={8} />
            </div>
          ) : loaded.length === 0 ? (
            <NothingListed status={status} isFiltered={isFiltered} onClear={use.clear} />
          ) : (
            <>
              <RequestList
                handle={rows}
                scroller={scroller}
                groups={groups}
                hasMore={list.hasMore}
                openId={showsTogether ? undefined : openId}
                selection={selection}
                hrefOf={hrefOf}
                onSelect={onSelect}
                onOpen={onOpen}
                onToggle={toggleGroup}
                onReview={(group) => void review(group)}
              />
              <LoadMore list={list} className="m-3 shrink-0" />
            </>
          )}
        </div>
        {selection.items.length > 0 && !showsTogether && (
          <SelectionBar count={selection.items.length} onReview={() => setReviewing(true)} onClear={selection.clear} />
        )}
      </section>
      <section
        aria-label="Request"
        id="card"
        className={`min-h-0 min-w-0 flex-1 flex-col bg-canvas ${isBare ? '' : 'md:flex'} ${openId === undefined && !showsTogether ? 'hidden' : 'flex'}`}
      >
        {showsTogether && (
          <Together selection={selection} listed={loaded} hrefOf={hrefOf} onBack={() => setReviewing(false)} />
        )}
        {openId !== undefined && !showsTogether && (
          <RequestDetail
            key={openId}
            id={openId}
            onBack={close}
            onNext={() => step(1)}
            onDecided={() => status === 'pending' && advance()}
            onAskedAgain={(id) => navigate(hrefOf(id))}
          />
        )}
      </section>
    </div>
  );
}

const NO_GROUP: ListGroup = { key: '', items: [], isClosed: false };

type Groups = {
  readonly groups: readonly ListGroup[];
  /** The visible requests, in their order. */
  readonly items: readonly ApiRequest[];
  readonly toggleGroup: (key: string) => void;
};

/** Decided requests are in the order of their decisions, and are not grouped. */
function useGroups(status: ListStatus, loaded: readonly ApiRequest[]): Groups {
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
function useFirstOpened(items: readonly ApiRequest[], openId: string | undefined, open: (id: string) => void): void {
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
function useStep(
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

function Summary({
  count,
  hasMore,
  status,
}: {
  readonly count: number;
  readonly hasMore: boolean;
  readonly status: ListStatus;
}) {
  if (count === 0) return null;
  return (
    <p className="text-xs text-muted tabular-nums">
      {count}
      {hasMore && '+'} {status === 'pending' ? 'waiting' : 'decided'}
    </p>
  );
}

type NothingListedProps = { readonly status: ListStatus; readonly isFiltered: boolean; readonly onClear: () => void };

function NothingListed({ status, isFiltered, onClear }: NothingListedProps) {
  if (isFiltered)
    return (
      <Empty icon={status === 'pending' ? Inbox : History} title="No matches">
        <button type="button" className="button mt-2" onClick={onClear}>
          Clear filters
        </button>
      </Empty>
    );
  return status === 'pending' ? (
    <Empty icon={Inbox} title="You're all caught up">
      New requests appear here as soon as an agent asks.
      <div className="mt-4">
        <Link href="/chat" className="button">
          Start a chat with an agent
        </Link>
      </div>
    </Empty>
  ) : (
    <Empty icon={History} title="No decisions yet">
      Past decisions appear here, with who decided and when.
      <div className="mt-4">
        <Link href="/" className="button">
          Open the inbox
        </Link>
      </div>
    </Empty>
  );
}
