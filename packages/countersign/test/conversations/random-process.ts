// The world of the random histories: one store, a clock, and processes with the same agents. A process may die or stall
// at any moment, its models fail, and answers of the store may get lost.
import { setImmediate } from 'node:timers/promises';
import { type Agent, type Countersign, countersign, type Runs } from 'countersign';
import type { Store } from 'countersign/store';
import { ask, call, LEASE_MS, STUCK, script, tool } from '../sub-agents/kit.ts';
import { away } from './flaky-store.ts';

/** The only source of randomness, so that a seed determines the history. */
export type Dice = {
  chance(of: number): boolean;
  /** Returns undefined for an empty list. */
  pick<T>(items: readonly T[]): T | undefined;
  /** Yields for up to so many turns of the event loop. */
  pause(most: number): Promise<void>;
};

export type World = {
  readonly dice: Dice;
  readonly store: Store;
  readonly clock: () => number;
  readonly pass: (ms: number) => void;
  /** Whether answers of the store get lost at times. */
  readonly losesAnswers: boolean;
  /** While it is calm nothing fails, and all decisions are approvals. */
  calm: boolean;
  /** How often each call has acted, by its idempotency key. A step has the key of its call and a name. */
  readonly acted: Map<string, number>;
  /** The number of processes opened so far. */
  opened: number;
  /** The processes that are alive. */
  readonly processes: Set<Process>;
};

export type Process = {
  readonly nth: number;
  readonly root: Agent;
  readonly runs: Runs;
  /** The keys of the calls that are acting now. */
  readonly busy: ReadonlySet<string>;
  /** Suspends the process for a while at any point, then lets it continue. */
  readonly sleep: () => void;
  /** From now on none of its pending operations complete. */
  readonly kill: () => void;
};

export const MODEL_DOWN = 'The model is down.';
const RENT_EXPIRES_MS = 20_000;

/** The first of the two steps of `book`. The second has the key of the call itself. */
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

/** Opens a process, which belongs to the world until it is killed. */
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

/** The store methods that a process calls while it drives and decides. */
const ASKED: ReadonlySet<unknown> = new Set<keyof Store>([
  'append',
  'claim',
  'due',
  'request',
  'listRequests',
  'listRuns',
  'now',
  'read',
  'release',
  'renew',
]);

/** The store as a process sees it: slow, may lose its answer, and never answers a dead process. */
function farStore(world: World, live: Live): Store {
  return new Proxy(world.store, {
    get(kept, name) {
      const value: unknown = Reflect.get(kept, name);
      if (typeof value !== 'function') return value;
      const method: (...args: readonly unknown[]) => unknown = value.bind(kept);
      if (!ASKED.has(name)) return method;
      return async (...args: readonly unknown[]) => {
        await live(2);
        const isLost = world.losesAnswers && !world.calm && world.dice.chance(0.02);
        const answer = await method(...args);
        await live(2);
        if (isLost) throw away();
        return answer;
      };
    },
  });
}

type Body = { readonly live: Live; readonly act: (key: string) => Promise<string> };

/** A root with a helper and every kind of tool. Each tool acts once, in its own way. */
function team(ai: Countersign, world: World, { live, act }: Body): Agent {
  const gated = { needsApproval: true };
  const pay = tool(ai, 'pay', ({ idempotencyKey }) => act(idempotencyKey), gated);
  const rent = tool(ai, 'rent', ({ idempotencyKey }) => act(idempotencyKey), {
    ...gated,
    expiresIn: RENT_EXPIRES_MS,
    onExpiry: 'approve',
  });
  const trip = tool(ai, 'trip', async ({ idempotencyKey, interrupt, resumed }) => {
    // A stall right before the act would be invisible to the people of the test.
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
