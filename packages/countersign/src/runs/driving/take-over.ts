// Takes over runs that no worker drives. Holds the claim while the context of the run is looked up.
import { shownAgent } from '../../core/drill.ts';
import { messageOf, UsageError } from '../../core/errors.ts';
import { isThenable } from '../../core/options.ts';
import type { Context } from '../../loop/tool/definition.ts';
import type { Journal } from '../journal/journal.ts';
import { goOn } from '../journal/outcome.ts';
import type { Renewals } from '../journal/renewals.ts';
import { readOn } from '../port/read-run.ts';
import { refusalOf } from '../port/store-errors.ts';
import { expireCards, fetchTimeIfExpired } from '../questions/expiry.ts';
import { trustedState } from '../questions/view.ts';
import type { DrivesOptions, Driving, OpenRun, StartedRun } from './open-run.ts';

export class TakeOver {
  readonly #drives: Driving;
  readonly #renewals: Renewals;
  readonly #options: DrivesOptions;
  readonly #underWay = new Set<Promise<boolean>>();
  readonly #leaving = new Set<() => void>();

  constructor(drives: Driving, renewals: Renewals, options: DrivesOptions) {
    this.#drives = drives;
    this.#renewals = renewals;
    this.#options = options;
  }

  get underWay(): readonly Promise<boolean>[] {
    return [...this.#underWay];
  }

  take(runId: string, context: Context | undefined, isDue: boolean): Promise<boolean> {
    const taking = this.#take(runId, context, isDue);
    this.#underWay.add(taking);
    return taking.finally(() => this.#underWay.delete(taking));
  }

  /** This process is stopping: stop waiting for contexts. */
  leaveAll(): void {
    for (const leave of this.#leaving) leave();
  }

  async #take(runId: string, context: Context | undefined, isDue: boolean): Promise<boolean> {
    const { store, newId, leaseMs, agents } = this.#options;
    await this.#drives.time.tell();
    const token = newId();
    const first = await store.claim(runId, token, leaseMs);
    if (!first) return false;
    const { status } = first.run;
    const agent = agents.get(first.run.agent);
    if (!agent) {
      await store.release(runId, token);
      return false;
    }
    let open: OpenRun;
    let given: Context | undefined | 'left' = context;
    try {
      const loaded = await readOn(store, first);
      // A claimed run cannot be deleted, but a backup may have been restored.
      if (!loaded) return false;
      open = this.#drives.open(loaded.run, await trustedState(loaded), agent, { claim: { held: token } });
      if (isDue && status === 'failed') await fetchTimeIfExpired(runId, open.run.state, this.#drives.time);
      // Before driving: a context that is not available now may be later.
      given ??= await this.#lookUp(open.journal);
    } catch (error) {
      await store.release(runId, token);
      throw error;
    }
    const { run, journal } = open;
    if (given === 'left') {
      if (!isDue) goOn(run, status);
      // If another worker has the run by now, there is nothing to hand over.
      await refusalOf(leave(open));
      return false;
    }
    const { state } = run;
    if (isDue && status === 'failed') {
      expireCards(run, journal, this.#drives.clock());
      if (run.state === state) {
        await store.release(runId, token);
        return false;
      }
    }
    goOn(run, status);
    this.#drives.go({ ...open, options: { ...(given && { context: given }), isLookedUp: true } });
    return true;
  }

  async #lookUp(journal: Journal): Promise<Context | undefined | 'left'> {
    if (this.#drives.isStopping) return 'left';
    const renewed = this.#renewals.add(journal);
    try {
      return await this.contextOf(journal);
    } finally {
      this.#renewals.delete(renewed);
    }
  }

  /** The context of the run. Not a promise if `contextFor` returns none. */
  contextOf({ started }: Journal): Context | undefined | Promise<Context | undefined | 'left'> {
    try {
      const looking = this.#options.contextFor({ ...started, agent: shownAgent(started.agent) });
      if (!isThenable(looking)) return looking;
      return this.#orLeft(looking).catch((error: unknown) => Promise.reject(contextFailed(started, error)));
    } catch (error) {
      throw contextFailed(started, error);
    }
  }

  /** `left`: this process stopped before the lookup finished. */
  async #orLeft<T>(looking: T | PromiseLike<T>): Promise<T | 'left'> {
    const { promise: left, resolve } = Promise.withResolvers<'left'>();
    const leave = (): void => resolve('left');
    this.#leaving.add(leave);
    try {
      return await Promise.race([looking, left]);
    } finally {
      this.#leaving.delete(leave);
    }
  }
}

function contextFailed({ id }: StartedRun, cause: unknown): UsageError {
  const message = `The context of run ${id} could not be looked up: ${messageOf(cause)}`;
  return new UsageError('context-failed', { runId: id }, message, { cause });
}

/** Writes the remaining events, after those that others wrote, and hands the run over. */
export async function leave({ run, journal }: Pick<OpenRun, 'run' | 'journal'>): Promise<void> {
  while ((await journal.finish()) === 'more');
  run.close();
}
