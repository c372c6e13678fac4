// Records the results of bodies that finished after another worker took their run over.
import type { RunEvent } from '../../core/event.ts';
import type { State } from '../../core/state.ts';
import type { Run } from '../../loop/run.ts';
import { type Journal, PATIENCE_MS } from '../journal/journal.ts';
import { readRun } from '../port/read-run.ts';
import type { RunRecord, Store } from '../port/store.ts';
import { isAway, isStale } from '../port/store-errors.ts';
import { trustedState } from '../questions/view.ts';
import { withdrawing } from '../questions/withdrawing.ts';
import {
  type CallPath,
  endedLate,
  isAwaited,
  isOfAgent,
  isStartLost,
  type LateResult,
  lateResults,
  pathOf,
  timesRecordedLate,
  underWay,
  warnOfLostStart,
  warnOfUnrecorded,
} from './late-results.ts';

export type LateRecorderOptions<Agent> = {
  readonly store: Store;
  readonly clock: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  readonly isStopping: () => boolean;
  /** Opens the run for writing; fails if others write first. */
  readonly open: (
    run: RunRecord,
    state: State,
    agent: Agent,
    claim: { readonly claim?: 'none' },
  ) => { readonly run: Run; readonly journal: Journal };
  /** Continues the run with the result. */
  readonly goOn: (agent: Agent, run: Run, journal: Journal) => Promise<unknown>;
};

/** A call whose result could not be recorded; the process only warned. `path`: its id, after those of the calls around it. */
export type UnrecordedCall = { readonly runId: string; readonly path: readonly string[] };

/** The result of a stop. */
export type Stopped = {
  /** Calls whose results could not be recorded in time. A person will be asked about them and should know. */
  readonly unrecorded: readonly UnrecordedCall[];
};

/** `before`: how often the same result was recorded before a write that may or may not have happened. */
type Late<Agent> = {
  readonly agent: Agent;
  readonly runId: string;
  readonly known: State;
  readonly result: LateResult;
  before?: number | undefined;
};

const PAUSE_MS = 200;
/** While the store is away. */
const MOST_TRIES = PATIENCE_MS / PAUSE_MS;
/** While another worker runs the sub-agent. */
const MOST_RESTS = 50;

export class LateRecorder<Agent> {
  readonly #options: LateRecorderOptions<Agent>;
  readonly #underWay = new Set<Promise<void>>();
  readonly #left = new Set<Promise<void>>();
  /** One list for each stop in progress. */
  readonly #unrecorded = new Set<UnrecordedCall[]>();
  readonly #warned = new WeakMap<State, Set<string>>();

  constructor(options: LateRecorderOptions<Agent>) {
    this.#options = options;
  }

  get underWay(): Iterable<Promise<void>> {
    return this.#underWay;
  }

