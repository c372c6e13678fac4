// The form that tries other rules on past calls, and what would change.
import { inWords, VisibleText } from '@countersign/react';
import type { Replayed, Rules } from '@countersign/server/client';
import { useMutation } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { Link } from 'wouter';
import { request } from '../api/request.ts';
import { Disclosure } from '../frame/disclosure.tsx';
import { Ago } from '../live/time.tsx';

type Calls = Replayed['changes']['runs'];

const CHANGES: readonly (readonly [keyof Replayed['changes'], string])[] = [
  ['runs', 'would newly run'],
  ['asks', 'would newly ask'],
  ['second', 'would need more people'],
  ['others', 'would ask other people'],
  ['denied', 'would newly be denied'],
  ['unknown', 'cannot be replayed'],
];

export function ReplayForm({ current }: { readonly current: Rules['current'] }) {
  const id = useId();
  const [text, setText] = useState(() => JSON.stringify(current, null, 2));
  const [days, setDays] = useState(90);
  const { mutate, data, error, isPending } = useMutation({
    mutationFn: () => request<Replayed>('rules/replay', { method: 'POST', body: { ...JSON.parse(text), days } }),
  });
  return (
    <section aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`} className="font-semibold">
        Try other rules
      </h2>
      <p className="mt-1 text-muted">
        Replays past calls under these rules and policies. Nothing changes: rules are deployed with your program.
      </p>
      <form
        className="mt-3 flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          mutate();
        }}
      >
        <label htmlFor={id} className="sr-only">
          Rules and policies, as JSON
        </label>
        <textarea
          id={id}
          className="field min-h-48 py-2 font-mono text-xs"
          spellCheck={false}
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
        <div className="flex flex-wrap items-center gap-3">
          <button type="submit" className="button button-primary" disabled={isPending}>
            {isPending ? 'Replaying…' : 'Replay'}
          </button>
          <label className="flex items-center gap-2 text-sm">
            Last
            <input
              type="number"
              min={1}
              max={3660}
              className="field w-20"
              value={days}
              onChange={({ target }) => setDays(target.valueAsNumber)}
            />
            days
          </label>
        </div>
      </form>
      <div aria-live="polite" className="mt-4">
        {error && (
          <p className="text-rejected">{error instanceof SyntaxError ? `Not JSON: ${error.message}` : error.message}</p>
        )}
        {data && !error && <Result replayed={data} />}
      </div>
    </section>
  );
}

function Result({ replayed: { runs, calls, same, changes, unread } }: { readonly replayed: Replayed }) {
  const found = CHANGES.filter(([change]) => changes[change].count > 0);
  return (
    <div className="flex flex-col gap-2">
      <p>
        {calls} calls of {runs} runs; nothing changes for {same}.{unread > 0 && ` ${unread} runs could not be read.`}
      </p>
      {found.map(([change, words]) => (
        <Disclosure key={change} title={`${changes[change].count} ${words}`} aside={decidedText(changes[change])}>
          <CallList calls={changes[change]} />
        </Disclosure>
      ))}
    </div>
  );
}

/** How people had decided them. */
function decidedText({ approved, edited, rejected }: Calls): string | undefined {
  const parts = [
    approved > 0 && `${approved} approved`,
    edited > 0 && `${edited} edited`,
    rejected > 0 && `${rejected} rejected`,
  ].filter((part) => part !== false);
  return parts.length === 0 ? undefined : parts.join(', ');
}

function CallList({ calls: { count, calls } }: { readonly calls: Calls }) {
  return (
    <ul className="flex flex-col">
      {calls.toReversed().map(({ id, runId, tool, title, at, decided, why }) => (
        <li key={`${id} ${at} ${title}`} className="border-b border-line py-2 last:border-b-0">
          <Link
            href={id === runId ? `/runs/${encodeURIComponent(runId)}` : `/requests/${encodeURIComponent(id)}`}
            className="flex flex-wrap items-baseline justify-between gap-x-3 hover:underline max-md:min-h-11"
          >
            <VisibleText text={title ?? inWords(tool)} />
            <span className="text-xs text-muted">
              {decided !== 'other' && `${decided} · `}
              <Ago at={at} />
            </span>
          </Link>
          {why !== undefined && <p className="text-xs text-muted">{why}</p>}
        </li>
      ))}
      {count > calls.length && <li className="py-2 text-xs text-muted">The newest {calls.length} are shown.</li>}
    </ul>
  );
}
