// Records the results of bodies that finished after another worker took their run over.
import { messageOf } from '../../core/errors.ts';
import { sameJson } from '../../core/json.ts';
import type { RunEvent } from '../../core/run/event.ts';
import { PATIENCE_MS } from '../journal/appending.ts';
import type { Recorded } from '../journal/record.ts';
import { linkAll } from '../port/chain.ts';
import { readRun } from '../port/read-run.ts';
import { isAway, isStale } from '../port/store-errors.ts';
import { warn } from '../port/warning.ts';
import { trustedState } from '../requests/view.ts';
import { withdrawing } from '../requests/waiting/withdrawing.ts';
import { endedLate, isAwaited, type LateResult, lateResults, underWay } from './late-results.ts';
import type { AgentPort, DrivesOptions, Driving } from './open-run.ts';

/** A call whose result could not be recorded; the process only warned. `path`: its id, after those of the calls around it. */
export type UnrecordedCall = { readonly runId: string; readonly path: readonly string[] };

/** The result of a stop. */
export type Stopped = {
  /** Calls whose results could not be recorded in time. A person will be asked about them and should know. */
  readonly unrecorded: readonly UnrecordedCall[];
};

/** A result to record. `tried`: an event whose write failed, and may have happened. */
type Telling = {
  readonly agent: AgentPort;
  readonly runId: string;
  readonly own: Recorded;
  readonly late: LateResult;
  tried?: RunEvent | undefined;
};

const PAUSE_MS = 200;
/** While the store is away. */
const MOST_TRIES = PATIENCE_MS / PAUSE_MS;
/** While another worker runs the sub-agent. */
const MOST_RESTS = 50;

export class LateRecorder {
  readonly #drives: Driving;
  readonly #sleep: DrivesOptions['sleep'];
  readonly #underWay = new Set<Promise<void>>();
  readonly #left = new Set<Promise<void>>();
  /** One list for each stop in progress. */
  readonly #unrecorded = new Set<UnrecordedCall[]>();
  readonly #warned = new Set<string>();

  constructor(drives: Driving, sleep: DrivesOptions['sleep']) {
    this.#drives = drives;
    this.#sleep = sleep;
  }

  get underWay(): Iterable<Promise<void>> {
    return this.#underWay;
  }

  /** Waits for a body that still runs after its run was taken over. */
  readonly left = (body: Promise<void>): void => {
    // One inside a sub-agent may have nowhere to record its result, which was told as late: no reason to end the process.
    const ended = body.catch(() => undefined).finally(() => this.#left.delete(ended));
    this.#left.add(ended);
  };

  /** Resolves once these bodies have ended and their results are recorded: a stop requests no body. */
  async ended(settled: Promise<void>): Promise<Stopped> {
    const unrecorded: UnrecordedCall[] = [];
    this.#unrecorded.add(unrecorded);
    await settled;
    while (this.#left.size + this.#underWay.size > 0) await Promise.allSettled([...this.#left, ...this.#underWay]);
    this.#unrecorded.delete(unrecorded);
    return { unrecorded };
  }

  /**
   * Records late results among `events` of a run that this process wrote last as `own`. They settle the doubt about their
   * calls, unless a person already has: then they are only recorded. Never rejects: if nothing can be written, the process
   * warns and the doubt stays.
   */
  tell(agent: AgentPort, runId: string, own: Recorded, events: readonly RunEvent[]): Promise<void> {
    return this.#track(this.#tellAll(agent, runId, own, events));
  }

  /** The run was taken over while bodies ran, and they may stop without a result: warns if the store has lost their start. */
  lost(runId: string, own: Recorded): void {
    if (underWay(own.state).length === 0) return;
    // A body that finishes reports its own result.
    void this.#track(this.#retry(async () => void (await this.#read(runId, own))).catch(() => undefined));
  }

  #track(work: Promise<void>): Promise<void> {
    const tracked = work.finally(() => this.#underWay.delete(tracked));
    this.#underWay.add(tracked);
    return tracked;
  }

  async #tellAll(agent: AgentPort, runId: string, own: Recorded, events: readonly RunEvent[]): Promise<void> {
    for (const late of lateResults(events, own.state)) {
      const telling: Telling = { agent, runId, own, late };
      await this.#retry((tries) => this.#record(telling, tries >= MOST_RESTS)).catch((error) => {
        const { path } = late;
        const message = `Call ${path.join(', ')} of run ${runId} has ended, but its result could not be recorded: ${messageOf(error)} Check what it did before you say that it did not happen.`;
        warn(message, 'store-failed');
        for (const unrecorded of this.#unrecorded) unrecorded.push({ runId, path });
      });
    }
  }

