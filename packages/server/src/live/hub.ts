// Reports changed runs to all streams of this process, which share one watch of the store.
import type { Runs } from 'countersign';

/** Receives the ids of changed runs; `all` means that any run may have changed. */
export type Listener = (changed: ReadonlySet<string> | 'all') => void;

/** Changes within so many milliseconds are reported together. */
const GATHER_MS = 50;
/** Notifications can get lost, so `all` is reported after so long. */
const LOOK_MS = 30_000;
/** More changes than this are reported as `all`. */
const MANY = 1_000;

export class Hub {
  readonly #runs: Runs;
  readonly #listeners = new Set<Listener>();
  readonly #closing = new AbortController();
  #changed = new Set<string>();
  #gathering: ReturnType<typeof setTimeout> | undefined;
  #looking: ReturnType<typeof setInterval> | undefined;
  #stopWatching: (() => void) | undefined;
  #revision = 0;

  constructor(runs: Runs) {
    this.#runs = runs;
  }

  /** Fires when the hub closes, which ends all streams. */
  get closed(): AbortSignal {
    return this.#closing.signal;
  }

  /**
   * Changes with every report. Streams may share a read that began under the same number: every later change is reported
   * to them again.
   */
  get revision(): number {
    return this.#revision;
  }

  /** Calls the listener until the returned function is called. The store is watched while there are listeners. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    if (!this.#stopWatching) {
      this.#stopWatching = this.#runs.store.watch((runId) => this.changed(runId));
      this.#looking = setInterval(() => this.#report('all'), LOOK_MS);
      this.#looking.unref();
    }
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#stop();
    };
  }

  /**
   * Returns a function that resolves with the changes since its last call, or undefined once the signal fired or the hub
   * closed. It listens from now on until then; for a slow reader, each run is kept once.
   */
  follow(signal: AbortSignal): () => Promise<ReadonlySet<string> | 'all' | undefined> {
    const until = AbortSignal.any([signal, this.closed]);
    let waiting = new Set<string>() as Set<string> | 'all';
    let wake: (() => void) | undefined;
    const stop = this.listen((changed) => {
      if (changed === 'all' || waiting === 'all') waiting = 'all';
      else for (const runId of changed) waiting.add(runId);
      if (waiting !== 'all' && waiting.size > MANY) waiting = 'all';
      wake?.();
    });
    const end = () => {
      stop();
      wake?.();
    };
    if (until.aborted) end();
    until.addEventListener('abort', end, { once: true });
    return async () => {
      if (!until.aborted && waiting !== 'all' && waiting.size === 0)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      const changed = waiting;
      waiting = new Set();
      return until.aborted ? undefined : changed;
    };
  }

  /** Reports a change that the store does not notice, such as a hold. */
  changed(runId: string): void {
    if (this.#listeners.size === 0) return;
    this.#changed.add(runId);
    this.#gathering ??= setTimeout(() => this.#flush(), GATHER_MS);
  }

  /** Resolves once all changes so far are reported. */
  async flushed(): Promise<void> {
    // Stores report an append soon after the call, not within it.
    await new Promise<void>((resolve) => setImmediate(resolve));
    if (this.#gathering === undefined) return;
    clearTimeout(this.#gathering);
    this.#flush();
  }

  close(): void {
    this.#closing.abort();
    this.#listeners.clear();
    this.#stop();
  }

  #flush(): void {
    const changed = this.#changed;
    this.#changed = new Set();
    this.#gathering = undefined;
    this.#report(changed.size > MANY ? 'all' : changed);
  }

  #report(changed: ReadonlySet<string> | 'all'): void {
    this.#revision += 1;
    for (const listener of this.#listeners) listener(changed);
  }

  #stop(): void {
    this.#revision += 1;
    this.#stopWatching?.();
    this.#stopWatching = undefined;
    clearInterval(this.#looking);
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    this.#changed = new Set();
  }
}
