// The stream of changed runs for one person.
import type { Access } from '../access.ts';
import type { Person } from '../identity/person.ts';
import type { ServerEvent } from './event-stream.ts';
import type { HoldWatch } from './hold-watch.ts';
import type { Hub } from './hub.ts';
import { unlessAborted } from './unless-aborted.ts';

/** A client that has not read so many changes is told to reload everything, so that its buffer is bounded. */
const MANY = 1_000;

/** Yields `{ runId }` for each changed run; null means that anything may have changed. */
export async function* changesFor(
  { hub, holds, access }: { readonly hub: Hub; readonly holds: HoldWatch; readonly access: Access },
  person: Person,
  signal: AbortSignal,
): AsyncGenerator<ServerEvent> {
  const until = AbortSignal.any([signal, hub.closed]);
  // A set holds each run once, however often it changes before a slow client reads it.
  let waiting = new Set<string>() as Set<string> | 'all';
  let wake: (() => void) | undefined;
  const stop = hub.listen((changed) => {
    if (changed === 'all') waiting = 'all';
    else if (waiting !== 'all') {
      for (const runId of changed) waiting.add(runId);
      if (waiting.size > MANY) waiting = 'all';
    }
    wake?.();
  });
  const stopHolds = holds.follow();
  const notice = () => wake?.();
  until.addEventListener('abort', notice);
  try {
    while (!until.aborted) {
      const taken = waiting;
      waiting = new Set();
      if (taken === 'all') yield { event: 'change', data: { runId: null } };
      else
        for (const runId of taken) {
          const run = await unlessAborted(access.reference(runId, hub.news), until);
          if (run && (await unlessAborted(access.sees(run, person, hub.news), until)))
            yield { event: 'change', data: { runId } };
        }
      if (!until.aborted && isEmpty(waiting))
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    stop();
    stopHolds();
    until.removeEventListener('abort', notice);
  }
}

const isEmpty = (waiting: ReadonlySet<string> | 'all'): boolean => waiting !== 'all' && waiting.size === 0;
