// Rules: what others would have done with past calls, which grants the past suggests, and the versions that were applied.
import { VisibleText } from '@countersign/react';
import type { Rules, Suggestion } from '@countersign/server/client';
import { useQuery } from '@tanstack/react-query';
import { ArrowLeft } from 'lucide-react';
import { Link } from 'wouter';
import { request } from '../api/request.ts';
import { Loading, Trouble } from '../frame/placeholders.tsx';
import { exactly } from '../live/time.tsx';
import { ReplayForm } from './replay-form.tsx';

export default function RulesPage() {
  const { data, error, refetch } = useQuery({
    queryKey: ['rules'],
    queryFn: ({ signal }) => request<Rules>('rules', { signal }),
  });
  return (
    <div className="flex min-h-0 flex-1 flex-col overflow-y-auto">
      <div className="flex min-h-13 shrink-0 items-center gap-2 border-b border-line px-4">
        <Link href="/grants" className="button-quiet">
          <ArrowLeft aria-hidden="true" className="size-5" />
          <span className="sr-only">Back to the grants</span>
        </Link>
        <h1 className="text-base font-semibold tracking-tight">Rules</h1>
      </div>
      {data ? (
        <div className="mx-auto flex w-full max-w-3xl flex-col gap-8 px-4 py-6 md:px-6">
          <ReplayForm current={data.current} />
          <Suggestions />
          <Versions versions={data.versions} />
        </div>
      ) : error ? (
        <Trouble error={error} what="The rules" onRetry={() => void refetch()} />
      ) : (
        <div className="p-4">
          <Loading what="the rules" rows={6} />
        </div>
      )}
    </div>
  );
}

/** Each is given as every grant is: with an approval, by the person who makes it. */
function Suggestions() {
  const { data } = useQuery({
    queryKey: ['rules', 'suggestions'],
    queryFn: ({ signal }) => request<{ readonly items: readonly Suggestion[] }>('rules/suggestions', { signal }),
  });
  return (
    <section aria-labelledby="suggestions">
      <h2 id="suggestions" className="font-semibold">
        Suggested grants
      </h2>
      {data?.items.length === 0 && (
        <p className="mt-1 text-muted">None: no group of five or more calls was always approved unchanged.</p>
      )}
      <ul className="mt-2 flex flex-col gap-3">
        {data?.items.map(({ tool, text, requestId, approvedBy }) => (
          <li key={text} className="panel p-4">
            <p>
              <VisibleText text={tool} className="font-mono" />: <VisibleText text={text} />.
            </p>
            <p className="mt-1 text-xs text-muted">
              To give it, choose “Allow the next ones too…” on the next request and take the suggestion.{' '}
              <Link href={`/requests/${encodeURIComponent(requestId)}`} className="underline underline-offset-2">
                View the last one
              </Link>
              {approvedBy !== null && (
                <>
                  , approved by <VisibleText text={approvedBy} />
                </>
              )}
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}

type Difference = Rules['versions'][number]['difference'];

function Versions({ versions }: Pick<Rules, 'versions'>) {
  return (
    <section aria-labelledby="versions">
      <h2 id="versions" className="font-semibold">
        Applied versions
      </h2>
      {versions.length === 0 && <p className="mt-1 text-muted">None yet. A server records one when it starts.</p>}
      <ol className="mt-2 flex flex-col gap-3">
        {versions.map(({ number, by, at, difference }) => (
          <li key={number} className="panel min-w-0 p-4">
            <p className="text-sm">
              Version {number} · <VisibleText text={by} /> · <time>{exactly(at)}</time>
            </p>
            <ul className="mt-2 flex flex-col gap-1 font-mono text-xs wrap-anywhere">
              {linesOf(difference).map(({ sign, text }) => (
                <li key={sign + text} className={sign === '+' ? 'text-approved' : sign === '−' ? 'text-rejected' : ''}>
                  {sign} <VisibleText text={text} />
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ol>
    </section>
  );
}

function linesOf({ added, removed, changed }: Difference): readonly { readonly sign: string; readonly text: string }[] {
  const lines = (sign: string, { rules, policies }: Difference['added']) => [
    ...rules.map((rule) => ({ sign, text: `rule ${JSON.stringify(rule)}` })),
    ...Object.entries(policies).map(([name, policy]) => ({ sign, text: `policy ${name}: ${JSON.stringify(policy)}` })),
  ];
  const changes = Object.entries(changed).map(([name, { before, after }]) => ({
    sign: '~',
    text: `policy ${name}: ${JSON.stringify(before)} → ${JSON.stringify(after)}`,
  }));
  return [...lines('+', added), ...lines('−', removed), ...changes];
}
