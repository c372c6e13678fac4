// The grants: the calls that run without a request, the remaining uses and budget, and how to end them.
import { inWords, VisibleText } from '@countersign/react';
import { useQuery } from '@tanstack/react-query';
import { FastForward } from 'lucide-react';
import { Link, useSearchParams } from 'wouter';
import { useGrowingList } from '../api/growing-list.ts';
import { meQuery } from '../api/queries.ts';
import { PageHeader } from '../frame/page-header.tsx';
import { Empty, Loading, Trouble } from '../frame/placeholders.tsx';
import { Ago } from '../live/time.tsx';
import { ChoiceMenu } from '../primitives/choice-menu.tsx';
import { LoadMore } from '../primitives/load-more.tsx';
import { GrantMark, STATUSES } from './grant-status.tsx';
import { type Grant, inputText } from './wire.ts';

export default function GrantsPage() {
  const [params, setParams] = useSearchParams();
  const status = params.get('status') ?? '';
  const list = useGrowingList<Grant>('grants', 'grants', status === '' ? {} : { status });
  const found = list.items;
  return (
    <>
      <PageHeader title="Grants">
        <RulesLink />
        <ChoiceMenu
          label="Status"
          value={status}
          choices={[{ value: '', label: 'Any status' }, ...STATUSES]}
          onChange={(value) => setParams(value === '' ? {} : { status: value }, { replace: true })}
          isActive={status !== ''}
          className="filter-chip"
        />
      </PageHeader>
      <div className="flex min-h-0 flex-1 flex-col overflow-y-auto">
        {list.error && !found ? (
          <Trouble error={list.error} what="The grants" onRetry={list.retry} />
        ) : !found ? (
          <div className="p-4">
            <Loading what="the grants" rows={6} />
          </div>
        ) : found.length === 0 ? (
          <NoGrants isFiltered={status !== ''} />
        ) : (
          <ul>
            {found.map((grant) => (
              <GrantRow key={grant.id} grant={grant} />
            ))}
          </ul>
        )}
        <LoadMore list={list} className="m-3 shrink-0 self-center" />
      </div>
    </>
  );
}

/** Rules are about the calls of everyone. */
function RulesLink() {
  const { data: me } = useQuery(meQuery);
  if (me?.reach !== 'all') return null;
  return (
    <Link href="/rules" className="button-quiet w-auto whitespace-nowrap px-2 text-sm">
      Rules<span className="max-sm:hidden">&nbsp;and suggestions</span>
    </Link>
  );
}

/** Says what the reader could see here, and what they may do. */
function NoGrants({ isFiltered }: { readonly isFiltered: boolean }) {
  const { data: me } = useQuery(meQuery);
  if (isFiltered) return <Empty icon={FastForward} title="No matches" />;
  return (
    <Empty icon={FastForward} title={me?.reach === 'own' ? 'No grants that you can see' : 'No grants yet'}>
      {me?.reach === 'own' && 'You see grants that you gave, and those of requests that you can see. '}
      {me?.scopes.includes('decide')
        ? 'Choose “Allow the next ones too…” on a request. Later calls within your limits then run without one.'
        : 'Grants are given with an approval, and your sign-in has no right to decide.'}
    </Empty>
  );
}

function GrantRow({ grant }: { readonly grant: Grant }) {
  const { id, tool, uses, left, budget, givenBy, madeAt, status } = grant;
  return (
    <li className="border-b border-line">
      <Link
        href={`/grants/${encodeURIComponent(id)}`}
        className="flex flex-wrap items-baseline gap-x-4 gap-y-1 px-4 py-3 hover:bg-sunken"
      >
        <span className="min-w-0 flex-1 basis-64">
          <span className="block truncate font-medium">
            <VisibleText text={inWords(tool)} />
          </span>
          <span className="block truncate text-xs text-muted">
            <VisibleText text={inputText(grant)} />
          </span>
        </span>
        <GrantMark status={status} />
        <span className="text-xs text-muted tabular-nums">
          {left.uses} of {uses} calls left
          {budget && ` · ${left.amount} of ${budget.total}`}
        </span>
        <span className="text-xs text-muted">
          <VisibleText text={givenBy} /> · <Ago at={madeAt} />
        </span>
      </Link>
    </li>
  );
}
