// Puts on record what bodies came to that finished after their run was taken away.
import type { RunEvent } from '../core/event.ts';
import type { State } from '../core/state.ts';
import type { Run } from '../loop/run.ts';
import type { Journal } from './journal.ts';
import { endedLate, isAwaited, isForgotten, type LateResult, lateResults, warnOfForgotten } from './late.ts';
import type { RunRecord, Store } from './store.ts';
import { isAway, isStale } from './store-errors.ts';
import { trustedState } from './view.ts';

export type TellingLateOptions<Agent> = {
  readonly store: Store;
  readonly sleep: (ms: number) => Promise<void>;
  readonly isStopping: () => boolean;
  /** To write in it; fails if others write first. */
  readonly open: (
    run: RunRecord,
    state: State,
    agent: Agent,
    claim: { readonly claim?: 'none' },
  ) => { readonly run: Run; readonly journal: Journal };
  /** The run goes on with what was awaited. */
  readonly goOn: (agent: Agent, run: Run, journal: Journal) => Promise<unknown>;
};

/** For a store that is away, and for those who go on inside a call to come to rest. */
const PAUSE_MS = 200;
const MOST_TRIES = 50;

export class TellingLate<Agent> {
  readonly #options: TellingLateOptions<Agent>;
  readonly #underWay = new Set<Promise<void>>();

  constructor(options: TellingLateOptions<Agent>) {
    this.#options = options;
  }

  get underWay(): Iterable<Promise<void>> {
    return this.#underWay;
  }

  /**
   * What they say is the truth, and settles the doubt that was raised about them, unless a person has settled it already:
   * then it is only put on record. Does not fail: where nothing can be written, the doubt stays.
   */
  tell(agent: Agent, runId: string, known: State, events: readonly RunEvent[]): Promise<void> {
    const telling = this.#tellAll(agent, runId, known, events)
      .catch(() => undefined)
      .finally(() => this.#underWay.delete(telling));
    this.#underWay.add(telling);
    return telling;
  }

  async #tellAll(agent: Agent, runId: string, known: State, events: readonly RunEvent[]): Promise<void> {
    for (const result of lateResults(events)) await this.#tellOne(agent, runId, known, result);
  }

  async #tellOne(agent: Agent, runId: string, known: State, result: LateResult): Promise<void> {
    for (let triesLeft = MOST_TRIES; triesLeft > 0; triesLeft--) {
      try {
        const told = await this.#try(agent, runId, known, result, triesLeft === 1);
        if (told !== 'soon') return;
        await this.#options.sleep(PAUSE_MS);
      } catch (error) {
        if (isStale(error)) continue;
        if (!isAway(error) || triesLeft === 1) throw error;
        await this.#options.sleep(PAUSE_MS);
      }
    }
  }

  /** `soon`: it is better to wait until those who go on have come to rest. */
  async #try(agent: Agent, runId: string, known: State, result: LateResult, isLast: boolean): Promise<'told' | 'soon'> {
    const { store, isStopping, open, goOn } = this.#options;
    const loaded = await store.read(runId);
    if (!loaded) return 'told';
    const state = trustedState(loaded);
    if (isForgotten(result, known, state)) {
      warnOfForgotten(runId, result);
      return 'told';
    }
    const awaited = !state.ended && isAwaited(result, known, state);
    if (awaited === 'soon' && !isLast && !isStopping()) return 'soon';
    const isNews = awaited === true;
    const facts = isNews ? [result] : endedLate(result, known, loaded);
    if (facts.length === 0) return 'told';
    // What changes nothing leaves the claim to who decides meanwhile: whoever does not get it believes the run is driven.
    const { run, journal } = open(loaded.run, state, agent, isNews ? {} : { claim: 'none' });
    run.record(...facts);
    await journal.recorded();
    if (journal.holds) await goOn(agent, run, journal);
    return 'told';
  }
}
