// Drives one open run under its claim until it pauses, ends or fails, and says what became of it.
import { messageOf } from '../../core/errors.ts';
import { defined } from '../../core/json.ts';
import { isThenable } from '../../core/options.ts';
import { hostUntil } from '../../core/run/call.ts';
import { isDrill } from '../../core/run/drill.ts';
import type { RunEvent } from '../../core/run/event.ts';
import type { Limits } from '../../core/run/next.ts';
import { settleDoubt } from '../../loop/call/doubt.ts';
import { drive } from '../../loop/drive.ts';
import { callFailed, interrupted } from '../../loop/generate.ts';
import type { Caller, Driver, Run } from '../../loop/run.ts';
import type { RunGrants } from '../../loop/sink.ts';
import { grantsOf } from '../grants/use.ts';
import type { Journal } from '../journal/journal.ts';
import { fail } from '../journal/outcome.ts';
import type { Renewals } from '../journal/renewals.ts';
import { readRun } from '../port/read-run.ts';
import { isAway, isLost, isStale } from '../port/store-errors.ts';
import { askerOf } from '../requests/rejudge.ts';
import { errorIn, trustedState } from '../requests/view.ts';
import { expireCards, fetchTimeIfExpired } from '../requests/waiting/expiry.ts';
import type { Live } from './live-chunks.ts';
import type { AgentPort, Driving, OpenRun } from './open-run.ts';
import type { LateRecorder } from './record-late-result.ts';
import { type RunSummary, summaryOf } from './run-summary.ts';
import type { StopGrace } from './stop-grace.ts';
import { leave, type TakeOver } from './take-over.ts';

export type DrivingParts = {
  readonly live: Live;
  readonly renewals: Renewals;
  readonly stopGrace: StopGrace;
  readonly takeOver: TakeOver;
  readonly late: LateRecorder;
};

export class RunDriver {
  readonly #drives: Driving;
  readonly #parts: DrivingParts;

  constructor(drives: Driving, parts: DrivingParts) {
    this.#drives = drives;
    this.#parts = parts;
  }

  /** Undefined if others wrote first, so that the result here is not recorded. */
  async drive(open: OpenRun): Promise<RunSummary | undefined> {
    const failed = await this.#drive(open);
    const { agent, run, journal, options } = open;
    if (failed === undefined) return undefined;
    return summaryOf(journal.runId, run.state, limitsOf(agent, options.caller), failed);
  }

