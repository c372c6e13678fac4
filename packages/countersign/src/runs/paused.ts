// Runs that this process has just brought to a pause, and all of which it has written: who decides in it need not read
// them, and the store compares. Nothing waits here; what is forgotten is read.
import type { State } from '../core/state.ts';
import { eventsText } from './chain.ts';
import { recordDigest } from './record-digest.ts';
import type { Append, NewRun, RunRecord, Store } from './store.ts';
import { stateOf } from './view.ts';

/** A run that waits, as it was last written. */
export type PausedRun = {
  readonly run: Pick<RunRecord, 'id' | 'agent' | 'startedBy' | 'version' | 'hash' | 'status' | 'outcome'>;
  /** For each append the JSON list of its events, on a line. A text: what others do to the events is no matter. */
  readonly lists: string;
  /** What they come to, where that was made already. */
  readonly state?: State | undefined;
};

export function pausedState({ lists, state }: Pick<PausedRun, 'lists' | 'state'>): State {
  return state ?? stateOf(JSON.parse(`[${lists.replaceAll('\n', ',')}]`).flat());
}

export function pausedDigest({ run, lists }: PausedRun): string {
  return recordDigest(lists, { ...run, outcome: JSON.stringify(run.outcome) });
}

/** The longest runs, by their events, that are remembered. */
const LONGEST = 16_384;
/** How many. */
const MOST = 32;

type Beginning = { readonly store: Store; readonly create?: NewRun; readonly paused?: PausedRun };

/** What this process has written of a run, as long as that is all there is. Nothing is kept for stores that do not compare. */
export class Written {
  #lists: string | undefined;
  #last: Append | undefined;
  #made: { readonly lists: string; readonly state: State } | undefined;
  #making: NodeJS.Immediate | undefined;

  constructor({ store, create, paused }: Beginning) {
    if (store.comparesRecords) this.#lists = create ? '' : paused?.lists;
  }

  /** It is on its way. While the store is at work, what a decision begins with is made. */
  send(append: Append): void {
    const lists = append.status === 'waiting' ? this.#with(append) : undefined;
    clearImmediate(this.#making);
    if (lists !== undefined) this.#making = setImmediate(() => this.#make(lists));
  }

  #make(lists: string): void {
    try {
      this.#made = { lists, state: pausedState({ lists }) };
    } catch {
      // Whoever decides on it finds out, and reads it.
    }
  }

  /** It is on record. */
  add(append: Append): void {
    clearImmediate(this.#making);
    this.#last = append;
    this.#lists = this.#with(append);
  }

  #with({ events }: Append): string | undefined {
    if (this.#lists === undefined) return undefined;
    const list = eventsText(events);
    const lists = this.#lists === '' ? list : `${this.#lists}\n${list}`;
    return lists.length > LONGEST ? undefined : lists;
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
    return { run, lists: this.#lists, state: this.#made?.lists === this.#lists ? this.#made.state : undefined };
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
