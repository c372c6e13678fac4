// One scene of the playground: a store, a bank, the engine that runs now, and what a visitor can do with them.
import {
  CountersignError,
  type DecideResult,
  type DecisionInput,
  memoryStore,
  type RunRequest,
  type Store,
} from 'countersign';
// The words of `countersign show`.
import { createTimeline, type Entry } from '../../../../packages/server/src/cli/print/timeline.ts';
import { type Engine, type Moment, type Payment, startEngine } from './engine.ts';

export type SceneName = 'payment' | 'crash' | 'forgery' | 'approvers';
export type Person = { readonly by: string; readonly roles: readonly string[] };

export const ANN: Person = { by: 'Ann', roles: ['finance'] };

/** What the engine answered to the last decision. */
export type Answer = { readonly text: string; readonly refused: boolean };

/** What the page shows. */
export type Shown = {
  readonly requests: readonly RunRequest[];
  readonly ledger: readonly Payment[];
  readonly timeline: readonly Entry[];
  readonly answer: Answer | undefined;
  /** The number of the engine that runs now, and whether it waits at the chosen moment. */
  readonly engine: number;
  readonly stopped: boolean;
};

export class Scene {
  readonly #store = memoryStore();
  readonly #ledger: Payment[] = [];
  readonly #votes: number;
  readonly #show: (shown: Shown) => void;
  readonly #runs: string[] = [];
  #engine: Engine;
  #engines = 0;
  #stopped = false;
  #answer: Answer | undefined;
  /** Someone changed the amount in the store. */
  #tampered = false;

  constructor({ votes }: { readonly votes: number }, show: (shown: Shown) => void) {
    this.#votes = votes;
    this.#show = show;
    this.#engine = this.#startEngine();
    this.#store.watch(() => void this.#refresh());
  }

  /** The agent is asked to pay. With a moment, the engine stops there, once the payment is approved. */
  async ask(prompt: string, moment?: Moment): Promise<void> {
    const { id } = await this.#engine.start(prompt, moment);
    this.#runs.push(id);
    await this.#refresh();
  }

  /** The worker of the engine runs the call, as if the person had decided in another process. */
  decide(request: RunRequest, decision: DecisionInput, { by, roles }: Person, digest = request.digest): Promise<void> {
    return this.#answered(async () => {
      const result = await this.#engine.runs.decide(request.id, decision, { by, roles, digest, drive: false });
      return answerTo(result, request.progress?.votes.length);
    });
  }

  /** Five tabs send the same approval at the same moment. */
  approveFiveTimes(request: RunRequest): Promise<void> {
    return this.#answered(async () => {
      const tabs = Array.from({ length: 5 }, () => this.#engine.runs.decide(request, 'approve', ANN));
      const [first] = await Promise.all(tabs);
      return answerTo(first as DecideResult);
    });
  }

  /** Changes the amount in the store, and approves before anyone changes it back. */
  async approveTampered(request: RunRequest): Promise<void> {
    this.#tampered = true;
    await this.decide(request, 'approve', ANN);
    this.#tampered = false;
    await this.#refresh();
  }

  letContinue(): void {
    this.#stopped = false;
    this.#engine.letContinue();
  }

  /** The engine is gone. Another starts on the same store, and takes over once the claim of the first has lapsed. */
  async crash(): Promise<void> {
    this.#stopped = false;
    this.#answer = undefined;
    this.#engine.crash();
    this.#engine = this.#startEngine();
    await this.#refresh();
  }

  close(): void {
    this.#engine.crash();
  }

  #startEngine(): Engine {
    this.#engines += 1;
    const reached = () => {
      this.#stopped = true;
      void this.#refresh();
    };
    const store = changing(this.#store, () => this.#tampered);
    return startEngine({ store, ledger: this.#ledger, reached }, this.#votes);
  }

  async #answered(decide: () => Promise<Answer>): Promise<void> {
    try {
      this.#answer = await decide();
    } catch (error) {
      if (!(error instanceof CountersignError)) throw error;
      this.#answer = { text: `Refused (${error.code}): ${error.message}`, refused: true };
    }
    await this.#refresh();
  }

  async #refresh(): Promise<void> {
    const { runs } = this.#engine;
    const { items } = await runs.requests();
    const events = await Promise.all(this.#runs.map((id) => runs.recorded(id)));
    this.#show({
      requests: items,
      ledger: [...this.#ledger],
      timeline: events.flatMap((run) => {
        const entriesOf = createTimeline();
        return run.flatMap((event, index) => entriesOf({ ...event, seq: index + 1 }));
      }),
      answer: this.#answer,
      engine: this.#engines,
      stopped: this.#stopped,
    });
  }
}

function answerTo(result: DecideResult, votesBefore = 0): Answer {
  if (result.status === 'settled') return { text: `Recorded once, by ${result.by}.`, refused: false };
  const missing = result.missing.reduce((sum, { count }) => sum + count, 0);
  const more = `${missing} more vote is missing.`;
  if (result.votes.length === votesBefore)
    return { text: `Not counted: one person counts once. ${more}`, refused: true };
  return { text: `Recorded: the vote of ${result.votes.at(-1)?.by}. ${more}`, refused: false };
}

/** The store with another amount in what it returns, as after an UPDATE in its database. */
function changing(store: Store, isChanged: () => boolean): Store {
  const changed = async <T>(found: Promise<T>): Promise<T> => {
    const value = await found;
    return isChanged() && value !== undefined
      ? JSON.parse(JSON.stringify(value).replaceAll('"amount":950', '"amount":9500'))
      : value;
  };
  return {
    ...store,
    read: (...given) => changed(store.read(...given)),
    claim: (...given) => changed(store.claim(...given)),
    request: (id) => changed(store.request(id)),
  };
}