  /** Waits for a body that still runs after its run was taken over. */
  readonly left = (body: Promise<void>): void => {
    const ended = body.finally(() => this.#left.delete(ended));
    this.#left.add(ended);
  };

  /** Resolves once these bodies have ended and their results are recorded: a stop interrupts no body. */
  async ended(settled: Promise<void>): Promise<Stopped> {
    const unrecorded: UnrecordedCall[] = [];
    this.#unrecorded.add(unrecorded);
    await settled;
    while (this.#left.size + this.#underWay.size > 0) await Promise.allSettled([...this.#left, ...this.#underWay]);
    this.#unrecorded.delete(unrecorded);
    return { unrecorded };
  }

  /**
   * Records late results. They settle the doubt about their calls, unless a person already has: then they are only recorded.
   * Never rejects: if nothing can be written, the process warns and the doubt stays.
   */
  tell(agent: Agent, runId: string, known: State, events: readonly RunEvent[]): Promise<void> {
    const telling = this.#tellAll(agent, runId, known, events).finally(() => this.#underWay.delete(telling));
    this.#underWay.add(telling);
    return telling;
  }

  /**
   * The run was taken over while these bodies ran, and they may stop without a result. Other workers find them in doubt,
   * unless the store has lost their start: then the process warns.
   */
  lost(runId: string, known: State): void {
    const paths = underWay(known);
    if (paths.length === 0) return;
    const looking = this.#look(runId, known, paths).finally(() => this.#underWay.delete(looking));
    this.#underWay.add(looking);
  }

  async #look(runId: string, known: State, paths: readonly CallPath[]): Promise<void> {
    const { store, sleep, isStopping } = this.#options;
    for (let tries = 1; ; tries++) {
      try {
        const loaded = await readRun(store, runId);
        for (const path of paths)
          if (!loaded || isStartLost(path, known, loaded.events)) this.#warn(runId, known, path, !loaded);
        return;
      } catch (error) {
        // A body that finishes reports its own result.
        if (tries >= MOST_TRIES || isStopping() || !isAway(error)) return;
      }
      await sleep(PAUSE_MS);
    }
  }

  /** Warns once per call: a body that was reported when its run was lost may still finish. */
  #warn(runId: string, known: State, path: CallPath, isGone: boolean): void {
    const warned = this.#warned.get(known) ?? new Set<string>();
    this.#warned.set(known, warned);
    const call = path.join('.');
    if (!warned.has(call)) warnOfLostStart(runId, path, isGone);
    warned.add(call);
  }

  async #tellAll(agent: Agent, runId: string, known: State, events: readonly RunEvent[]): Promise<void> {
    for (const result of lateResults(events).filter((result) => !isOfAgent(result, known)))
      await this.#tellOne({ agent, runId, known, result }).catch((error) => {
        warnOfUnrecorded(runId, result, error);
        for (const unrecorded of this.#unrecorded) unrecorded.push({ runId, path: pathOf(result) });
      });
  }

  async #tellOne(late: Late<Agent>): Promise<void> {
    const { clock, sleep, isStopping } = this.#options;
    const begunAt = clock();
    for (let tries = 1; ; tries++) {
      try {
        const told = await this.#try(late, tries >= MOST_RESTS);
        if (told !== 'soon') return;
      } catch (error) {
        const isOver = tries >= MOST_TRIES || (isAway(error) && isStopping() && clock() - begunAt >= PATIENCE_MS);
        if (isOver || !(isStale(error) || isAway(error))) throw error;
        if (isStale(error)) {
          late.before = undefined;
          continue;
        }
      }
      await sleep(PAUSE_MS);
    }
  }

  /** `soon`: better to wait until the other worker pauses. */
  async #try(late: Late<Agent>, isLast: boolean): Promise<'told' | 'soon'> {
    const { store, clock, isStopping, open, goOn } = this.#options;
    const { agent, runId, known, result } = late;
    const loaded = await readRun(store, runId);
    if (!loaded || isStartLost(pathOf(result), known, loaded.events)) {
      this.#warn(runId, known, pathOf(result), !loaded);
      return 'told';
    }
    const state = await trustedState(loaded);
    const times = timesRecordedLate(result, loaded.events);
    if (late.before !== undefined && times > late.before) return 'told';
    const awaited = !state.ended && isAwaited(result, known, state);
    if (awaited === 'soon' && !isLast && !isStopping()) return 'soon';
    const isNews = awaited === true;
    const facts = isNews ? [result] : endedLate(result, known, loaded);
    if (facts.length === 0) return 'told';
    // A fact that changes nothing must not take the claim: a decision would believe that the run is being driven.
    const { run, journal } = open(loaded.run, state, agent, isNews ? {} : { claim: 'none' });
    const said = { by: null, at: clock(), note: 'the call reported its result itself' };
    withdrawing(run, journal, said, () => run.record(...facts));
    late.before = times;
    await journal.recorded();
    if (journal.holds) await goOn(agent, run, journal);
    return 'told';
  }
}
