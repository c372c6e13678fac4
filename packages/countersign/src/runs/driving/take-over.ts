// Takes over runs that no worker drives. Holds the claim while the context of the run is looked up.

import { messageOf, UsageError } from '../../core/errors.ts';
import { defined } from '../../core/json.ts';
import { isThenable } from '../../core/options.ts';
import { shownAgent } from '../../core/run/drill.ts';
import type { RunEvent } from '../../core/run/event.ts';
import type { State } from '../../core/run/state.ts';
import type { Context } from '../../loop/tool/definition.ts';
import type { Journal } from '../journal/journal.ts';
import { goOn, stayFailed } from '../journal/outcome.ts';
import type { Renewals } from '../journal/renewals.ts';
import { readOn } from '../port/read-run.ts';
import type { RunStatus } from '../port/store.ts';
import { refusalOf } from '../port/store-errors.ts';
import { trustedState } from '../requests/view.ts';
import { dueEscalations, isEscalationDue } from '../requests/waiting/escalation.ts';
import { expireCards, fetchTimeIfExpired, hasExpired } from '../requests/waiting/expiry.ts';
import type { DriveOptions, DrivesOptions, Driving, OpenRun, StartedRun } from './open-run.ts';

type TakeOptions = Pick<DriveOptions, 'context' | 'caller'>;

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

  take(runId: string, options: TakeOptions, isDue: boolean): Promise<boolean> {
    const taking = this.#take(runId, options, isDue);
    this.#underWay.add(taking);
    return taking.finally(() => this.#underWay.delete(taking));
  }

  /** This process is stopping: stop waiting for contexts. */
  leaveAll(): void {
    for (const leave of this.#leaving) leave();
  }

  async #take(runId: string, { context, caller }: TakeOptions, isDue: boolean): Promise<boolean> {
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
    let recorded: State;
    let given: Context | undefined | 'left' = context;
    try {
      const loaded = await readOn(store, first);
      // A claimed run cannot be deleted, but a backup may have been restored.
      if (!loaded) return false;
      const state = await trustedState(loaded);
      const claim = { held: token };
      open = this.#drives.open(loaded.run, state, agent.forRun?.(state) ?? agent, { claim, ...defined({ caller }) });
      recorded = open.run.state;
      if (isDue) await fetchTimeIfExpired(runId, open.run.state, this.#drives.time);
      // Before driving: a context that is not available now may be later.
      given ??= await this.#lookUp(open.journal, () => this.contextOf(open.journal));
      if (isEscalationDue(runId, open.run.state, this.#drives.clock())) {
        const escalations = await this.#lookUp(open.journal, () => this.#escalations(open, status));
        for (const escalation of escalations === 'left' ? [] : escalations) open.run.record(escalation);
      }
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
        // An escalation is recorded, but does not drive the run on.
        if (state === recorded) await store.release(runId, token);
        else {
          stayFailed(run, first.run);
          await refusalOf(leave(open));
        }
        return false;
      }
    }
    goOn(run, status);
    this.#drives.go({
      ...open,
      options: { ...(given && { context: given }), ...defined({ caller }), isLookedUp: true },
    });
    return true;
  }

  async #lookUp<T>(journal: Journal, look: () => T | Promise<T>): Promise<T | 'left'> {
    if (this.#drives.isStopping) return 'left';
    const renewed = this.#renewals.add(journal);
    try {
      return await look();
    } finally {
      this.#renewals.delete(renewed);
    }
  }

  /** Rejects if the directory of people fails and nothing else is to be done. Then the run is tried again later. */
  async #escalations({ run, journal }: OpenRun, status: RunStatus): Promise<readonly RunEvent[]> {
    const now = this.#drives.clock();
    const looking = dueEscalations(journal.started, run.state, now, this.#options.people);
    return this.#orLeft(looking).then(
      (found) => (found === 'left' ? [] : found),
      (error: unknown) => {
        if (status === 'running' || hasExpired(journal.runId, run.state, now)) return [];
        throw peopleFailed(journal.started, error);
      },
    );
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

function peopleFailed({ id }: StartedRun, cause: unknown): UsageError {
  const message = `A request of run ${id} could not be escalated: ${messageOf(cause)}`;
  return new UsageError('people-failed', { runId: id }, message, { cause });
}

/** Writes the remaining events, after those that others wrote, and hands the run over. */
export async function leave({ run, journal }: Pick<OpenRun, 'run' | 'journal'>): Promise<void> {
  while ((await journal.finish()) === 'more');
  run.close();
}
