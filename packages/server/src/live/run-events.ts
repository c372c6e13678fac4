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

export class RunEvents {
  readonly #runs: Runs;
  readonly #hub: Hub;
  /** Reads in progress, by run, position and the hub's number. */
  readonly #reading = new Map<string, Promise<Tail | undefined>>();

  constructor(runs: Runs, hub: Hub) {
    this.#runs = runs;
    this.#hub = hub;
  }

  /** Yields every event after `after` as it happens, and `end` when the run has ended. */
  async *follow(runId: string, after: number, signal: AbortSignal): AsyncGenerator<ServerEvent> {
    const until = AbortSignal.any([signal, this.#hub.closed]);
    const nextChanges = this.#hub.follow(until);
    let seen = after;
    while (!until.aborted) {
      const tail = await unlessAborted(this.#tail(runId, seen), until);
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
  }

  #tail(runId: string, from: number): Promise<Tail | undefined> {
    const key = `${this.#hub.revision}:${from}:${runId}`;
    const known = this.#reading.get(key);
    if (known !== undefined) return known;
    const reading = this.#runs.store
      .read(runId, { after: from, limit: PAGE })
      .then((loaded) => {
        if (!loaded) return undefined;
        const { run, events } = loaded;
        return {
          events,
          hasMore: events.length > 0 && from + events.length < run.version,
          ended: ENDED.has(run.status),
        };
      })
      .finally(() => this.#reading.delete(key));
    this.#reading.set(key, reading);
    return reading;
  }
}
