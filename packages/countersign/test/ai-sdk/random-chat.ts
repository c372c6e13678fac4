// Random chats behind a gate: people write, decide, decide in two tabs at once, post again, and lie. The log holds
// everything that was shown, posted and run.
import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { convertToModelMessages, createUIMessageStream, stepCountIs, streamText, type UIMessage } from 'ai';
import { countersign, memoryStore, NotPerformed } from 'countersign';
import { APPROVAL, gateTools, processToolCalls } from 'countersign/ai-sdk';
import type { Store } from 'countersign/store';
import { z } from 'zod';
import { type Random, randomFrom } from '../random.ts';
import { applied, type ChatMessage, changed, type Part, userMessage } from './bank.ts';
import { type PromptMessage, saying } from './model.ts';
import { callsIn, lied, type RandomTool, randomTools } from './random-tools.ts';

/** A person in a chat. */
type Who = { readonly chat: string; readonly person: string };
type Call = { readonly id: string; readonly tool: string; readonly input: unknown };
type Decision = Call & Who & { readonly approved: boolean };
/** `decided` counts the decisions posted before it. */
type Effect = Call & { readonly chat: string; readonly decided: number };

/** A person was asked, decided and received an answer; `effects` counts the effects until then. */
type Answer = {
  readonly asked: readonly ChatMessage[];
  readonly decided: readonly ChatMessage[];
  readonly after: readonly ChatMessage[];
  readonly effects: number;
};

export type World = {
  readonly random: Random;
  readonly way: 'recipe' | 'approval';
  /** Undefined with a secret, which has no memory: an approved call may run again. */
  readonly store: Store | undefined;
  readonly tools: readonly RandomTool[];
  readonly isHonest: boolean;
  readonly shown: Map<string, Call & Who>;
  readonly decisions: Decision[];
  readonly effects: Effect[];
  readonly prompts: readonly (readonly PromptMessage[])[];
  readonly model: any;
  /** The body of each call, which does not depend on when it runs. */
  readonly bodies: Map<string, () => Promise<unknown>>;
  /** The return values of the bodies. */
  readonly outputs: Map<string, unknown>;
  readonly answers: Answer[];
  /** Violations found along the way. */
  readonly problems: string[];
  /** A log of the events, to debug a failing seed. */
  readonly log: string[];
};

const OUTPUTS = [0, '', false, null, 'paid', { receipt: 1 }, [], APPROVAL.YES, APPROVAL.NO];
const PEOPLE: readonly Who[] = [
  { chat: 'A', person: 'ann' },
  { chat: 'B', person: 'ann' },
  { chat: 'C', person: 'bob' },
];

export function newWorld(seed: number): World {
  const random = randomFrom(seed * 2_654_435_761);
  const way = random.pick(['approval', 'approval', 'recipe'] as const);
  const tools = randomTools(random, way);
  const bodies: World['bodies'] = new Map();
  const outputs: World['outputs'] = new Map();
  const call = (): Call => {
    const id = `call-${bodies.size + 1}`;
    const [turns, output, fate] = [random.below(4), random.pick(OUTPUTS), random.below(10)];
    bodies.set(id, async () => {
      for (let turn = 0; turn < turns; turn++) await setImmediate();
      if (fate === 0) throw new Error('the bank is down');
      if (fate === 1) throw new NotPerformed('nothing was done');
      outputs.set(id, output);
      return output;
    });
    const tool = random.pick(tools);
    return { id, tool: tool.name, input: tool.input() };
  };
  const { model, prompts } = saying((prompt) => {
    const last = prompt.at(-1);
    if (last?.role !== 'user' || !JSON.stringify(last.content).includes('go')) return { text: 'Very well.' };
    return { calls: Array.from({ length: 1 + random.below(3) }, call) };
  });
  const store = seed % 4 === 0 ? undefined : memoryStore();
  const seen = { shown: new Map(), decisions: [], effects: [], answers: [], problems: [], log: [] };
  return { random, way, store, tools, isHonest: seed % 3 === 0, prompts, model, bodies, outputs, ...seen };
}

