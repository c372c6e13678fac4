// A worker: takes up runs that nobody drives, those whose deadline has come, and reminders.
import { messageOf } from '../../core/errors.ts';
import { checkType, keysOf, refuseUnknownKeys } from '../../core/known-keys.ts';
import { checkTimes, checkWhole } from '../../loop/options.ts';
import type { Store } from '../port/store.ts';
import { isAway } from '../port/store-errors.ts';
import type { Drives } from './driving.ts';
import type { Stopped } from './record-late-result.ts';
import { Reminders, type RemindersOptions } from './reminders.ts';

/** How much a worker takes on, and how eagerly it looks. */
export type WorkerOptions = {
  /** How many runs it drives at once, beside those that are started and decided in this process; 8 unless given. */
  readonly concurrency?: number;
  /** How often the store is asked when nothing happens; 1,000 ms unless given. */
  readonly pollMs?: number;
  /** Hears of what went wrong while looking for work, and of reminders that failed; the worker goes on. */
  readonly onError?: (error: unknown) => void;
};

const KEYS = keysOf<WorkerOptions>({ concurrency: true, pollMs: true, onError: true });

/** What takes up runs in this process, until it is stopped. */
export type Worker = {
  /** Takes up nothing more, lets what runs come to its next rest, and hands it over. */
  stop(): Promise<Stopped>;
};

/** Without `reminding`, reminders are left to others. */
export function startWorker(
  store: Store,
  drives: Drives,
  options: WorkerOptions = {},
  reminding?: RemindersOptions,
): Worker {
  refuseUnknownKeys('`work`', options, KEYS);
  const { concurrency = 8, pollMs = 1_000 } = options;
  checkWhole({ concurrency });
  checkTimes({ pollMs });
  checkType('onError', options.onError, 'function');
  // Whoever listens may fail as well, at once or later: the worker goes on.
  const onError = (error: unknown): void => void tell(options.onError, error).catch(() => undefined);
  const search = new Search(store, drives, { concurrency, pollMs, onError });
  let stopped = false;
  let wake: (() => void) | undefined;
  let isNews = false;
  const notice = () => {
    isNews = true;
    wake?.();
  };
  const stopWatching = store.watch(notice);
  const reminders = reminding && new Reminders(store, reminding, { pollMs, onError, onFreed: notice });
  drives.work();
  const working = (async () => {
    while (!stopped) {
      isNews = false;
      // Neither keeps the other from its work.
      const looking = drives.isStopping ? [] : [search.once(), reminders?.look()];
      for (const looked of await Promise.allSettled(looking)) if (looked.status === 'rejected') onError(looked.reason);
      // What came while it looked may have come too late for that look.
      if (stopped || isNews) continue;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, pollMs);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
        drives.onFreed = notice;
      });
    }
  })();
  return {
    async stop() {
      stopped = true;
      notice();
      stopWatching();
      await working;
      const [rested] = await Promise.all([drives.pause(), reminders?.stop()]);
      return rested;
    },
  };
}

async function tell(onError: WorkerOptions['onError'], error: unknown): Promise<void> {
  await onError?.(error);
}

/** How long the same is not told again of a run that cannot be taken up, and of how many that is remembered. */
const TELL_AGAIN_MS = 60_000;
const MOST_TOLD = 1_000;

/** Looks for work; a run that was just looked at is left alone for a while, whatever the store says. */
class Search {
  readonly #store: Store;
  readonly #drives: Drives;
  readonly #options: Required<WorkerOptions>;
  readonly #seen = new Map<string, number>();
  /** Those that are not driven yet, such as while a context is looked up. */
  readonly #taking = new Set<string>();
  readonly #taken = new Set<string>();
  readonly #told = new Map<string, { readonly message: string; readonly at: number }>();

  constructor(store: Store, drives: Drives, options: Required<WorkerOptions>) {
    this.#store = store;
    this.#drives = drives;
    this.#options = options;
  }

  async once(): Promise<void> {
    const now = performance.now();
    for (const [runId, at] of this.#seen) if (now - at > this.#options.pollMs) this.#seen.delete(runId);
    for (;;) {
      const found = await this.#takeSome(now);
      const away = found.find((outcome) => outcome.status === 'rejected');
      // A store that is away is not asked again and again.
      if (away) throw away.reason;
      // What cannot be taken up here, such as a damaged run, keeps nobody waiting: the next ones are looked at.
      const isTaken = found.some((outcome) => outcome.status === 'fulfilled' && outcome.value);
      if (found.length === 0 || isTaken) return;
    }
  }

  async #takeSome(now: number): Promise<readonly PromiseSettledResult<boolean>[]> {
    for (const runId of this.#taken) if (!this.#drives.driven(runId)) this.#taken.delete(runId);
    // Only its own: what is started here, however much it is, keeps no deadline waiting.
    const room = this.#options.concurrency - this.#taken.size - this.#taking.size;
    if (room <= 0) return [];
    const agents = [...this.#drives.agents.keys()];
    const due = await this.#store.due(room + this.#seen.size + this.#taking.size + this.#drives.active, agents);
    if (this.#drives.isStopping) return [];
    // A claim may lapse while the store is away. What came of the calls in the run waits here to be written, and nobody is
    // to be asked about them.
    const isFree = (id: string) => !this.#seen.has(id) && !this.#taking.has(id) && !this.#drives.holds(id);
    const fresh = due.filter(isFree).slice(0, room);
    for (const runId of fresh) this.#seen.set(runId, now);
    return Promise.allSettled(fresh.map((runId) => this.#take(runId)));
  }

  /**
   * One that takes long keeps no other waiting: it counts as taken, and what comes of it is told when it comes. Rejects only
   * where the store is away.
   */
  async #take(runId: string): Promise<boolean> {
    const { pollMs, onError } = this.#options;
    this.#taking.add(runId);
    const taking = this.#drives
      .take(runId, undefined, true)
      .then((isTaken) => {
        if (isTaken) this.#taken.add(runId);
        return isTaken;
      })
      .catch((error: unknown) => {
        if (isAway(error)) throw error;
        this.#tell(runId, error);
        return false;
      })
      .finally(() => this.#taking.delete(runId));
    const { promise: late, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => {
      taking.catch(onError);
      resolve(true);
    }, pollMs);
    return Promise.race([taking, late]).finally(() => clearTimeout(timer));
  }

  /** Of each run, and the same of it not with every look. */
  #tell(runId: string, error: unknown): void {
    const [now, message] = [performance.now(), messageOf(error)];
    const told = this.#told.get(runId);
    if (told?.message === message && now - told.at < TELL_AGAIN_MS) return;
    if (this.#told.size >= MOST_TOLD) this.#told.clear();
    this.#told.set(runId, { message, at: now });
    this.#options.onError(error);
  }
}
