// The people of a simulated agent: some start runs, others decide what it asks, at random or as the test says.
import { isDeepStrictEqual } from 'node:util';
import type { Agent } from '../../loop/agent.ts';
import type { DecideResult } from '../../runs/requests/deciding.ts';
import type { DecisionInput } from '../../runs/requests/decision.ts';
import type { RunRequest } from '../../runs/requests/view.ts';
import type { Runs } from '../../runs/runs.ts';
import type { Life } from './life.ts';
import { keyOf, type RecordedRun } from './records.ts';
import type { SimulatedEffect } from './world.ts';

/** An agent with the runs of its instance. */
export type SimulatedApp = { readonly agent: Agent; readonly runs: Runs };

/** Decides a request; undefined leaves it for later. */
export type Decide = (request: RunRequest, effects: readonly SimulatedEffect[]) => DecisionInput | undefined;

const PEOPLE = ['ann', 'ben'] as const;

/** The body of a tool ends within that time once its process is awake. */
const SETTLES_MS = 10_000;

type Said = { readonly card: RunRequest; readonly answer: DecideResult };

export class Customers {
  readonly #life: Life<SimulatedApp>;
  readonly #decide: Decide | undefined;
  readonly #said: Said[] = [];
  #ended = 0;
  readonly #runs: number;

  constructor(life: Life<SimulatedApp>, prompt: string, decide: Decide | undefined) {
    this.#life = life;
    this.#decide = decide;
    this.#runs = 1 + life.chance.below(2);
    for (let run = 1; run <= this.#runs; run += 1) life.actor(`client ${run}`, () => this.#run(`run-${run}`, prompt));
    for (const person of PEOPLE) life.actor(person, () => this.#person(person));
  }

  /** All runs have ended. */
  get areDone(): boolean {
    return this.#ended === this.#runs;
  }

  /** Starts a run until it is there, and drives it on when it fails. */
  async #run(runId: string, prompt: string): Promise<void> {
    const life = this.#life;
    for (let isThere = false; !isThere; ) {
      const answer = await life.ask(`start ${runId}`, ({ agent }) => agent.start(prompt, { runId, by: 'cleo' }));
      isThere = answer.status === 'done' || (answer.status === 'refused' && codeOf(answer.error) === 'run-exists');
      await life.pause(life.chance.delay(500));
    }
    for (;;) {
      await life.pause(life.chance.delay(5_000));
      const view = await life.ask(`get ${runId}`, ({ runs }) => runs.get(runId));
      if (view.status !== 'done') continue;
      const { status } = view.value;
      if (status === 'failed') await life.ask(`drive ${runId}`, ({ runs }) => runs.drive(runId));
      if (status === 'done' || status === 'cancelled') break;
    }
    this.#ended += 1;
  }

  async #person(by: string): Promise<void> {
    const life = this.#life;
    for (;;) {
      await life.pause(life.chance.delay(3_000));
      if ((await life.store.countRuns()).waiting === 0) continue;
      const listed = await life.ask(`${by} lists`, ({ runs }) => runs.requests({ limit: 20 }));
      if (listed.status !== 'done' || listed.value.items.length === 0) continue;
      const card = life.chance.pick(listed.value.items);
      const decision = this.#decisionOn(card);
      if (decision === undefined) continue;
      const { id, digest } = card;
      const what = `${by} decides ${id}`;
      const answer = await life.ask(what, ({ runs }) => runs.decide(id, decision, { by, digest }));
      if (answer.status === 'done') this.#said.push({ card, answer: answer.value });
    }
  }

  #decisionOn(card: RunRequest): DecisionInput | undefined {
    const { chance, world, awakeMs } = this.#life;
    const key = keyOf(card);
    if (card.kind !== 'doubt') {
      if (this.#decide) return this.#decide(card, world.effects);
      if (card.kind === 'question') return { type: 'respond', output: 'yes' };
      if (card.kind === 'interrupt') return { type: 'restart', resumed: true };
      return chance.is(0.8) ? 'approve' : 'reject';
    }
    // Whoever decides about a call in doubt looks at what happened, and waits while it still may: a frozen process does the rest later.
    if (world.isUnderWay(key) || awakeMs < SETTLES_MS) return undefined;
    const found = world.effects.filter((effect) => effect.key === key || effect.key.startsWith(`${key}:`));
    const [first] = found;
    if (first && found.length === 1) return { type: 'respond', output: first.output };
    return found.length > 1 ? 'reject' : 'approve';
  }

  /** The decisions that were acknowledged and are not recorded. */
  lost(records: readonly RecordedRun[]): readonly string[] {
    return this.#said.flatMap(({ card, answer }) => {
      if (answer.status !== 'settled') return [];
      const request = records.flatMap(({ requests }) => requests).find(({ id }) => id === card.id);
      const kept = request?.settlement?.decision;
      if (isDeepStrictEqual(kept, answer.decision)) return [];
      const [told, recorded] = [answer.decision, kept].map((decision) => JSON.stringify(decision));
      return [`an acknowledged decision is recorded: ${card.id} was decided ${told}, and ${recorded} is recorded`];
    });
  }
}

const codeOf = (error: unknown): unknown => (error as { readonly code?: unknown } | undefined)?.code;
