// A worker: resumes abandoned runs, handles deadlines, and tells people about requests.
import { messageOf } from '../../core/errors.ts';
import { aFunction, aTimerMs, aWholeNumber, checkOptions, type OptionTable } from '../../core/options.ts';
import type { DrillsOptions } from '../drills/drill-options.ts';
import { Drills } from '../drills/drills.ts';
import { Thaws } from '../freezes/thaw.ts';
import type { Notices } from '../notices/notices.ts';
import { isAway } from '../port/store-errors.ts';
import { wakeups } from './changes.ts';
import type { Drives } from './driving.ts';
import type { Stopped } from './record-late-result.ts';

/** Options of a worker. */
export type WorkerOptions = {
  /** How many runs it drives at once, beside those started or decided in this process; 8 by default. */
  readonly concurrency?: number;
  /** How often it polls the store, in ms; 1,000 by default. */
  readonly pollMs?: number;
  /** Called with errors of looking for work and of notices. The worker continues. */
  readonly onError?: (error: unknown) => void;
};

const WORKER_OPTIONS: OptionTable<WorkerOptions> = { concurrency: aWholeNumber, pollMs: aTimerMs, onError: aFunction };

/** A running worker of this process. */
export type Worker = {
  /** Takes over no more runs, lets driven ones continue to their next pause, and hands them over. */
  stop(): Promise<Stopped>;
};

/** Without `drilling`, drills are left to other workers. */
export function startWorker(
  drives: Drives,
  options: WorkerOptions = {},
  drilling?: DrillsOptions,
  notices?: Notices,
): Worker {
  checkOptions('`work`', options, WORKER_OPTIONS);
  const { concurrency = 8, pollMs = 1_000 } = options;
  // The listener may fail too, at once or later: the worker continues.
  const onError = (error: unknown): void => {
    (async () => options.onError?.(error))().catch(() => undefined);
  };
  const { store } = drives;
  const search = new Search(drives, { concurrency, pollMs, onError });
  let stopped = false;
  const { notice, next } = wakeups(pollMs);
  const stopWatching = store.watch(notice);
  const drills = drilling && new Drills(drives, drilling);
  const thaws = new Thaws(drives);
  const outbox = notices?.outbox({ pollMs, onError });
  drives.work();
  const working = (async () => {
    while (!stopped) {
      // One failing does not stop the other.
      const looking = drives.isStopping ? [] : [search.once(), drills?.look(), outbox?.look(), thaws.look()];
      for (const looked of await Promise.allSettled(looking)) if (looked.status === 'rejected') onError(looked.reason);
      drives.onFreed = notice;
      await next();
    }
  })();
  return {
    async stop() {
      stopped = true;
      notice();
      stopWatching();
      await working;
      const [rested] = await Promise.all([drives.pause(), outbox?.stop()]);
      return rested;
    },
  };
}

/** How long the same error of a run is not reported again, and for how many runs that is remembered. */
const TELL_AGAIN_MS = 60_000;
const MOST_TOLD = 1_000;

/** Looks for work. A run that was just tried is skipped for a while. */
class Search {
  readonly #drives: Drives;
  readonly #options: Required<WorkerOptions>;
  readonly #seen = new Map<string, number>();
  /** Runs that are being taken over, for example while their context is looked up. */
  readonly #taking = new Set<string>();
  readonly #taken = new Set<string>();
  readonly #told = new Map<string, { readonly message: string; readonly at: number }>();

  constructor(drives: Drives, options: Required<WorkerOptions>) {
    this.#drives = drives;
    this.#options = options;
  }

  async once(): Promise<void> {
    const now = performance.now();
    for (const [runId, at] of this.#seen) if (now - at > this.#options.pollMs) this.#seen.delete(runId);
    for (;;) {
      const found = await this.#takeSome(now);
      const away = found.find((outcome) => outcome.status === 'rejected');
      // Do not hammer a store that is away.
      if (away) throw away.reason;
      // A run that cannot be resumed, such as a damaged one, must not block the next ones.
      const isTaken = found.some((outcome) => outcome.status === 'fulfilled' && outcome.value);
      if (found.length === 0 || isTaken) return;
    }
  }

  async #takeSome(now: number): Promise<readonly PromiseSettledResult<boolean>[]> {
    for (const runId of this.#taken) if (!this.#drives.driven(runId)) this.#taken.delete(runId);
    // Count only its own runs: runs started in this process must not delay a deadline.
    const room = this.#options.concurrency - this.#taken.size - this.#taking.size;
    if (room <= 0) return [];
    const agents = [...this.#drives.agents.keys()];
    const due = await this.#drives.store.due(room + this.#seen.size + this.#taking.size + this.#drives.active, agents);
    if (this.#drives.isStopping) return [];
    // A claim may lapse while the store is away. Results of the run still wait here to be written, so no one is asked.
    const isFree = (id: string) => !this.#seen.has(id) && !this.#taking.has(id) && !this.#drives.holds(id);
    const fresh = due.filter(isFree).slice(0, room);
    for (const runId of fresh) this.#seen.set(runId, now);
    return Promise.allSettled(fresh.map((runId) => this.#take(runId)));
  }

  /** Takes a run over. One that takes long counts as taken. Rejects only if the store is away; other errors are reported. */
  async #take(runId: string): Promise<boolean> {
    const { pollMs, onError } = this.#options;
    this.#taking.add(runId);
    const taking = this.#drives
      .take(runId, {}, true)
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

  /** Reports an error once in a while per run. */
  #tell(runId: string, error: unknown): void {
    const [now, message] = [performance.now(), messageOf(error)];
    const told = this.#told.get(runId);
    if (told?.message === message && now - told.at < TELL_AGAIN_MS) return;
    if (this.#told.size >= MOST_TOLD) this.#told.clear();
    this.#told.set(runId, { message, at: now });
    this.#options.onError(error);
  }
}
