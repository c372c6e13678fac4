// Streams the events of a run as they happen. All streams of one run share each read.
import type { Runs } from 'countersign';
import type { StoredEvent } from 'countersign/store';
import type { ServerEvent } from './event-stream.ts';
import type { Hub } from './hub.ts';
import { unlessAborted } from './unless-aborted.ts';

const ENDED: ReadonlySet<string> = new Set(['done', 'failed', 'cancelled']);

/** A client that does not read holds at most so many events of a long run in memory. */
const PAGE = 100;

type Tail = { readonly events: readonly StoredEvent[]; readonly hasMore: boolean; readonly ended: boolean };

/** Returns a function that yields every event after `after` as it happens, and `end` when the run has ended. */
export function createRunEvents(
  runs: Runs,
  hub: Hub,
): (runId: string, after: number, signal: AbortSignal) => AsyncGenerator<ServerEvent> {
  /** Reads in progress, by run, position and the hub's number. */
  const reading = new Map<string, Promise<Tail | undefined>>();

  function tailOf(runId: string, from: number): Promise<Tail | undefined> {
    const key = `${hub.revision}:${from}:${runId}`;
    const known = reading.get(key);
    if (known !== undefined) return known;
    const tail = readTail(runs, runId, from).finally(() => reading.delete(key));
    reading.set(key, tail);
    return tail;
  }

  return async function* (runId, after, signal) {
    const until = AbortSignal.any([signal, hub.closed]);
    const nextChanges = hub.follow(until);
    let seen = after;
    while (!until.aborted) {
      const tail = await unlessAborted(tailOf(runId, seen), until);
      if (!tail) return;
      for (const event of tail.events) {
        seen += 1;
        yield { event: 'event', id: seen, data: { ...event, seq: seen } };
      }
      if (tail.hasMore) continue;
      if (tail.ended) {
        yield { event: 'end', data: {} };
        return;
      }
      let changed = await nextChanges();
      while (changed !== undefined && changed !== 'all' && !changed.has(runId)) changed = await nextChanges();
    }
  };
}

async function readTail({ store }: Runs, runId: string, from: number): Promise<Tail | undefined> {
  const loaded = await store.read(runId, { after: from, limit: PAGE });
  if (!loaded) return undefined;
  const { run, events } = loaded;
  const hasMore = events.length > 0 && from + events.length < run.version;
  return { events, hasMore, ended: ENDED.has(run.status) };
}
