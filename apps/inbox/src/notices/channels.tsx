// The channels: pending notices, and failed deliveries with a button to retry them.
import { VisibleText } from '@countersign/react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from 'wouter';
import { request } from '../api/request.ts';
import { Loading, Trouble } from '../frame/placeholders.tsx';
import { Ago } from '../live/time.tsx';
import { showToast } from '../primitives/toasts.tsx';
import { channelsQuery } from './queries.ts';
import { type ChannelStatus, type DeadLetter, TYPES } from './wire.ts';

const REFETCHED_EVERY_MS = 10_000;
const DEAD = ['notices', 'dead'];

export function Channels() {
  const { data, error, refetch } = useQuery(channelsQuery);
  return (
    <section aria-label="Channels" className="panel flex flex-col gap-3 p-4">
      <h2 className="font-medium">Channels</h2>
      {data ? (
        data.items.length === 0 ? (
          <p className="text-muted">
            No channel is set up. Mail, Slack and webhooks are set up in <code>countersign.config.ts</code>.
          </p>
        ) : (
          <ul className="flex flex-col">
            {data.items.map((channel) => (
              <ChannelRow key={channel.name} channel={channel} />
            ))}
          </ul>
        )
      ) : error ? (
        <Trouble error={error} what="The channels" onRetry={() => void refetch()} />
      ) : (
        <Loading what="the channels" rows={2} />
      )}
      {data?.items.some(({ dead }) => dead > 0) && <DeadLetters />}
    </section>
  );
}

function ChannelRow({
  channel: { name, waiting, dead, lastDeliveredAt, lastError },
}: {
  readonly channel: ChannelStatus;
}) {
  return (
    <li className="flex flex-wrap items-baseline gap-x-4 gap-y-1 border-b border-line py-2 last:border-b-0">
      <span className="min-w-0 flex-1 basis-32 font-medium">
        <VisibleText text={name} />
      </span>
      <span className="text-xs text-muted tabular-nums">{countOf(waiting)} waiting</span>
      <span className={`text-xs tabular-nums ${dead > 0 ? 'text-danger' : 'text-muted'}`}>{countOf(dead)} failed</span>
      <span className="text-xs text-muted">
        {lastDeliveredAt === null ? (
          'Nothing delivered lately'
        ) : (
          <>
            Delivered <Ago at={lastDeliveredAt} />
          </>
        )}
      </span>
      {lastError !== null && (
        <p className="w-full text-xs text-danger wrap-anywhere">
          <VisibleText text={lastError} />
        </p>
      )}
    </li>
  );
}

/** The server counts so far. */
const MOST_COUNTED = 1_000;
const countOf = (count: number): string => (count >= MOST_COUNTED ? '1,000 or more' : String(count));

function DeadLetters() {
  const client = useQueryClient();
  const { data } = useQuery({
    queryKey: DEAD,
    queryFn: ({ signal }) => request<{ readonly items: readonly DeadLetter[] }>('notices/dead', { signal }),
    refetchInterval: REFETCHED_EVERY_MS,
  });
  const retry = useMutation({
    mutationFn: ({ channel, id }: DeadLetter) => request('notices/retry', { method: 'POST', body: { channel, id } }),
    onSuccess: () => showToast('done', 'It is tried again now.'),
    onError: ({ message }) => showToast('trouble', message),
    onSettled: () =>
      Promise.all([channelsQuery.queryKey, DEAD].map((queryKey) => client.invalidateQueries({ queryKey }))),
  });
  if (!data || data.items.length === 0) return null;
  return (
    <div>
      <h3 className="mb-1 text-sm font-medium">Not delivered</h3>
      <ul className="flex flex-col">
        {data.items.map((letter) => (
          <li
            key={`${letter.channel}/${letter.id}`}
            className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line py-2 last:border-b-0"
          >
            <span className="min-w-0 flex-1 basis-64 text-sm wrap-anywhere">
              <Link href={`/requests/${encodeURIComponent(letter.requestId)}`} className="underline underline-offset-2">
                {letter.types.map((type) => TYPES[type] ?? type).join(', ')}
              </Link>{' '}
              by <VisibleText text={letter.channel} />
              {letter.person !== null && (
                <>
                  {' '}
                  to <VisibleText text={letter.person} />
                </>
              )}
              <span className="block text-xs text-danger">
                <VisibleText text={letter.error} />
              </span>
              <span className="block text-xs text-muted">
                Given up after {letter.attempts} {letter.attempts === 1 ? 'attempt' : 'attempts'},{' '}
                <Ago at={letter.at} />
              </span>
            </span>
            <button type="button" className="button" onClick={() => !retry.isPending && retry.mutate(letter)}>
              Try again
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
