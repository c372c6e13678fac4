// The program under test: a bank with agents, tools of every kind, policies, grants, a gate and a channel.

import type { Countersign } from '../../src/index.ts';
import {
  type Channel,
  countersign,
  type Gate,
  type Json,
  type Notice,
  NotPerformed,
  type Tool,
  z,
} from '../../src/index.ts';
import type { ToolContext } from '../../src/loop/tool/definition.ts';
import type { Store } from '../../src/runs/port/store.ts';
import type { Life, Node } from '../../src/testing/simulate/life.ts';
import type { EffectOptions } from '../../src/testing/simulate/world.ts';
import type { Claims } from './claims.ts';
import type { Controls } from './controls/controls.ts';
import { ruleOf } from './controls/limits.ts';
import { UNDO } from './controls/undo-names.ts';
import { planningModel } from './plan.ts';

export type Bank = {
  readonly ai: Countersign;
  readonly agent: ReturnType<Countersign['defineAgent']>;
  readonly gate: Gate;
};

/** What a person was told. */
export type Told = Pick<Notice, 'key' | 'type' | 'requestId'>;

/** What all processes of a schedule share, beside the store: the settings, and the notices that arrived. */
export type Shared = {
  readonly leaseMs: number;
  readonly pollMs: number;
  readonly told: Told[];
  readonly claims: Claims;
  readonly maxTurns: number;
  /** Most of the work of a schedule with a channel is its notices, so only some have one. */
  readonly hasChannel: boolean;
  /** Those that the plans of the schedule name. A process has no others: making tools takes longer than running them. */
  readonly tools: ReadonlySet<string>;
  readonly controls: Controls;
};

export const FINANCE: readonly string[] = ['ann', 'ben', 'cara'];
export const PEOPLE: readonly string[] = [...FINANCE, 'dan', 'eve'];
/** How long a request of `late` waits, and how long an effect of `check` may take. */
export const LATE_MS = 15_000;
export const SETTLES_MS = 20_000;
/** The other side of `check` refuses what comes later after the body began: well within `SETTLES_MS` of the start, lease included. */
const REFUSES_AFTER_MS = 8_000;

const amount = z.object({ amount: z.number() });
/** The schema of `pay` adds what the model left out, and each release another value. */
const paid = (isOdd: boolean) => amount.extend({ currency: z.string().default(isOdd ? 'USD' : 'EUR') });
/** A schema that hands on the value that it checks. */
const AMOUNT = { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] };
/** What a body returns that caught its own request. It must not count. */
export const SWALLOWED = 'swallowed';
/** The context of every call. The store must not learn it. */
export const SECRET = 'known to the process alone';
type Amount = { readonly amount: number };
type Body = (input: Amount, ctx: ToolContext) => Promise<unknown>;

/** Starts a process of the bank. Odd releases lack some tools, and ask for others. */
export function openBank(life: Life<Bank>, node: Omit<Node<Bank>, 'app'> & { store: Store }, shared: Shared): Bank {
  const { leaseMs, pollMs, told, hasChannel, controls } = shared;
  const store = shared.claims.of(node.machine, node.store);
  const ai = countersign({
    model: planningModel(life),
    ...{ store, leaseMs, graceMs: 2_000 },
    retry: { attempts: 2, initialDelayMs: 200 },
    people: {
      rolesOf: (person) => (FINANCE.includes(person) ? ['finance'] : []),
      membersOf: (role) => (role === 'finance' ? FINANCE : []),
      managerOf: () => 'dan',
      contactOf: (person) => ({ mail: `${person}@example.com` }),
    },
    ...(hasChannel && { channels: [channelOf(life, told)] }),
    notify: { everyone: ['dan'] },
    ...(controls.limited && { rules: [ruleOf(controls.limited)] }),
  });
  const plain = toolsOf(life, node, ai, shared);
  const tools = controls.plans ? [...plain, ai.planTool({ tools: plain })] : plain;
  const missing: readonly string[] = node.release % 2 === 1 ? ['ship', 'book'] : [];
  const known = tools.filter(({ name }) => !missing.includes(name));
  const assistant = ai.defineAgent({ name: 'assistant', description: 'Helps the helper.', tools: known });
  const helper = ai.defineAgent({ name: 'helper', description: 'Helps.', tools: [...known, assistant] });
  const agent = ai.defineAgent({
    name: 'clerk',
    system: 'You are a clerk.',
    maxTurns: shared.maxTurns,
    tools: [...known, helper],
  });
  const hire = { name: 'hire', description: 'Hires.', inputSchema: { type: 'object' } };
  const gate = ai.gate(hire);
  ai.runs.work({ pollMs, concurrency: 4, onError: (error) => refuseBug(life, error) });
  return { ai, agent, gate };
}

/** A fault of the engine, where any other error is part of the schedule. */
export function refuseBug(life: Life<Bank>, error: unknown): void {
  const { name, message, stack } = error as Error;
  const isBug = ['InvariantError', 'TypeError', 'ReferenceError', 'RangeError', 'SyntaxError'].includes(name);
  const { code = '' } = error as { code?: string };
  // A mistake of this program would hide what it is meant to try.
  if (isBug || code.startsWith('tampered') || code === 'invalid-options')
    life.problems.push(`bug: ${message} ${stack?.split('\n').slice(1, 4).join(' ')}`);
}

