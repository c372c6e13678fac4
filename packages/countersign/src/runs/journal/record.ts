// The record of a run as its journal knows it: what this journal wrote last, and what others wrote after that.
import { ConflictError } from '../../core/errors.ts';
import { fold, type State } from '../../core/run/state.ts';
import { linkAll, tamperedRun } from '../port/chain.ts';
import { readRun } from '../port/read-run.ts';
import type { Append, RunRecord, Store, StoredEvent } from '../port/store.ts';
import { runGone, wentBack } from '../port/store-errors.ts';
import { isSuperseded } from './drop-superseded.ts';

/** A run as the store has it. */
export type Recorded = Pick<RunRecord, 'version' | 'hash'> & { readonly state: State };

export class KnownRecord {
  readonly #store: Store;
  readonly #runId: string;
  #own: Recorded;
  #others: readonly StoredEvent[] = [];

  constructor(store: Store, runId: string, recorded: Recorded) {
    this.#store = store;
    this.#runId = runId;
    this.#own = recorded;
  }

  /** The run as this journal wrote it last. Later events of other writers, such as a doubt, are not in it. */
  get own(): Recorded {
    return this.#own;
  }

  /** The run with the events of other writers that are known here. */
  get current(): Recorded {
    return withOthers(this.#own, this.#others);
  }

  /** `known`: the state after the events, if nobody else wrote. Throws `stale-version` if they do not fit what others recorded. */
  stateAfter(events: readonly StoredEvent[], known: State | undefined): State {
    return known && this.#others.length === 0 ? known : stateAfter(this.#runId, this.current.state, events);
  }

  wrote({ expectedVersion, events, hash }: Append, state: State): void {
    this.#own = { version: expectedVersion + events.length, hash, state };
    this.#others = [];
  }

  /** Takes in what others recorded since. Throws unless it continues the record. */
  async refresh(): Promise<void> {
    const { version } = this.current;
    const loaded = await readRun(this.#store, this.#runId, version);
    if (!loaded) throw runGone(this.#runId);
    if (loaded.run.version < version) throw wentBack(loaded.run, version);
    const others = [...this.#others, ...loaded.events];
    const { version: end, hash } = linked(this.#own, others);
    if (end !== loaded.run.version || hash !== loaded.run.hash)
      throw tamperedRun(this.#runId, 'New events do not continue the events that were recorded before.');
    this.#others = others;
  }

  /** Whether the store has this append. The hash chain tells. */
  async has({ expectedVersion, events, hash }: Append): Promise<boolean> {
    const loaded = await readRun(this.#store, this.#runId, expectedVersion);
    return loaded !== undefined && linkAll(this.current.hash, loaded.events.slice(0, events.length)) === hash;
  }
}

function linked({ version, hash }: Recorded, events: readonly StoredEvent[]): Pick<Recorded, 'version' | 'hash'> {
  return { version: version + events.length, hash: linkAll(hash, events) };
}

function withOthers(own: Recorded, others: readonly StoredEvent[]): Recorded {
  return others.length === 0 ? own : { ...linked(own, others), state: others.reduce(fold, own.state) };
}

/** The state with these new events. Throws `stale-version` if they do not fit what others recorded first. */
export function stateAfter(runId: string, state: State, events: readonly StoredEvent[]): State {
  try {
    if (events.some((event) => isSuperseded(event, state))) throw new Error('Someone else was first.');
    return events.reduce(fold, state);
  } catch (error) {
    const message = `New events of run ${runId} do not fit what others recorded first. Load the run again.`;
    throw new ConflictError('stale-version', { runId }, message, { cause: error });
  }
}
