// Which runs have changed, for one who follows all that they may see.
import type { Access } from '../access.ts';
import type { Person } from '../identity/person.ts';
import type { ServerEvent } from './event-stream.ts';
import type { ClaimWatch } from './hold-watch.ts';
import type { Hub } from './hub.ts';
import { unlessAborted } from './unless-aborted.ts';

/** Beyond so many that a client has not read yet, it looks at everything again: what is kept for it has an end. */
const MANY = 1_000;

/** `{ runId }` for each run that has changed; null: look at everything again. */
export async function* changesFor(
  { hub, claims, access }: { readonly hub: Hub; readonly claims: ClaimWatch; readonly access: Access },
  person: Person,
  signal: AbortSignal,
): AsyncGenerator<ServerEvent> {
  const until = AbortSignal.any([signal, hub.closed]);
  // What a slow client has not read yet is kept as a set: each run once, however often it has changed.
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
  const stopClaims = claims.follow();
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
    stopClaims();
    until.removeEventListener('abort', notice);
  }
}

const isEmpty = (waiting: ReadonlySet<string> | 'all'): boolean => waiting !== 'all' && waiting.size === 0;