const channelOf = (life: Life<Bank>, told: Told[]): Channel => ({
  name: 'desk',
  all: true,
  async deliver({ key, type, requestId }) {
    await pause(life.chance.delay(50));
    if (life.chance.is(life.weather.failing)) throw new Error('The desk is away.');
    told.push({ key, type, requestId });
    if (life.chance.is(life.weather.failing)) throw new Error('The desk did not answer.');
  },
});

function toolsOf(
  life: Life<Bank>,
  { link, machine, release }: Omit<Node<Bank>, 'app'>,
  ai: Countersign,
  { tools: used, claims, controls }: Shared,
): readonly Tool[] {
  const { world, chance, timeline } = life;
  const isOdd = release % 2 === 1;
  const act = (name: string, { idempotencyKey: key }: ToolContext, input: Amount, options: EffectOptions = {}) =>
    world.send(link, name, key, { [name]: input.amount }, { input, ...options });
  /** A body with the troubles of the outside. */
  const body =
    (work: Body): Body =>
    (input, ctx) => {
      claims.begins(ctx.callId, machine);
      return world.during(link, ctx.idempotencyKey, async () => {
        await pause(chance.delay(20));
        const isRefused = !world.effects.some(({ key }) => key === ctx.idempotencyKey) && chance.is(0.1);
        if (chance.is(0.05)) await pause(chance.between(1_000, 30_000), ctx.signal);
        if (isRefused) throw new NotPerformed('The other side refused.');
        const output = await work(input, ctx);
        if (chance.is(0.05)) throw new Error('The other side did not answer.');
        if (chance.is(0.1)) await pause(chance.between(100, 10_000), ctx.signal);
        return output;
      });
    };
  const doing = (name: string, options: EffectOptions = {}) => body((input, ctx) => act(name, ctx, input, options));
  const checked = async (input: Amount, ctx: ToolContext) => {
    const until = timeline.now + REFUSES_AFTER_MS;
    return body(() => act('check', ctx, input, { until, slowMs: REFUSES_AFTER_MS }))(input, ctx);
  };
  const tool = (name: string, config: object, work: Body = doing(name)): readonly Tool[] =>
    used.has(name)
      ? [ai.defineTool({ name, description: `Does ${name}.`, inputSchema: amount, ...config } as never, work as never)]
      : [];
  const finance = { roles: ['finance'] };
  return [
    tool('pay', { needsApproval: true, inputSchema: paid(isOdd) }),
    tool('wire', {
      needsApproval: { policy: { quorum: [{ of: finance, count: 2 }], notRequester: true } },
      expiresIn: 25_000,
      onExpiry: 'approve',
    }),
    tool('send', { needsApproval: true, idempotent: !isOdd }, doing('send', { repeatable: true })),
    tool(
      'ship',
      { needsApproval: true, commits: true },
      body(async (input, ctx) => {
        await pause(chance.delay(10));
        await ctx.commitPoint();
        return act('ship', ctx, input);
      }),
    ),
    tool(
      'check',
      {
        needsApproval: {
          policy: { deciders: { people: ['dan'] }, escalate: [{ after: 5_000, to: finance }], remind: [3_000] },
        },
        settlesWithin: SETTLES_MS,
        verify: (_input: Amount, { idempotencyKey }: { idempotencyKey: string }) => {
          const found = world.effects.find(({ key }) => key === idempotencyKey);
          return found && { output: found.output };
        },
      },
      checked,
    ),
    ask(ai, used),
    tool(
      'book',
      {},
      body(async (input, ctx) => {
        // A step that gives a falsy value has been done all the same.
        await ctx.step('reserve', () => act('reserve', ctx, input).then(() => 0));
        if (ctx.resumed === 'again') ctx.interrupt({ again: true });
        if (ctx.resumed === undefined) {
          try {
            ctx.interrupt({ seat: input.amount });
          } catch (error) {
            if (input.amount % 2 === 0) throw error;
            return SWALLOWED;
          }
        }
        return act('book', ctx, input);
      }),
    ),
    tool('draw', { needsApproval: controls.limited?.isGated ?? false }),
    tool('pledge', { needsApproval: true, recallFor: controls.recallMs ?? 1_000 }),
    tool('spree', { needsApproval: true }),
    tool('give', {
      needsApproval: true,
      undo: (output: Json, given: Amount, ctx: ToolContext) =>
        body(({ amount }, { idempotencyKey }) =>
          world.send(link, UNDO, idempotencyKey, { undone: amount }, { input: { input: { amount }, output } }),
        )(given, ctx),
    }),
    tool('late', { needsApproval: { policy: { onExpiry: 'approve', expireAfter: LATE_MS } } }),
    tool('spend', {
      needsApproval: {
        policy: { deciders: finance, grants: { uses: 3, field: 'amount', total: 5_000, expiresWithin: '1h' } },
      },
    }),
    tool(
      'look',
      { idempotent: true, needsApproval: isOdd, inputSchema: AMOUNT },
      body(async (input, ctx) => {
        const output = await act('look', ctx, { ...input }, { repeatable: true });
        // Its own copy.
        (input as { amount: number }).amount = -1;
        return output;
      }),
    ),
  ].flat();
}

const ask = (ai: Countersign, used: ReadonlySet<string>): readonly Tool[] =>
  used.has('ask')
    ? [ai.defineInterrupt({ name: 'ask', description: 'Asks.', inputSchema: amount, outputSchema: z.string() })]
    : [];

/** Some bodies listen to their signal, most do not. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    setTimeout(resolve, ms);
    if (ms % 3 < 1) signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
