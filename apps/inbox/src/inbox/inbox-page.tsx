// The inbox and the history: a list, and the request that is open beside it, or in its place on a phone.
import { Download } from 'lucide-react';
import { useMemo, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { type GrowingList, useGrowingList } from '../api/growing-list.ts';
import { apiUrl, queryOf } from '../api/request.ts';
import type { ApiRequest } from '../api/wire.ts';
import { FilterBar } from '../filters/filter-bar.tsx';
import { addressOf, type ListStatus, type Query, queryFor, useFilters } from '../filters/filters.ts';
import { useRequestCount } from '../filters/request-count.ts';
import { TurnTabs } from '../filters/turn-tabs.tsx';
import { PageHeader } from '../frame/page-header.tsx';
import { Loading, Trouble } from '../frame/placeholders.tsx';
import { useShortcuts } from '../frame/shortcuts.ts';
import { useStable } from '../frame/stable.ts';
import { useNow } from '../live/now.ts';
import { type ListGroup, wholeGroup } from '../many/groups.ts';
import { SelectionBar } from '../many/selection-bar.tsx';
import { Together } from '../many/together.tsx';
import { isWide } from '../many/use-is-wide.ts';
import { canSelect, useSelection } from '../many/use-selection.ts';
import { LoadMore } from '../primitives/load-more.tsx';
import { press } from './card-keys.ts';
import { NothingListed } from './nothing-listed.tsx';
import { RequestDetail } from './request-detail.tsx';
import { RequestList, type RequestListHandle } from './request-list.tsx';
import { useFirstOpened, useGroups, useStep } from './use-steps.ts';

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
  const counts = useCounts(status, query, list);
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
  const isBare =
    list.items?.length === 0 &&
    !list.hasMore &&
    !isFiltered &&
    filters.view === '' &&
    (counts.other?.count ?? 0) === 0 &&
    openId === undefined &&
    !showsTogether;
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
      else if (press('back')) return;
      else if (showsTogether) setReviewing(false);
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
          {status === 'settled' && loaded.length > 0 && (
            <>
              <p className="text-xs text-muted tabular-nums">
                {list.hasMore ? `${loaded.length} shown` : countsText(loaded)}
              </p>
              <Export query={query} />
            </>
          )}
        </PageHeader>
        {status === 'pending' && !isBare && (
          <TurnTabs
            view={filters.view}
            mine={filters.view === 'others' ? counts.other : counts.own}
            others={filters.view === 'others' ? counts.own : counts.other}
            onChange={(view) => navigate(`${listPath}${addressOf({ ...filters, view })}`)}
          />
        )}
        {!isBare && <FilterBar status={status} use={use} search={search} items={loaded} />}
        <div ref={scroller} className="flex min-h-0 flex-1 flex-col overflow-y-auto" data-scroll="list">
          {list.error && list.items === undefined ? (
            <Trouble error={list.error} what="The list" onRetry={list.retry} />
          ) : list.items === undefined ? (
            <div className="p-4">
              <Loading what="the list" rows={8} />
            </div>
          ) : loaded.length === 0 ? (
            <NothingListed
              status={status}
              view={filters.view}
              isFiltered={isFiltered}
              inOther={counts.other?.count ?? 0}
              search={list.hasMore ? list : undefined}
              onClear={use.clear}
              onView={(view) => use.change({ view })}
            />
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

/** Nobody decided a call that ran unasked. */
function countsText(items: readonly ApiRequest[]): string {
  const granted = items.filter(({ grant }) => grant?.is === 'used').length;
  const ruled = items.filter(({ rule }) => rule).length;
  const observed = items.filter((item) => item.observed).length;
  const decided = items.length - granted - ruled - observed;
  const counts = [
    decided > 0 && `${decided} decided`,
    granted > 0 && `${granted} by a grant`,
    ruled > 0 && `${ruled} by a rule`,
    observed > 0 && `${observed} observed`,
  ];
  return counts.filter((count) => count !== false).join(', ');
}

const NO_GROUP: ListGroup = { key: '', items: [], isClosed: false };

/** How many requests this list has, and the other of the two lists of pending ones, with the same filters. */
function useCounts(status: ListStatus, query: Query, list: GrowingList<ApiRequest>) {
  const isPending = status === 'pending';
  const own = useRequestCount(query, isPending ? list : undefined, isPending);
  const other = useRequestCount({ ...query, for: query.for === 'others' ? 'me' : 'others' }, undefined, isPending);
  return { own, other };
}

/** All that the filters select, also what is not loaded. */
function Export({ query }: { readonly query: Query }) {
  return (
    <a className="button px-2" href={apiUrl(`requests.csv${queryOf(query)}`)} download="countersign-requests.csv">
      <Download aria-hidden="true" className="size-4" />
      <span className="max-lg:sr-only">Export CSV</span>
    </a>
  );
}
