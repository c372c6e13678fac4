// The agent behind a gated call: its run is this one call, asked for, decided and run through the engine.
import type { ToolSet } from 'ai';
import { NotPerformed } from '../core/errors.ts';
import { isObject, type Json } from '../core/json.ts';
import type { Message } from '../core/message.ts';
import { type Countersign, countersign } from '../countersign.ts';
import type { Agent } from '../loop/agent.ts';
import { askProblem } from '../loop/tool/ask-options.ts';
import type { Tool } from '../loop/tool/definition.ts';
import type { StandardSchema } from '../loop/tool/schema.ts';
import type { AskOptions } from '../loop/tool/signal.ts';
import { tool } from '../loop/tool/tool.ts';
import type { ModelReply, ModelRequest } from '../models/model.ts';
import { shortHash } from '../runs/port/chain.ts';
import type { Store } from '../runs/port/store.ts';
import { type CheckedInput, checkInput, checkOutput } from './input.ts';
import { type AskedCall, callKey, type Place } from './ledger.ts';

/** What a call does, given its input and the id that the AI SDK knows it by. */
export type Body = (input: Json, toolCallId: string) => unknown;

export type OneCallAgent = {
  readonly ai: Countersign;
  readonly agent: Agent;
  /** Its questions are found by it. */
  readonly label: string;
  /** The AI SDK has checked this call just now, and may have made its input of one that it alone knows. */
  vouch(call: AskedCall): void;
};

/**
 * `bodies` are by the name of the tool, and looked up when one runs. A body that the one who drives the run gives as
 * `context.body` comes first.
 */
export function oneCallAgent(
  name: string,
  store: Store,
  tools: ToolSet,
  bodies: ReadonlyMap<string, Body>,
  asking: { readonly chatId: string; readonly expiresIn?: number | undefined },
): OneCallAgent {
  const ai = countersign({ store, model: { name: 'one call', reply } });
  const { chatId, expiresIn } = asking;
  const label = labelOf(chatId);
  const asks = { labels: [label], ...(expiresIn !== undefined && { expiresIn }) };
  const vouched = new Set<string>();
  const gated = Object.entries(tools).map(([name, sdkTool]) => {
    const isVouched = (input: unknown) => vouched.has(callKey({ tool: name, input }));
    return gatedTool(name, sdkTool, isVouched, () => bodies.get(name), asks);
  });
  return { ai, agent: ai.defineAgent({ name, tools: gated }), label, vouch: (call) => void vouched.add(callKey(call)) };
}

/** Whoever decides in an inbox sees it, so it is the id itself where that can be a label. */
function labelOf(chatId: string): string {
  const label = `chat ${chatId}`;
  return askProblem({ labels: [label] }) === undefined ? label : `chat ${shortHash(chatId)}`;
}

/** What the run of a call begins with: all that its model will say, and who is asked. */
export type Opening = {
  readonly chatId: string;
  readonly askedBy: string;
  readonly call: AskedCall;
  readonly place?: Place;
};

/** A conversation that begins a run with it. */
export function beginWith(opening: Opening): readonly Message[] {
  return [{ role: 'user', content: [{ data: opening }] }];
}

/** What a conversation began with. */
export function readOpening(messages: readonly Message[]): Opening | undefined {
  const first = messages[0]?.content[0];
  const data = first && 'data' in first ? first.data : undefined;
  return isObject(data) && isObject(data.call) ? (data as never) : undefined;
}

/** Says the call that the run began with, and when it has a result, nothing more. */
async function reply({ messages }: ModelRequest): Promise<ModelReply> {
  const opening = readOpening(messages);
  if (messages.length > 1 || !opening) return { content: [{ text: 'Done.' }], finishReason: 'stop' };
  const { id, tool, input } = opening.call;
  return {
    content: [{ toolRequest: { name: tool, ref: id, input }, metadata: { toolCallId: id } }],
    finishReason: 'tool-calls',
  };
}

function gatedTool(
  name: string,
  sdkTool: ToolSet[string],
  isVouched: (input: unknown) => boolean,
  body: () => Body | undefined,
  asks: AskOptions,
): Tool {
  const config = {
    name,
    description: '',
    needsApproval: true,
    inputSchema: checking(async (input) => isVouched(input) || checkInput(name, sdkTool, input)),
    outputSchema: checking(async (output) => output instanceof Returned || checkOutput(name, sdkTool, output)),
    // Its model is told nothing of it.
    inputJsonSchema: {},
    ...asks,
  };
  return tool(config, async (input, { context, metadata }) => {
    const run: Body | undefined = context.body ?? body();
    if (!run) throw new NotPerformed(`Nobody here knows what ${name} does.`);
    return new Returned(await run(input, String(metadata.toolCallId)));
  });
}

/** What a body gave. The AI SDK does not check it, and it has happened; what a person says that happened is checked. */
class Returned {
  readonly output: unknown;

  constructor(output: unknown) {
    this.output = output;
  }
}

/** A schema that checks, and makes nothing of what it is given: an input runs as it is on record. */
function checking(check: (value: unknown) => Promise<true | CheckedInput>): StandardSchema {
  return {
    '~standard': {
      version: 1,
      vendor: 'ai-sdk',
      async validate(value) {
        const checked = await check(value);
        if (checked !== true && !checked.ok) return { issues: checked.problems.map((message) => ({ message })) };
        return { value: value instanceof Returned ? value.output : value };
      },
    },
  };
}