  /** True if the run failed; undefined if others wrote first, so that the result here is not recorded. */
  async #drive(open: OpenRun): Promise<boolean | undefined> {
    const { agent, run, journal } = open;
    const { context, onChunk, isLookedUp, caller } = open.options;
    const renewed = this.#parts.renewals.add(journal);
    // In a variable first: V8 would otherwise retain the run until the next full collection.
    const late = (events: readonly RunEvent[]): void => {
      if (journal.hasBegun) void this.#parts.late.tell(agent, journal.runId, journal.own, events);
    };
    run.onLate = late;
    const emit = this.#parts.live.emitter(journal.runId, () => run.state.history.length, onChunk);
    try {
      const looking = context || isLookedUp ? context : this.#parts.takeOver.contextOf(journal);
      // Without an await unless it returns a promise: events of one turn are written together.
      const given = isThenable(looking) ? await looking : looking;
      if (given === 'left') {
        await leave(open);
        return false;
      }
      const driver: Driver = {
        ...agent.driver(given),
        ...defined({ emit, caller }),
        limits: limitsOf(agent, caller),
        signal: journal.lost,
        clock: this.#drives.clock,
        // A drill is asked about even if a grant would let the call run.
        ...(!isDrill(journal.started) && { grants: this.#grantsFor(journal) }),
        asker: askerOf(journal.started, this.#drives.store.notes),
        worker: {
          isStopping: () => this.#drives.isStopping,
          onGiveUp: this.#parts.stopGrace.listen,
          onLeft: this.#parts.late.left,
        },
      };
      for (;;) {
        // If the time of the store is unknown, the deadlines are left to the next look.
        const knowsTime = await this.#knowsTime(open);
        if (knowsTime) expireCards(run, journal, this.#drives.clock());
        const driving = knowsTime ? settleLapsed(run, driver).then(() => drive(run, driver)) : drive(run, driver);
        await driving.catch((error: unknown) => {
          throw interrupted(error, run);
        });
        const [failure] = run.failures;
        if (failure) throw callFailed(failure, run);
        const rest = await journal.finish(this.#drives.isStopping);
        if (rest === 'again') await this.#again(open);
        if (rest !== 'more') return false;
      }
    } catch (error) {
      const stopped = this.#stopped(open, error);
      // Finished calls are reported first.
      if (journal.lost.aborted && journal.hasBegun) this.#parts.late.lost(journal.runId, journal.own);
      return stopped;
    } finally {
      this.#parts.renewals.delete(renewed);
      run.close();
    }
  }

  #grantsFor(journal: Journal): RunGrants {
    const { store, clock } = this.#drives;
    const withNext: Journal['withNext'] = (lookUp) => journal.withNext(lookUp);
    // Whoever had the run before may have given a grant with a decision on it.
    const since = journal.hasBegun ? performance.now() : 0;
    const tell = () => this.#drives.time.tell();
    return grantsOf({ store, clock, tell, run: journal.started, since, withNext, flushed: () => journal.flushed() });
  }

  /** Returns false if the store cannot be asked. */
  async #knowsTime({ run, journal }: OpenRun): Promise<boolean> {
    try {
      await this.#drives.time.tell();
      await fetchTimeIfExpired(journal.runId, run.state, this.#drives.time);
      return true;
    } catch {
      // The next write reports the failure.
      return false;
    }
  }

  async #stopped(open: OpenRun, error: unknown): Promise<boolean | undefined> {
    const { agent, run, journal } = open;
    // The caller of `begin` gets the error.
    if (journal.neverBegan) return false;
    if (isLost(error)) {
      // Another worker took over and owns the state of the run, but results of tools still count.
      run.onLate?.(journal.unwritten);
      return undefined;
    }
    if (isStale(error)) {
      // The new events do not fit what others recorded first: read the run again.
      await this.#drives.store.release(journal.runId, journal.token).catch(() => undefined);
      await this.#parts.late.tell(agent, journal.runId, journal.own, journal.unwritten);
      await this.#again(open);
      return undefined;
    }
    const rest = journal.isRefused ? undefined : await fail(run, journal, error).catch((reason: unknown) => reason);
    // Others wrote first after all: results of calls are recorded as they would be without the error.
    if (isStale(rest) || isLost(rest)) return this.#stopped(open, rest);
    if (rest === 'again') await this.#again(open);
    // If that cannot be written either, only this process knows the results until a worker takes the run over.
    if (isAway(rest)) run.onLate?.(journal.unwritten);
    if (journal.isRefused) await this.#failAnew(agent, journal, error).catch(() => undefined);
    return true;
  }

  /** The store rejects the new events for good: record only the failure, on top of the stored run. */
  async #failAnew(agent: AgentPort, { runId, token }: Journal, error: unknown): Promise<void> {
    const loaded = await readRun(this.#drives.store, runId);
    if (!loaded) return;
    // A deadline that cannot be recorded is retried forever: record the same failure once.
    const isTold = loaded.run.status === 'failed' && errorIn(loaded.run)?.message === messageOf(error);
    if (isTold) return this.#drives.store.release(runId, token);
    const { run, journal } = this.#drives.open(loaded.run, await trustedState(loaded), agent, {
      claim: { held: token },
    });
    await fail(run, journal, error);
  }

  async #again({ journal, options }: OpenRun): Promise<void> {
    // If that fails, a worker finds the run.
    await this.#parts.takeOver.take(journal.runId, options, false).catch(() => undefined);
  }
}

/** Only while its caller asks does the call of an outside program run. */
export function limitsOf({ limits }: AgentPort, caller: Caller | undefined): Limits {
  return caller ? { ...limits, awaitCaller: false } : limits;
}

/** A program outside was granted a start and has not reported in time: the outcome of its call is unknown. */
async function settleLapsed(run: Run, driver: Driver): Promise<void> {
  for (const call of run.state.turn?.calls ?? []) {
    const until = hostUntil(call);
    if (until !== undefined && until <= driver.clock()) await settleDoubt(run, driver, call);
  }
}
