// What changes, told to everybody who follows: one watch of the store for all of them, and one look at each change.
import type { Runs } from 'countersign';

/** Hears which runs have changed. `all`: so much may have changed that everything is to be looked at again. */
export type Listener = (changed: ReadonlySet<string> | 'all') => void;

export type HubOptions = {
  /** Changes within so many milliseconds are told together. */
  readonly gatherMs: number;
  /** Notices get lost; after so long everybody looks again. */
  readonly lookMs: number;
};

const DEFAULTS: HubOptions = { gatherMs: 50, lookMs: 30_000 };
/** Beyond so many at once, it is less work to look at everything. */
const MANY = 1_000;

export class Hub {
  readonly #runs: Runs;
  readonly #options: HubOptions;
  readonly #listeners = new Set<Listener>();
  readonly #closing = new AbortController();
  #changed = new Set<string>();
  #gathering: ReturnType<typeof setTimeout> | undefined;
  #looking: ReturnType<typeof setInterval> | undefined;
  #stopWatching: (() => void) | undefined;
  #news = 0;

  constructor(runs: Runs, options: HubOptions = DEFAULTS) {
    this.#runs = runs;
    this.#options = options;
  }

  /** Fires when nobody is told anything any more: streams end. */
  get closed(): AbortSignal {
    return this.#closing.signal;
  }

  /**
   * Another number whenever something was told, or may have been missed. Whoever shares a look that began under the same
   * number is told of everything that it did not see.
   */
  get news(): number {
    return this.#news;
  }

  /** The store is watched while somebody listens. Returns how to stop. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    if (!this.#stopWatching) {
      this.#stopWatching = this.#runs.store.watch((runId) => this.changed(runId));
      this.#looking = setInterval(() => this.#tell('all'), this.#options.lookMs);
      this.#looking.unref();
    }
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#rest();
    };
  }

  /** Something about a run has changed that the store does not tell of, such as a claim. */
  changed(runId: string): void {
    if (this.#listeners.size === 0) return;
    this.#changed.add(runId);
    this.#gathering ??= setTimeout(() => this.#flush(), this.#options.gatherMs);
  }

  /** Resolves once what has changed so far is told. */
  async told(): Promise<void> {
    // Stores tell of an append soon, but not within the call.
    await new Promise<void>((resolve) => setImmediate(resolve));
    if (this.#gathering === undefined) return;
    clearTimeout(this.#gathering);
    this.#flush();
  }

  close(): void {
    this.#closing.abort();
    this.#listeners.clear();
    this.#rest();
  }

  #flush(): void {
    const changed = this.#changed;
    this.#changed = new Set();
    this.#gathering = undefined;
    this.#tell(changed.size > MANY ? 'all' : changed);
  }

  #tell(changed: ReadonlySet<string> | 'all'): void {
    this.#news += 1;
    for (const listener of this.#listeners) listener(changed);
  }

  #rest(): void {
    this.#news += 1;
    this.#stopWatching?.();
    this.#stopWatching = undefined;
    clearInterval(this.#looking);
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    this.#changed = new Set();
  }
}
