// Runs that this process has just brought to a pause, and all of which it has written: who decides in it need not read
// them, and the store compares. Nothing waits here; what is forgotten is read.
import { eventsText } from './chain.ts';
import { recordDigest } from './record-digest.ts';
import type { Append, RunRecord, StoredEvent } from './store.ts';

/** A run that waits, as it was last written. */
export type PausedRun = {
  readonly run: Pick<RunRecord, 'id' | 'agent' | 'startedBy' | 'version' | 'hash' | 'status' | 'outcome'>;
  /** The JSON of each of its events, with commas between them. A text: what others do to the events is no matter. */
  readonly events: string;
};

export function pausedEvents({ events }: PausedRun): readonly StoredEvent[] {
  return JSON.parse(`[${events}]`);
}

export function pausedDigest({ run, events }: PausedRun): string {
  return recordDigest(events, { ...run, outcome: JSON.stringify(run.outcome) });
}

/** The longest runs, by their events, that are remembered. */
const LONGEST = 16_384;
/** How many. */
const MOST = 32;

/** What this process has written of a run, as long as that is all there is. */
export class Written {
  #events: string | undefined;
  #last: Append | undefined;

  constructor({ create, paused }: { readonly create?: unknown; readonly paused?: PausedRun }) {
    this.#events = create ? '' : paused?.events;
  }

  add(append: Append): void {
    this.#last = append;
    if (this.#events === undefined) return;
    const more = eventsText(append.events).slice(1, -1);
    const events = this.#events === '' ? more : `${this.#events},${more}`;
    this.#events = events.length > LONGEST ? undefined : events;
  }

  /** Others have written, too. */
  end(): void {
    this.#events = undefined;
  }

  /** The run as it waits; undefined if it does not, is too long, or others have written in it. */
  paused({ id, agent, startedBy }: Pick<RunRecord, 'id' | 'agent' | 'startedBy'>): PausedRun | undefined {
    if (this.#events === undefined || this.#last?.status !== 'waiting') return undefined;
    const { expectedVersion, events, hash, status, outcome } = this.#last;
    const run = { id, agent, startedBy, version: expectedVersion + events.length, hash, status, outcome };
    return { run, events: this.#events };
  }
}

export class PausedRuns {
  readonly #runs = new Map<string, PausedRun>();

  remember(paused: PausedRun): void {
    const { id } = paused.run;
    this.#runs.delete(id);
    this.#runs.set(id, paused);
    const [oldest] = this.#runs.size > MOST ? this.#runs.keys() : [];
    if (oldest !== undefined) this.#runs.delete(oldest);
  }

  /** Given once: whoever decides next reads what came of it. */
  take(runId: string): PausedRun | undefined {
    const paused = this.#runs.get(runId);
    this.#runs.delete(runId);
    return paused;
  }
}
