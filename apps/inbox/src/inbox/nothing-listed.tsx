// What a list says when it has nothing to show: why, and where to go.
import { useQuery } from '@tanstack/react-query';
import { History, Inbox } from 'lucide-react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { GrowingList } from '../api/growing-list.ts';
import { meQuery } from '../api/queries.ts';
import type { ApiRequest } from '../api/wire.ts';
import type { ListStatus } from '../filters/filters.ts';
import { Empty } from '../frame/placeholders.tsx';
import { LoadMore } from '../primitives/load-more.tsx';

type NothingListedProps = {
  readonly status: ListStatus;
  readonly view: string;
  readonly isFiltered: boolean;
  /** How many the other list of pending requests has, with the same filters. */
  readonly inOther: number;
  /** The list, if the server has not looked at all requests yet. */
  readonly search: GrowingList<ApiRequest> | undefined;
  readonly onClear: () => void;
  readonly onView: (view: string) => void;
};

export function NothingListed({ status, view, isFiltered, inOther, search, onClear, onView }: NothingListedProps) {
  const icon = status === 'pending' ? Inbox : History;
  if (search)
    return (
      <Empty icon={icon} title="No matches so far">
        Older requests were not searched yet.
        <div className="mt-4">
          <LoadMore list={search} className="" />
        </div>
      </Empty>
    );
  const other = view === 'others' ? 'for you' : 'waiting for others';
  const look = inOther > 0 && (
    <button type="button" className="button" onClick={() => onView(view === 'others' ? '' : 'others')}>
      Show {inOther.toLocaleString('en')} {other}
    </button>
  );
  if (isFiltered)
    return (
      <Empty icon={icon} title="No matches">
        <div className="mt-2 flex flex-wrap justify-center gap-2">
          {look}
          <button type="button" className="button" onClick={onClear}>
            Clear filters
          </button>
        </div>
      </Empty>
    );
  if (status === 'settled') return <NoHistory />;
  return view === 'others' ? (
    <Empty icon={icon} title="Nothing waits for others">
      Requests that you have voted on, and those of your runs that others decide, are listed here.
      <div className="mt-4">{look}</div>
    </Empty>
  ) : (
    <NothingForYou look={look} />
  );
}

function NothingForYou({ look }: { readonly look: ReactNode }) {
  const { data: me } = useQuery(meQuery);
  const mayDecide = me?.scopes.includes('decide') ?? true;
  return (
    <Empty icon={Inbox} title={mayDecide ? "You're all caught up" : 'You can read, but not decide'}>
      {mayDecide
        ? 'New requests appear here as soon as an agent asks you.'
        : 'No request can wait for you: your sign-in has no right to decide.'}
      <div className="mt-4 flex flex-wrap justify-center gap-2">
        {look}
        {me?.scopes.includes('start') && (
          <Link href="/chat" className="button">
            Start a chat with an agent
          </Link>
        )}
      </div>
    </Empty>
  );
}

function NoHistory() {
  const { data: me } = useQuery(meQuery);
  return (
    <Empty icon={History} title={me?.reach === 'own' ? 'No decisions that you can see' : 'No decisions yet'}>
      {me?.reach === 'own'
        ? 'Decided requests of your runs, and those that you could decide, appear here.'
        : 'Past decisions appear here, with who decided and when.'}
      <div className="mt-4">
        <Link href="/" className="button">
          Open the inbox
        </Link>
      </div>
    </Empty>
  );
}
