// The recorded events of a run. Each opens to its full JSON.
import { ValueView, VisibleText } from '@countersign/react';
import { useState } from 'react';
import type { RunEvent } from '../api/wire.ts';
import { Moment } from '../live/time.tsx';

const AT_ONCE = 200;

export function EventList({ events }: { readonly events: readonly RunEvent[] }) {
  const [shown, setShown] = useState(AT_ONCE);
  return (
    <>
      <ol className="panel divide-y divide-line overflow-hidden">
        {events.slice(0, shown).map((event) => (
          <li key={event.seq} className="row [contain-intrinsic-size:auto_36px]">
            <EventView event={event} />
          </li>
        ))}
      </ol>
      {events.length > shown && (
        <button type="button" className="button mt-3" onClick={() => setShown(shown + AT_ONCE)}>
          Show more
        </button>
      )}
    </>
  );
}

/** The JSON is made when it is looked at: a run may have thousands of events. */
function EventView({ event }: { readonly event: RunEvent }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="disclosure" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary className="gap-3! rounded-none! px-3 py-2 font-normal! -outline-offset-2 hover:bg-sunken">
        <span className="w-8 shrink-0 text-right font-mono text-xs text-muted tabular-nums">{event.seq}</span>
        <span className="font-mono text-xs">
          <VisibleText text={event.type} />
        </span>
        {event.at !== undefined && (
          <span className="ml-auto text-xs text-muted tabular-nums">
            <Moment at={event.at} />
          </span>
        )}
      </summary>
      {isOpen && <ValueView value={event} asJson className="m-3 mt-0" />}
    </details>
  );
}
