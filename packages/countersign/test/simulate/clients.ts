// The programs and people that use the bank: they start runs, speak, cancel, delete, and call its gate from outside.
import type { GrantedStart } from '../../src/runs/gates/gate.ts';
import type { Undoing } from '../../src/runs/undo/undoing.ts';
import type { Life } from '../../src/testing/simulate/life.ts';
import { Machine } from '../../src/testing/simulate/timeline.ts';
import { type Bank, PEOPLE, refuseBug, SECRET } from './bank.ts';
import type { Controls } from './controls/controls.ts';
import { planningOf } from './controls/planning.ts';
import { undoAll } from './controls/undos.ts';
import { type Plan, planOf, type Size } from './plan.ts';

/** A run that was started, and what was asked of it. */
export type Started = {
  readonly id: string;
  readonly by: string;
  readonly plan: Plan;
  /** The events that a client heard of, and `end` after the last. */
  readonly heard: string[];
  isKnown: boolean;
  isDeleted: boolean;
};

/** How long a follower waits for the end. */
const PATIENT_MS = 600_000;

export class Clients {
  readonly started: Started[] = [];
  readonly #life: Life<Bank>;
  readonly #isLate: () => boolean;
  readonly #tools: readonly string[];
  readonly #turns: number;
  readonly #controls: Controls;
  /** What came of asking for undos. */
  readonly undoings: Undoing[] = [];
  #amounts = 0;

  constructor(life: Life<Bank>, { tools, turns }: Size, controls: Controls, isLate: () => boolean) {
    this.#life = life;
    this.#tools = tools;
    this.#turns = turns;
    this.#isLate = isLate;
    this.#controls = controls;
  }

  /** Whole numbers, each another one; an edit adds a half. Some are more than a grant allows. */
  readonly amount = (): number => {
    this.#amounts += 1;
    return this.#amounts + this.#life.chance.pick([0, 0, 300, 900, 2_000]);
  };

  #plan(): Plan {
    if (this.#controls.plans) return planningOf(this.#life.chance, this.amount);
    return planOf(this.#life.chance, this.#tools, this.amount, this.#turns);
  }

  /** Starts a run, and does to it what people do. */
  async run(index: number): Promise<void> {
    const life = this.#life;
    const { chance } = life;
    const one: Started = {
      id: `r${index}`,
      by: chance.pick(['ann', 'ann', 'dan', 'eve']),
      plan: this.#plan(),
      heard: [],
      isKnown: false,
      isDeleted: false,
    };
    this.started.push(one);
    await life.pause(chance.between(0, 10_000));
    const prompt = JSON.stringify(one.plan);
    while (!one.isKnown) {
      const answer = await life.ask(`start ${one.id}`, ({ agent }) =>
        agent.start(prompt, { runId: one.id, by: one.by, context: { secret: SECRET } }),
      );
      if (answer.status === 'refused') refuseBug(life, answer.error);
      const wasThere = answer.status === 'refused' && (answer.error as { code?: string }).code === 'run-exists';
      one.isKnown = answer.status === 'done' || wasThere;
      await life.pause(chance.delay(300));
    }
    if (chance.is(0.15)) life.actor(`follower of ${one.id}`, () => this.#follow(one));
    if (chance.is(0.25)) await this.#speak(one);
    if (chance.is(0.15)) await this.#cancel(one);
    await this.#look(one);
    // Several ask at the same time.
    if (this.#controls.undos)
      for (let asking = 1 + chance.below(2); asking > 0; asking -= 1)
        life.actor(`undoer ${asking} of ${one.id}`, () => undoAll(life, one, this.undoings));
  }

  async #speak({ id, by }: Started): Promise<void> {
    const life = this.#life;
    await life.pause(life.chance.between(0, 30_000));
    const prompt = life.chance.is(0.5) ? 'Hurry up.' : JSON.stringify(this.#plan());
    const whilePending = life.chance.pick(['cancel', 'queue', 'refuse'] as const);
    const answer = await life.ask(`speak to ${id}`, ({ agent }) =>
      agent.generate({ runId: id, prompt, whilePending, by } as never),
    );
    if (answer.status === 'refused') refuseBug(life, answer.error);
  }

  /** A run that has reached its limit continues with the next message. */
  async #continue({ id, by }: Started): Promise<void> {
    await this.#life.ask(`continue ${id}`, ({ agent }) =>
      agent.generate({ runId: id, prompt: 'Go on.', whilePending: 'queue', by } as never),
    );
  }

  /** Follows the events of a run to its end, if the process lives as long. */
  async #follow({ id, heard }: Started): Promise<void> {
    const life = this.#life;
    await life.ask(
      `follow ${id}`,
      async ({ ai }) => {
        for await (const { seq, type } of ai.runs.events(id)) heard.push(`${seq} ${type}`);
        heard.push('end');
      },
      PATIENT_MS,
    );
  }

