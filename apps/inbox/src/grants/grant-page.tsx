// One grant: its limits, the remaining uses and budget, the calls that used it, and the button that ends it.
import { inWords, VisibleText } from '@countersign/react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { ArrowLeft } from 'lucide-react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { request } from '../api/request.ts';
import { LoadingCard, Trouble } from '../frame/placeholders.tsx';
import { Ago, exactly } from '../live/time.tsx';
import { showToast } from '../primitives/toasts.tsx';
import { GrantMark } from './grant-status.tsx';
import { conditionText, type GrantInDetail, inputText } from './wire.ts';

const pathOf = (id: string) => `grants/${encodeURIComponent(id)}`;

export default function GrantPage({ id }: { readonly id: string }) {
  const queryKey = ['grants', 'one', id];
  const { data, error, refetch } = useQuery({
    queryKey,
    queryFn: ({ signal }) => request<GrantInDetail>(pathOf(id), { signal }),
  });
  return (
    <div className="flex min-h-0 flex-1 flex-col overflow-y-auto">
      <div className="flex min-h-13 shrink-0 items-center gap-2 border-b border-line px-4">
        <Link href="/grants" className="button-quiet">
          <ArrowLeft aria-hidden="true" className="size-5" />
          <span className="sr-only">Back to the grants</span>
        </Link>
      </div>
      {data ? (
        <Details grant={data} />
      ) : error ? (
        <Trouble error={error} what="This grant" onRetry={() => void refetch()} />
      ) : (
        <LoadingCard />
      )}
    </div>
  );
}

function Details({ grant }: { readonly grant: GrantInDetail }) {
  const { id, tool, where = [], schema, serves, uses, budget, left, expiresAt, givenBy, requestId, madeAt } = grant;
  const { people, agents } = serves ?? {};
  const { revoked, mayRevoke, status, calls } = grant;
  return (
    <div className="mx-auto flex w-full max-w-3xl flex-col gap-5 px-4 py-6 md:px-6">
      <div className="flex flex-wrap items-start justify-between gap-3">
        <div className="min-w-0">
          <h1 className="text-lg font-semibold tracking-tight">
            <VisibleText text={inWords(tool)} /> without a request
          </h1>
          <p className="mt-1 flex flex-wrap items-center gap-x-3 text-xs text-muted">
            <GrantMark status={status} />
            <VisibleText text={id} className="font-mono" />
          </p>
        </div>
        {mayRevoke && status === 'active' && <RevokeButton id={id} />}
      </div>
      <dl className="grid gap-x-6 gap-y-3 sm:grid-cols-2">
        <Fact name="Only calls with">
          {where.length === 0 && schema === undefined && inputText(grant)}
          {where.map((condition) => (
            <VisibleText
              key={JSON.stringify(condition)}
              text={conditionText(condition)}
              className="block break-words"
            />
          ))}
          {schema !== undefined && (
            <VisibleText text={JSON.stringify(schema)} className="block font-mono text-xs break-words" />
          )}
        </Fact>
        <Fact name="Serves">
          <VisibleText text={[...(people ?? ['everyone']), ...(agents ?? ['every agent'])].join(', ')} />
        </Fact>
        <Fact name="Calls left">{`${left.uses} of ${uses}`}</Fact>
        {budget && (
          <Fact name={`Left of ${[budget.field].flat().join('.')}`}>{`${left.amount} of ${budget.total}`}</Fact>
        )}
        <Fact name="Given by">
          <VisibleText text={givenBy} /> <Ago at={madeAt} className="text-muted" />,{' '}
          <Link href={`/history/${encodeURIComponent(requestId)}`} className="underline underline-offset-2">
            with this approval
          </Link>
        </Fact>
        <Fact name="Valid until">{exactly(expiresAt)}</Fact>
        {revoked && (
          <Fact name="Revoked">
            <VisibleText text={revoked.by ?? 'Someone'} /> <Ago at={revoked.at} className="text-muted" />
            {revoked.reason !== undefined && <VisibleText text={revoked.reason} className="block" />}
          </Fact>
        )}
      </dl>
      <Calls calls={calls} tool={tool} />
    </div>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-xs text-muted">{name}</dt>
      <dd className="mt-0.5">{children}</dd>
    </div>
  );
}

const USES = { reserved: 'Running, or outcome unknown', spent: 'Ran' } as const;

function Calls({ calls, tool }: Pick<GrantInDetail, 'calls' | 'tool'>) {
  if (calls.length === 0) return <p className="text-muted">No call has used it yet.</p>;
  return (
    <section>
      <h2 className="font-medium">Calls</h2>
      <ul className="mt-2 divide-y divide-line border-y border-line">
        {calls.toReversed().map(({ key, requestId, title, at, amount, status }) => (
          <li key={key} className="flex flex-wrap items-center gap-x-4 py-2 max-md:min-h-11">
            <Link
              href={`/history/${encodeURIComponent(requestId)}`}
              className="min-w-0 flex-1 truncate underline underline-offset-2"
            >
              <VisibleText text={title ?? inWords(tool)} />
            </Link>
            {amount !== undefined && <span className="tabular-nums">{amount}</span>}
            <span className="text-xs text-muted">{USES[status]}</span>
            <Ago at={at} className="text-xs text-muted" />
          </li>
        ))}
      </ul>
    </section>
  );
}

function RevokeButton({ id }: { readonly id: string }) {
  const client = useQueryClient();
  const revoke = useMutation({
    mutationFn: () => request(`${pathOf(id)}/revoke`, { method: 'POST', body: {} }),
    onSuccess: () => showToast('rejected', 'Revoked. The next call is asked about again.'),
    onError: (error) => showToast('trouble', error.message),
    onSettled: () => client.invalidateQueries({ queryKey: ['grants'] }),
  });
  return (
    <button type="button" className="button" disabled={revoke.isPending} onClick={() => revoke.mutate()}>
      Revoke
    </button>
  );
}
