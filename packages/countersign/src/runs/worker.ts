// A worker: takes up runs that nobody drives, those whose deadline has come, and reminders.
import { checkTimes, checkWhole } from '../loop/options.ts';
import type { Drives } from './drives.ts';
import { Reminders, type RemindersOptions } from './reminders.ts';
import type { Store } from './store.ts';
import { isAway } from './store-errors.ts';

/** How much a worker takes on, and how eagerly it looks. */
export type WorkerOptions = {
  /** How many runs are driven at once; 8 unless given. */
  readonly concurrency?: number;
  /** How often the store is asked when nothing happens; 1,000 ms unless given. */
  readonly pollMs?: number;
  /** Hears of what went wrong while looking for work, and of reminders that failed; the worker goes on. */
  readonly onError?: (error: unknown) => void;
};

/** What takes up runs in this process, until it is stopped. */
export type Worker = {
  /** Takes up nothing more, lets what runs come to its next rest, and hands it over. */
  stop(): Promise<void>;
};

/** Without `reminding`, reminders are left to others. */
export function startWorker(
  store: Store,
  drives: Drives,
  options: WorkerOptions = {},
  reminding?: RemindersOptions,
): Worker {
  const { concurrency = 8, pollMs = 1_000 } = options;
  checkWhole({ concurrency });
  checkTimes({ pollMs });
  // Whoever listens may fail as well, at once or later: the worker goes on.
  const onError = (error: unknown): void => void tell(options.onError, error).catch(() => undefined);
  const search = new Search(store, drives, concurrency, pollMs);
  let stopped = false;
  let wake: (() => void) | undefined;
  const notice = () => wake?.();
  const stopWatching = store.watch(notice);
  const reminders = reminding && new Reminders(store, reminding, { pollMs, onError, onFreed: notice });
  drives.work();
  const working = (async () => {
    while (!stopped) {
      // Neither keeps the other from its work.
      const looking = drives.isStopping ? [] : [search.once(), reminders?.look()];
      for (const looked of await Promise.allSettled(looking)) if (looked.status === 'rejected') onError(looked.reason);
      if (stopped) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, pollMs);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
        drives.onFreed = wake;
      });
    }
  })();
  return {
    async stop() {
      stopped = true;
      notice();
      stopWatching();
      await working;
      await Promise.all([drives.pause(), reminders?.stop()]);
    },
  };
}

async function tell(onError: WorkerOptions['onError'], error: unknown): Promise<void> {
  await onError?.(error);
}

/** Looks for work; a run that was just looked at is left alone for a while, whatever the store says. */
class Search {
  readonly #store: Store;
  readonly #drives: Drives;
  readonly #concurrency: number;
  readonly #patienceMs: number;
  readonly #seen = new Map<string, number>();

  constructor(store: Store, drives: Drives, concurrency: number, patienceMs: number) {
    this.#store = store;
    this.#drives = drives;
    this.#concurrency = concurrency;
    this.#patienceMs = patienceMs;
  }

  async once(): Promise<void> {
    const now = performance.now();
    for (const [runId, at] of this.#seen) if (now - at > this.#patienceMs) this.#seen.delete(runId);
    let failed: PromiseRejectedResult | undefined;
    for (;;) {
      const found = await this.#takeSome(now);
      failed ??= found.find((outcome) => outcome.status === 'rejected');
      // What cannot be taken up here, such as a damaged run, keeps nobody waiting: the next ones are looked at. A store that
      // is away is not asked again and again.
      const isTaken = found.some((outcome) => outcome.status === 'fulfilled' && outcome.value);
      if (found.length === 0 || isTaken || (failed && isAway(failed.reason))) break;
    }
    if (failed) throw failed.reason;
  }

  async #takeSome(now: number): Promise<readonly PromiseSettledResult<boolean>[]> {
    const room = this.#concurrency - this.#drives.active;
    if (room <= 0) return [];
    const due = await this.#store.due(room + this.#seen.size + this.#drives.active);
    if (this.#drives.isStopping) return [];
    // A claim may lapse while the store is away. What came of the calls in the run waits here to be written, and nobody is
    // to be asked about them.
    const fresh = due.filter((runId) => !this.#seen.has(runId) && !this.#drives.holds(runId)).slice(0, room);
    for (const runId of fresh) this.#seen.set(runId, now);
    return Promise.allSettled(fresh.map((runId) => this.#drives.take(runId, undefined, true)));
  }
}