  async #cancel({ id, by }: Started): Promise<void> {
    const life = this.#life;
    await life.pause(life.chance.between(0, 30_000));
    await life.ask(`cancel ${id}`, ({ ai }) => ai.runs.cancel(id, { by }));
  }

  /** Drives a run on that has failed, and deletes one that has ended. */
  async #look(one: Started): Promise<void> {
    const life = this.#life;
    const isDeleted = life.chance.is(0.1);
    for (;;) {
      await life.pause(life.chance.delay(5_000));
      // A look into the store first: a program that asks again and again would only be slow.
      const { status: now } = (await life.store.read(one.id, { limit: 1 }))?.run ?? {};
      if (now === 'running' || now === 'waiting') continue;
      const view = await life.ask(`get ${one.id}`, ({ ai }) => ai.runs.get(one.id));
      if (view.status !== 'done') continue;
      const { status } = view.value;
      if (status === 'failed') await life.ask(`drive ${one.id}`, ({ ai }) => ai.runs.drive(one.id));
      if (view.value.finishReason === 'max-turns' && !this.#isLate()) await this.#continue(one);
      if (status !== 'done' && status !== 'cancelled') continue;
      if (!isDeleted || this.#isLate()) return;
      one.isDeleted = true;
      await life.ask(`delete ${one.id}`, ({ ai }) => ai.runs.delete(one.id));
      return;
    }
  }

  /** A program outside: it asks the gate, performs the call itself, and reports. Answers get lost, and it may be late. */
  async outside(index: number): Promise<void> {
    const life = this.#life;
    const { chance } = life;
    await life.pause(chance.between(0, 10_000));
    const key = `k${chance.below(index + 1)}`;
    const by = chance.pick(PEOPLE);
    const input = { amount: 7_000_000 + Number(key.slice(1)) };
    for (let starts = 0; ; ) {
      const found = await life.ask(`gate ${key}`, ({ gate }) => gate.request(input, { key, by }));
      if (found.status === 'refused') refuseBug(life, found.error);
      if (found.status === 'done') {
        const { status } = found.value;
        if (status === 'done' || status === 'failed' || status === 'rejected') return;
        if (status === 'approved') await this.#perform(key, `${by}-${index}-${starts++}`);
      }
      await life.pause(chance.delay(2_000));
    }
  }

  async #perform(key: string, token: string): Promise<void> {
    const life = this.#life;
    const { chance, server, world, timeline } = life;
    const lease = chance.pick([5_000, 30_000]);
    const granted = await life.ask(`gate starts ${key}`, ({ gate }) => gate.start({ key }, { lease, token }));
    if (granted.status !== 'done' || granted.value.status !== 'granted') return;
    const { runId, input, until } = granted.value as GrantedStart<{ amount: number }>;
    if (server.wallClock() >= until) return;
    const machine = new Machine(`outside ${key}`, timeline);
    const link = {
      machine,
      server,
      weather: () => life.weather,
      isCut: () => false,
      die: () => undefined,
      freeze: () => undefined,
    };
    // What comes after that is refused by the other side.
    const actsUntil = timeline.now + until - server.wallClock() - 600;
    // Some use all of their time.
    await life.pause(chance.is(0.3) ? chance.between(0, lease - 1_500) : chance.delay(500));
    const act = world.send(link, 'hire', `gate:${runId}`, 'hired', { input, until: actsUntil });
    const isDone = await Promise.race([
      act.then(
        () => true,
        () => false,
      ),
      life.pause(20_000).then(() => false),
    ]);
    const report = isDone ? { output: 'hired' } : { error: 'It came too late.', notPerformed: true };
    if (chance.is(0.2)) await life.pause(chance.between(1_000, 60_000));
    for (let times = 1 + chance.below(3); times > 0; times -= 1) {
      const answer = await life.ask(`gate finishes ${key}`, ({ gate }) => gate.finish({ key }, token, report));
      if (answer.status === 'refused') refuseBug(life, answer.error);
      if (answer.status !== 'silence') return;
    }
  }
}
