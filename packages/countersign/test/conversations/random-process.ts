// The world of the random histories: one store, a clock, and processes with the same agents. A process may die or fall
// asleep at any moment, its models fail, and what the store answers may be lost on the way to it.
import { setImmediate } from 'node:timers/promises';
import { type Agent, type Countersign, countersign, type Runs } from 'countersign';
import type { Store } from 'countersign/store';
import { ask, call, LEASE_MS, STUCK, script, tool } from '../sub-agents/kit.ts';
import { away } from './flaky-store.ts';

/** All chance comes from here, so that a seed says what happens. */
export type Dice = {
  chance(of: number): boolean;
  /** Undefined where there is nothing to pick from. */
  pick<T>(items: readonly T[]): T | undefined;
  /** Lets others go on, for up to so many turns of the event loop. */
  pause(most: number): Promise<void>;
};

export type World = {
  readonly dice: Dice;
  readonly store: Store;
  readonly clock: () => number;
  readonly pass: (ms: number) => void;
  /** Whether answers of the store are lost at times. */
  readonly losesAnswers: boolean;
  /** While it is calm nothing fails, and nobody refuses anything. */
  calm: boolean;
  /** How often each call has acted outside, by its idempotency key. A step has the key of its call and a name. */
  readonly acted: Map<string, number>;
  /** How many processes there were so far. */
  opened: number;
  /** Those that live. */
  readonly processes: Set<Process>;
};

export type Process = {
  readonly nth: number;
  readonly root: Agent;
  readonly runs: Runs;
  /** The keys of the calls that are in the middle of acting. */
  readonly busy: ReadonlySet<string>;
  /** It stands still for a while, in the middle of whatever it does, and then goes on as if nothing had been. */
  readonly sleep: () => void;
  /** From now on nothing that it asks for or waits for comes back. */
  readonly kill: () => void;
};

export const MODEL_DOWN = 'The model is down.';
const RENT_EXPIRES_MS = 20_000;

/** The first of the two steps of `book`; the second has the key of the call itself. */
export const firstStep = (key: string) => `${key}#first`;
export const outputOf = (key: string) => `did ${key}`;

export function newDice(seed: number): Dice {
  let last = seed * 7919;
  const random = () => {
    last = (last * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return last / 4_294_967_296;
  };
  return {
    chance: (of) => random() < of,
    pick: (items) => items[Math.floor(random() * items.length)],
    pause: async (most) => {
      for (let left = random() * most; left > 0; left -= 1) await setImmediate();
    },
  };
}

export const isBusy = ({ processes }: World, key: string): boolean =>
  [...processes].some(({ busy }) => busy.has(key) || busy.has(firstStep(key)));

/** A new process, which is one of the world until it is killed. */
export function openProcess(world: World): Process {
  world.opened += 1;
  let dead = false;
  let asleep: Promise<unknown> | undefined;
  const busy = new Set<string>();
  const live = async (most: number) => {
    await world.dice.pause(most);
    await asleep;
    if (dead) await STUCK;
  };
  const act = async (key: string) => {
    busy.add(key);
    await live(8);
    world.acted.set(key, (world.acted.get(key) ?? 0) + 1);
    await live(8);
    busy.delete(key);
    return outputOf(key);
  };
  const store = farStore(world, live);
  const ai = countersign({ store, clock: world.clock, leaseMs: LEASE_MS, retry: false });
  const kill = () => {
    dead = true;
    world.processes.delete(process);
  };
  const sleep = () => {
    asleep = world.dice.pause(150);
  };
  const process = { nth: world.opened, root: team(ai, world, { live, act }), runs: ai.runs, busy, sleep, kill };
  world.processes.add(process);
  return process;
}

type Live = (most: number) => Promise<void>;

/** What a process asks of its store while it drives and decides. */
const ASKED: ReadonlySet<unknown> = new Set<keyof Store>([
  'append',
  'claim',
  'due',
  'interrupt',
  'listInterrupts',
  'listRuns',
  'now',
  'read',
  'release',
  'renew',
]);

/** The store as a process sees it: it takes a while, may lose its answer, and never answers the dead. */
function farStore(world: World, live: Live): Store {
  return new Proxy(world.store, {
    get(kept, name) {
      const value: unknown = Reflect.get(kept, name);
      if (typeof value !== 'function') return value;
      const method: (...given: readonly unknown[]) => unknown = value.bind(kept);
      if (!ASKED.has(name)) return method;
      return async (...given: readonly unknown[]) => {
        await live(2);
        const isLost = world.losesAnswers && !world.calm && world.dice.chance(0.02);
        const answer = await method(...given);
        await live(2);
        if (isLost) throw away();
        return answer;
      };
    },
  });
}

type Body = { readonly live: Live; readonly act: (key: string) => Promise<string> };

/** A root that asks a helper, and between them every kind of tool: each acts once, in its own way. */
function team(ai: Countersign, world: World, { live, act }: Body): Agent {
  const gated = { needsApproval: true };
  const pay = tool(ai, 'pay', ({ idempotencyKey }) => act(idempotencyKey), gated);
  const rent = tool(ai, 'rent', ({ idempotencyKey }) => act(idempotencyKey), {
    ...gated,
    expiresIn: RENT_EXPIRES_MS,
    onExpiry: 'approve',
  });
  const trip = tool(ai, 'trip', async ({ idempotencyKey, interrupt, resumed }) => {
    // A sleep before it acts would be one that nobody outside can see.
    if (resumed !== 2) await live(3);
    if (resumed === undefined) interrupt({ n: 1 });
    if (resumed === 1) interrupt({ n: 2 });
    return act(idempotencyKey);
  });
  const inSteps = tool(
    ai,
    'book',
    async ({ idempotencyKey, step }) => {
      await step('first', () => act(firstStep(idempotencyKey)));
      return step('second', () => act(idempotencyKey));
    },
    gated,
  );
  const committing = tool(
    ai,
    'commit',
    async ({ idempotencyKey, commitPoint }) => {
      await live(8);
      await commitPoint();
      return act(idempotencyKey);
    },
    { ...gated, commits: true },
  );
  const lookUp = async (key: string) => {
    await live(4);
    if (world.dice.chance(0.1)) throw new Error('The look-up failed.');
    return world.acted.has(key) && !isBusy(world, key) ? { output: outputOf(key) } : undefined;
  };
  const verified = tool(ai, 'verified', ({ idempotencyKey }) => act(idempotencyKey), {
    ...gated,
    verify: (_input, { idempotencyKey }) => lookUp(idempotencyKey),
  });
  const thinks = async () => {
    await live(8);
    if (!world.calm && world.dice.chance(0.06)) throw new Error(MODEL_DOWN);
  };
  const helperTurns = [[call('pay', {}, 'x'), call('trip', {}, 'y')], [call('verified', {}, 'x')]];
  const helper = ai.defineAgent({
    name: 'helper',
    tools: [pay, trip, verified],
    model: script(helperTurns, thinks),
  });
  const turns = [
    [call('pay', {}, 'a'), ask('helper', 'b'), call('trip', {}, 'c')],
    [call('book', {}, 'a'), call('commit', {}, 'b'), call('rent', {}, 'c')],
    [ask('helper', 'x'), call('verified', {}, 'a'), call('pay', {}, 'b')],
  ];
  return ai.defineAgent({
    name: 'root',
    tools: [pay, rent, trip, inSteps, committing, verified, helper],
    model: script(turns, thinks),
  });
}