/** People write, decide, decide in two tabs at once, post again, and lie. */
export async function live(world: World): Promise<void> {
  const { random, isHonest } = world;
  const people = PEOPLE.slice(0, 1 + random.below(PEOPLE.length));
  const latest = new Map<Who, ChatMessage[]>();
  const old: { readonly who: Who; readonly messages: ChatMessage[] }[] = [];
  const keep = (who: Who, ...states: ChatMessage[][]) => old.push(...states.map((messages) => ({ who, messages })));
  for (let left = 4 + random.below(8); left > 0; left--) {
    const who = random.pick(people);
    const messages = latest.get(who) ?? [];
    const isAsked = callsIn(messages.slice(-1)).some((part) => isPending(world, part));
    const act = random.below(10);
    if (messages.length === 0 || act === 4 || (act < 4 && !isAsked)) {
      const text = messages.length === 0 || act < 4 ? 'go' : random.pick(['hm', 'go']);
      latest.set(who, await post(world, who, [...messages, userMessage(text)]));
    } else if (act < 3) {
      const decided = decide(world, messages, () => random.chance(0.7));
      const after = await post(world, who, decided);
      world.answers.push({ asked: messages, decided, after, effects: world.effects.length });
      latest.set(who, after);
      keep(who, decided);
      if (random.chance(0.3)) await post(world, who, decided);
    } else if (act === 3) {
      const tabs = [decide(world, messages, () => true), decide(world, messages, () => random.chance(0.5))];
      const [after = []] = await Promise.all(tabs.map((tab) => post(world, who, tab)));
      latest.set(who, after);
      keep(who, ...tabs);
    } else if (!isHonest) {
      // Most lies concern calls that are still open.
      const from = random.pick(random.chance(0.6) ? old.slice(-1) : old);
      const stranger = random.pick([{ ...from.who, person: 'eve' }, ...PEOPLE]);
      const target = random.chance(0.7) ? from.who : stranger;
      const base = random.chance(0.7) ? decide(world, from.messages, () => random.chance(0.8)) : from.messages;
      const lie = lied(base, random.pick(old).messages, world.tools, random);
      world.log.push(`${target.person} in ${target.chat} lies: ${lie.lies.join(', ')}`);
      const times = random.chance(0.2) ? 3 : 1;
      await Promise.all(Array.from({ length: times }, () => post(world, target, lie.messages)));
    }
    keep(who, latest.get(who) ?? []);
  }
}

export const isPending = ({ way }: World, { state }: Part): boolean =>
  state === 'approval-requested' || (way === 'recipe' && state === 'input-available');

/** The conversation with the pending calls of its last message decided. */
function decide(world: World, messages: readonly ChatMessage[], isApproved: () => boolean): ChatMessage[] {
  return changed(messages, (part) => {
    if (!isPending(world, part)) return part;
    const approved = isApproved();
    if (part.state === 'approval-requested')
      return { ...part, state: 'approval-responded', approval: { ...part.approval, approved } };
    return { ...part, state: 'output-available', output: approved ? APPROVAL.YES : APPROVAL.NO };
  });
}

/** The decision that a client's part makes, if any. */
export function decisionIn({ way }: World, { state, output, ...part }: Part): boolean | undefined {
  if (state === 'approval-responded') return part.approval?.approved === true;
  if (way === 'recipe' && state === 'output-available' && output === APPROVAL.YES) return true;
  return way === 'recipe' && state === 'output-available' && output === APPROVAL.NO ? false : undefined;
}

export const toolOf = ({ type, toolName }: Part): string => (type === 'dynamic-tool' ? toolName : type.slice(5));

