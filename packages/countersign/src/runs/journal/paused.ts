// Runs that this process has just brought to a pause, and all of which it has written: who decides in it need not read
// them, and the store compares. Nothing waits here; what is forgotten is read.
import type { State } from '../../core/state.ts';
import { eventsText } from '../port/chain.ts';
import { recordDigest } from '../port/record-digest.ts';
import type { Append, NewRun, RunRecord, Store } from '../port/store.ts';
import { stateOf } from '../questions/view.ts';

/** A run that waits, as it was last written. */
export type PausedRun = {
  readonly run: Pick<RunRecord, 'id' | 'agent' | 'startedBy' | 'version' | 'hash' | 'status' | 'outcome'>;
  /** For each append the JSON list of its events, on a line. A text: what others do to the events is no matter. */
  readonly lists: string;
  /** What they come to, and what the store compares, where that was made already. */
  readonly made?: Made;
};

type Made = { readonly state: State; readonly digest: string };

/** What a decision on it begins with. */
export function madeOf({ run, lists, made }: PausedRun): Made {
  return (
    made ?? {
      state: stateOf(JSON.parse(`[${lists.replaceAll('\n', ',')}]`).flat()),
      digest: recordDigest(lists, { ...run, outcome: JSON.stringify(run.outcome) }),
    }
  );
}

/** The longest runs, by their events, that are remembered. */
const LONGEST = 16_384;
/** How many. */
const MOST = 32;

type Beginning = {
  readonly store: Store;
  readonly run: Pick<RunRecord, 'id' | 'agent' | 'startedBy'>;
  readonly create?: NewRun;
  readonly paused?: PausedRun;
};

/** What this process has written of a run, as long as that is all there is. Nothing is kept for stores that do not compare. */
export class Written {
  readonly #run: Beginning['run'];
  #compared: string | undefined;
  #lists: string | undefined;
  #paused: PausedRun | undefined;
  #making: NodeJS.Immediate | undefined;

  constructor({ store, run, create, paused }: Beginning) {
    this.#run = run;
    this.#compared = paused && madeOf(paused).digest;
    if (store.comparesRecords) this.#lists = create ? '' : paused?.lists;
  }

  /** What the store is to compare with the first append, since nobody has read it; undefined once it has. */
  get compared(): string | undefined {
    return this.#compared;
  }

  /** It is on its way. While the store is at work, what a decision begins with is made. */
  send(append: Append): void {
    clearImmediate(this.#making);
    this.#paused = this.#pausedAfter(append);
    if (this.#paused) this.#making = setImmediate(() => this.#make());
  }

  #make(): void {
    try {
      if (this.#paused) this.#paused = { ...this.#paused, made: madeOf(this.#paused) };
    } catch {
      // Whoever decides on it finds out, and reads it.
    }
  }

  /** It is on record. */
  add(append: Append): void {
    clearImmediate(this.#making);
    this.#compared = undefined;
    this.#lists = this.#with(append);
  }

  /** Others have written, too. */
  end(): void {
    this.#lists = undefined;
  }

  /** The run as it waits; undefined if it does not, is too long, or others have written in it. */
  get paused(): PausedRun | undefined {
    return this.#paused?.lists === this.#lists ? this.#paused : undefined;
  }

  #pausedAfter(append: Append): PausedRun | undefined {
    const lists = append.status === 'waiting' ? this.#with(append) : undefined;
    if (lists === undefined) return undefined;
    const { id, agent, startedBy } = this.#run;
    const { expectedVersion, events, hash, status, outcome } = append;
    return { run: { id, agent, startedBy, version: expectedVersion + events.length, hash, status, outcome }, lists };
  }

  #with({ events }: Append): string | undefined {
    if (this.#lists === undefined) return undefined;
    const list = eventsText(events);
    const lists = this.#lists === '' ? list : `${this.#lists}\n${list}`;
    return lists.length > LONGEST ? undefined : lists;
  }
}

export class PausedRuns {
  readonly #runs = new Map<string, PausedRun>();

  remember(paused: PausedRun | undefined): void {
    if (!paused) return;
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
