// Shared by the sub-agent tests: one store, a clock that the test moves, and any number of processes.
import {
  type Agent,
  type AgentConfig,
  type Countersign,
  countersign,
  type Json,
  type Message,
  memoryStore,
  type RunEvent,
  type RunRequest,
  type Runs,
  type Tool,
  type ToolConfig,
  type ToolContext,
  z,
} from 'countersign';
import type { Store } from 'countersign/store';
import { type ScriptedModel, type ScriptedTurn, scriptedModel } from 'countersign/testing';
import { expect } from 'vitest';

export type Calls = NonNullable<ScriptedTurn['calls']>;

/** Defines the agents of the n-th process, and returns the root. */
export type Define = (ai: Countersign, nth: number) => Agent;

/** Called before each reply. A returned string becomes the reply. */
type Thinks = (turn: number, messages: readonly Message[]) => string | void | Promise<string | void>;

/** The input of the calls in these tests. */
type CallInput = { readonly to: string; readonly out: Json };

/** Which agent has the tools: the root or a sub-agent. */
export type Where = 'root' | 'inside';
export const EVERYWHERE: readonly Where[] = ['root', 'inside'];

export const LEASE_MS = 60_000;

/** A process dies here: nothing after it ever happens. */
export const STUCK = new Promise<never>(() => {});

/** One store and any number of processes. */
export function world(makeStore = (clock: () => number): Store => memoryStore({ now: clock })) {
  let now = 1_800_000_000_000;
  const store = makeStore(() => now);
  let opened = 0;
  const open = (define: Define) => {
    opened += 1;
    const ai = countersign({ store, clock: () => now, leaseMs: LEASE_MS, retry: false });
    return { root: define(ai, opened), runs: ai.runs };
  };
  const pass = (ms: number) => {
    now += ms;
  };
  /** Lets another process take over the run long after the last one stalled, until the run pauses or ends. */
  const takeOver = async (id: string, define: Define) => {
    pass(2 * LEASE_MS);
    const other = open(define);
    await other.runs.drive(id);
    await other.runs.settled();
    return other;
  };
  /** Returns all recorded events of a run as a string. */
  const recorded = async (id: string) => JSON.stringify((await store.read(id))?.events ?? []);
  /** The effects of the tools, in order. */
  const effects: string[] = [];
  return { store, effects, open, takeOver, pass, recorded };
}

/** A model that makes these calls turn by turn, counted by tool messages, and then repeats the tool results. */
export const script = (turns: readonly Calls[], thinks?: Thinks, label = 'end'): ScriptedModel =>
  scriptedModel(async ({ messages }) => {
    const turn = messages.filter(({ role }) => role === 'tool').length;
    const said = await thinks?.(turn, messages);
    if (said !== undefined) return said;
    const calls = turns[turn];
    return calls ? { calls } : `${label}: ${JSON.stringify(answersIn(messages))}`;
  });

const answersIn = (messages: readonly Message[]): readonly unknown[] =>
  messages.flatMap(({ role, content }) =>
    role === 'tool' ? content.flatMap((part) => ('toolResponse' in part ? [part.toolResponse.output] : [])) : [],
  );

export const call = (name: string, input: object = {}, ref = `ref-${name}`): Calls[number] => ({ name, ref, input });

/** Calls a sub-agent. */
export const ask = (agent: string, ref = `ref-${agent}`) => call(agent, { prompt: 'Go' }, ref);

export const tool = (
  ai: Countersign,
  name: string,
  body: (ctx: ToolContext, input: CallInput) => unknown,
  config: Partial<Omit<ToolConfig, 'inputSchema' | 'outputSchema'>> = {},
): Tool =>
  ai.defineTool(
    { name, description: '', inputSchema: z.looseObject({}), ...config },
    (input, ctx) => body(ctx, input as CallInput) as never,
  );

/** A gated tool that records its payments. */
export const payTool = (ai: Countersign, paid: string[]): Tool =>
  tool(
    ai,
    'pay',
    () => {
      paid.push('pay');
      return 'paid';
    },
    { needsApproval: true },
  );

/** A question with a string as its answer. */
export const question = (ai: Countersign, name: string): Tool =>
  ai.defineInterrupt({ name, description: '', inputSchema: z.object({}), outputSchema: z.string() });

/** A root that calls this agent. */
export const above = (ai: Countersign, agent: Agent): Agent =>
  ai.defineAgent({ name: 'root', tools: [agent], model: script([[ask(agent.name)]]) });

/** A root that calls a helper with this config. */
export const helped = (ai: Countersign, helper: Partial<AgentConfig>): Agent =>
  above(ai, ai.defineAgent({ name: 'helper', ...helper }));

/** A root with this config, or one that calls a helper with it. */
export const placed = (ai: Countersign, where: Where, config: Partial<AgentConfig>): Agent =>
  where === 'inside' ? helped(ai, config) : ai.defineAgent({ name: 'root', ...config });

/** A tool that runs its own conversation, whose model calls these tools. */
export const talker = (ai: Countersign, name: string, tools: readonly Tool[], model: () => ScriptedModel): Tool =>
  tool(ai, name, async ({ resumed, interrupt }) => {
    const inner = await ai.generate({ tools: [...tools], model: model(), ...(resumed ?? { prompt: 'x' }) });
    if (inner.interrupts.length > 0) interrupt(inner);
    return inner.text;
  });

/** Lists all pending questions. */
export const waiting = async (runs: Runs): Promise<readonly RunRequest[]> => (await runs.requests()).items;

export function only<T>(items: readonly T[]): T {
  expect(items).toHaveLength(1);
  return items[0] as T;
}

/** Returns the one question of this tool. */
export const of = (cards: readonly RunRequest[], name: string): RunRequest =>
  only(cards.filter(({ tool }) => tool === name));

/** Runs `act` once, just before such an event is written. */
export function justBefore(store: Store, is: (event: RunEvent) => boolean, act: () => Promise<unknown>) {
  const append = store.append.bind(store);
  let came = false;
  store.append = async (given) => {
    if (!came && given.events.some(is)) {
      came = true;
      await act();
    }
    return append(given);
  };
  return { came: () => came };
}

export const delay = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