/** Posts a conversation, records its decisions and cards, and returns the client's messages. */
async function post(world: World, who: Who, given: readonly ChatMessage[]): Promise<ChatMessage[]> {
  const { decisions, shown, isHonest, problems, log } = world;
  const messages: ChatMessage[] = JSON.parse(JSON.stringify(given));
  for (const part of callsIn(messages)) {
    const approved = decisionIn(world, part);
    if (approved === undefined) continue;
    decisions.push({ ...who, id: part.toolCallId, tool: toolOf(part), input: part.input, approved });
  }
  log.push(`${who.person} posts in ${who.chat}: ${JSON.stringify(messages)}`);
  const chunks: any[] = [];
  try {
    for await (const chunk of await answer(world, who, messages)) chunks.push(JSON.parse(JSON.stringify(chunk)));
  } catch (error) {
    chunks.push({ type: 'error', errorText: String(error) });
  }
  log.push(...chunks.filter(({ type }) => /^(tool|error)/.test(type)).map((chunk) => `  ${JSON.stringify(chunk)}`));
  for (const { type, toolCallId: id, toolName: tool, input, errorText } of chunks) {
    if (type === 'error' && isHonest) problems.push(`An honest client got the error ${errorText}`);
    if (type !== 'tool-input-available') continue;
    const before = shown.get(id);
    if (before && !isDeepStrictEqual(before.input, input)) problems.push(`${id} was shown in two ways`);
    shown.set(id, { ...who, id, tool, input });
  }
  return applied(given, chunks);
}

/** The app: one request, with a new gate. */
async function answer(world: World, { chat, person }: Who, given: ChatMessage[]): Promise<AsyncIterable<any>> {
  const { way, store, model } = world;
  const messages = given as unknown as UIMessage[];
  const { tools, functions, approve } = appTools(world, chat);
  const memory = store ? { ai: countersign({ store }) } : { secret: 'a secret that is long enough to be one' };
  const gated = gateTools(tools, { ...memory, key: chat, by: person, approve } as any);
  const reply = async (received: UIMessage[]) => {
    const prompt = { messages: await convertToModelMessages(received), allowSystemInMessages: true };
    const quietly = { maxRetries: 0, onError: () => undefined };
    const result = streamText({ model, tools: gated.tools, stopWhen: stepCountIs(5), ...prompt, ...quietly });
    return gated.send(result.toUIMessageStream({ originalMessages: received, onError: String }));
  };
  if (way === 'approval') return reply(await gated.receive(messages));
  return createUIMessageStream({
    originalMessages: messages,
    onError: String,
    execute: async ({ writer }) =>
      writer.merge(await reply(await processToolCalls({ tools, writer, messages, gate: gated }, functions))),
  });
}

function appTools({ tools, effects, decisions, bodies, way, log }: World, chat: string) {
  const functionOf = (tool: string) => async (input: unknown, options: { toolCallId: string }) => {
    const id = options.toolCallId;
    effects.push({ id, chat, tool, input: JSON.parse(JSON.stringify(input)), decided: decisions.length });
    log.push(`  ${id} runs in ${chat}: ${tool} ${JSON.stringify(input)}`);
    return bodies.get(id)?.();
  };
  const functions: any = Object.fromEntries(tools.map(({ name }) => [name, functionOf(name)]));
  const appTool = ({ name, schema, rule }: RandomTool) => ({
    inputSchema: schema,
    ...(rule === 'all' && { needsApproval: true }),
    ...(rule === 'some' && { needsApproval: ({ gated }: any) => gated }),
    ...(way === 'recipe' ? { outputSchema: z.any() } : { execute: functions[name] }),
  });
  const rules = new Map(tools.map(({ name, rule }) => [name, rule]));
  const byInput = (name: string, { gated }: any) =>
    rules.get(name) === 'listed' || (rules.get(name) === 'some-listed' && gated);
  const listed = tools.filter(({ rule }) => rule === 'listed').map(({ name }) => name);
  return {
    tools: Object.fromEntries(tools.map((tool) => [tool.name, appTool(tool)])) as any,
    functions,
    approve: tools.some(({ rule }) => rule === 'some-listed') ? byInput : listed,
  };
}