  /** Repeats the work while it returns `soon`, others write first, or the store is away. */
  async #retry(work: (tries: number) => Promise<'soon' | undefined | void>): Promise<void> {
    const { clock } = this.#drives;
    const begunAt = clock();
    for (let tries = 1; ; tries++) {
      try {
        if ((await work(tries)) !== 'soon') return;
      } catch (error) {
        const isOver =
          tries >= MOST_TRIES || (isAway(error) && this.#drives.isStopping && clock() - begunAt >= PATIENCE_MS);
        if (isOver || !(isStale(error) || isAway(error))) throw error;
        if (isStale(error)) continue;
      }
      await this.#sleep(PAUSE_MS);
    }
  }

  /** `soon`: better to wait until the other worker pauses. */
  async #record(telling: Telling, isLast: boolean): Promise<'soon' | undefined> {
    const { agent, runId, own, late, tried } = telling;
    const found = await this.#read(runId, own);
    if (!found) return undefined;
    const { loaded, state } = found;
    if (tried && loaded.events.some((event) => sameJson(event, tried))) return undefined;
    const awaited = !state.ended && isAwaited(late, own.state, state);
    if (awaited === 'soon' && !isLast && !this.#drives.isStopping) return 'soon';
    const isNews = awaited === true;
    const facts = isNews ? [late.event] : endedLate(late, own.state, loaded);
    if (facts.length === 0) return undefined;
    // A fact that changes nothing must not take the claim: a decision would believe that the run is being driven.
    const open = this.#drives.open(loaded.run, state, agent, { claim: isNews ? 'take' : 'none' });
    const { run, journal } = open;
    const said = { by: null, at: this.#drives.clock(), note: 'the call reported its result itself' };
    withdrawing(run, journal, said, () => run.record(...facts));
    await journal.recorded().catch((error: unknown) => {
      telling.tried = isAway(error) ? journal.unwritten[0] : undefined;
      throw error;
    });
    if (journal.holds) await this.#drives.driveOrLeave(open);
    return undefined;
  }

  /**
   * Reads the run. If the store has lost what this process wrote, because a backup was restored or a replica was behind, the
   * bodies may run again or have already: warns about each of them once, and returns undefined.
   */
  async #read(runId: string, { version, hash, state: known }: Recorded) {
    const loaded = await readRun(this.#drives.store, runId);
    const state = loaded && (await trustedState(loaded));
    const isKept = loaded && linkAll(hash, loaded.events.slice(version)) === loaded.run.hash;
    if (state && isKept) return { loaded, state };
    for (const path of underWay(known)) {
      const call = path.join(', ');
      const message = loaded
        ? `The store has lost the start of call ${call} of run ${runId}, for example because a backup was restored. The call ran in this process, and its result cannot be recorded. Check what it did before you approve it again, and whether it acted twice.`
        : `The store no longer has run ${runId}: a backup was restored, or the run was deleted. Its call ${call} ran in this process, and its result cannot be recorded. Check what the call did.`;
      if (!this.#warned.has(message)) warn(message, 'store-failed');
      this.#warned.add(message);
    }
    return undefined;
  }
}
