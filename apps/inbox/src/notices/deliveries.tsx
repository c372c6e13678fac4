// What the channels delivered in the last seven days, newest first.
import { VisibleText } from '@countersign/react';
import { Link } from 'wouter';
import { useGrowingList } from '../api/growing-list.ts';
import { Loading, Trouble } from '../frame/placeholders.tsx';
import { Ago } from '../live/time.tsx';
import { LoadMore } from '../primitives/load-more.tsx';
import { type Delivery, TYPES } from './wire.ts';

const OUTCOMES: Readonly<Record<Delivery['outcome'], { readonly text: string; readonly isBad?: true }>> = {
  delivered: { text: 'Delivered' },
  failed: { text: 'Failed, tried again later', isBad: true },
  'given-up': { text: 'Failed', isBad: true },
  refused: { text: 'Not sent: they cannot read the request' },
  off: { text: 'Not sent: they turned it off' },
  unreachable: { text: 'Not sent: they have no address here' },
};

export function Deliveries() {
  const list = useGrowingList<Delivery>('notices', 'notices/deliveries', {});
  const { items } = list;
  return (
    <section aria-label="Deliveries" className="panel flex flex-col gap-3 p-4">
      <h2 className="font-medium">Deliveries of the last seven days</h2>
      {list.error && !items ? (
        <Trouble error={list.error} what="The deliveries" onRetry={list.retry} />
      ) : !items ? (
        <Loading what="the deliveries" rows={4} />
      ) : items.length === 0 ? (
        <p className="text-muted">Nothing was delivered.</p>
      ) : (
        <ul className="flex flex-col">
          {items.map((delivery) => (
            <DeliveryRow key={delivery.id} delivery={delivery} />
          ))}
        </ul>
      )}
      <LoadMore list={list} className="self-center" />
    </section>
  );
}

function DeliveryRow({
  delivery: { channel, type, requestId, person, outcome, error, at },
}: {
  readonly delivery: Delivery;
}) {
  const { text, isBad } = OUTCOMES[outcome];
  return (
    <li className="flex flex-wrap items-baseline gap-x-4 gap-y-1 border-b border-line py-2 text-sm last:border-b-0">
      <span className="min-w-0 flex-1 basis-48 wrap-anywhere">
        <Link href={`/requests/${encodeURIComponent(requestId)}`} className="underline underline-offset-2">
          {type === null ? 'Notice' : (TYPES[type] ?? type)}
        </Link>{' '}
        by <VisibleText text={channel} />
        {person !== null && (
          <>
            {' '}
            to <VisibleText text={person} />
          </>
        )}
      </span>
      <span className={`text-xs ${isBad ? 'text-danger' : 'text-muted'}`}>{text}</span>
      <span className="text-xs text-muted">
        <Ago at={at} />
      </span>
      {error !== null && (
        <p className="w-full text-xs text-danger wrap-anywhere">
          <VisibleText text={error} />
        </p>
      )}
    </li>
  );
}
