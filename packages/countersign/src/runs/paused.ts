// Runs that this process has just brought to a pause, and all of which it has written: who decides in it need not read
// them, and the store compares. Nothing waits here; what is forgotten is read.
import { eventsText } from './chain.ts';
import { recordDigest } from './record-digest.ts';
import type { Append, RunRecord, StoredEvent } from './store.ts';

/** A run that waits, as it was last written. */
export type PausedRun = {
  readonly run: Pick<RunRecord, 'id' | 'agent' | 'startedBy' | 'version' | 'hash' | 'status' | 'outcome'>;
  /** For each append the JSON list of its events, on a line. A text: what others do to the events is no matter. */
  readonly lists: string;
};

export function pausedEvents({ lists }: PausedRun): readonly StoredEvent[] {
  return JSON.parse(`[${lists.replaceAll('\n', ',')}]`).flat();
}

export function pausedDigest({ run, lists }: PausedRun): string {
  return recordDigest(lists, { ...run, outcome: JSON.stringify(run.outcome) });
}

/** The longest runs, by their events, that are remembered. */
const LONGEST = 16_384;
/** How many. */
const MOST = 32;

/** What this process has written of a run, as long as that is all there is. */
export class Written {
  #lists: string | undefined;
  #last: Append | undefined;

  constructor({ create, paused }: { readonly create?: unknown; readonly paused?: PausedRun }) {
    this.#lists = create ? '' : paused?.lists;
  }

  add(append: Append): void {
    this.#last = append;
    if (this.#lists === undefined) return;
    const list = eventsText(append.events);
    const lists = this.#lists === '' ? list : `${this.#lists}\n${list}`;
    this.#lists = lists.length > LONGEST ? undefined : lists;
  }

  /** Others have written, too. */
  end(): void {
    this.#lists = undefined;
  }

  /** The run as it waits; undefined if it does not, is too long, or others have written in it. */
  paused({ id, agent, startedBy }: Pick<RunRecord, 'id' | 'agent' | 'startedBy'>): PausedRun | undefined {
    if (this.#lists === undefined || this.#last?.status !== 'waiting') return undefined;
    const { expectedVersion, events, hash, status, outcome } = this.#last;
    const run = { id, agent, startedBy, version: expectedVersion + events.length, hash, status, outcome };
    return { run, lists: this.#lists };
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
