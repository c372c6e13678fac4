// The agent behind a gated call. Its run is this one call: asked for, decided and run by the engine.
import type { ToolSet } from 'ai';
import { NotPerformed } from '../core/errors.ts';
import { isObject, type Json } from '../core/json.ts';
import type { Message } from '../core/message.ts';
import { type Countersign, countersign } from '../countersign.ts';
import type { Agent } from '../loop/agent.ts';
import { askProblem } from '../loop/tool/ask-options.ts';
import type { Tool, ToolConfig } from '../loop/tool/definition.ts';
import type { StandardSchema } from '../loop/tool/schema.ts';
import { tool } from '../loop/tool/tool.ts';
import type { ModelReply, ModelRequest } from '../models/model.ts';
import { shortHash } from '../runs/port/chain.ts';
import type { Store } from '../runs/port/store.ts';
import { type CheckedInput, checkInput, checkOutput } from './input.ts';
import { type AskedCall, callKey, type Place } from './ledger.ts';
import { type Previews, type Titles, titleFor } from './titles.ts';

export type Body = (input: Json, toolCallId: string) => unknown;

export type OneCallAgent = {
  readonly ai: Countersign;
  readonly agent: Agent;
  readonly label: string;
  /** Accepts the input of this call: the AI SDK has just validated it, and may have transformed it. */
  vouch(call: AskedCall): void;
};

/**
 * `bodies` are looked up by tool name when a call runs. A body in `context.body` takes precedence.
 */
export function oneCallAgent(
  name: string,
  store: Store,
  tools: ToolSet,
  bodies: ReadonlyMap<string, Body>,
  asking: {
    readonly chatId: string;
    readonly expiresIn?: number | undefined;
    readonly titles: Titles<any>;
    readonly previews: Previews<any>;
  },
): OneCallAgent {
  const ai = countersign({ store, model: { name: 'one call', reply } });
  const { chatId, expiresIn, titles, previews } = asking;
  const label = labelOf(chatId);
  const asks = { labels: [label], ...(expiresIn !== undefined && { expiresIn }) };
  const vouched = new Set<string>();
  const gated = Object.entries(tools).map(([name, sdkTool]) => {
    const isVouched = (input: unknown) => vouched.has(callKey({ tool: name, input }));
    const title = titleFor(titles, name, sdkTool);
    const preview = Object.hasOwn(previews, name) ? previews[name] : undefined;
    return gatedTool(name, sdkTool, isVouched, () => bodies.get(name), {
      ...asks,
      ...(title !== undefined && { title }),
      // The AI SDK cannot ask twice about one call.
      ...(preview !== undefined && { preview, onPreviewChange: 'reject' as const }),
    });
  });
  return { ai, agent: ai.defineAgent({ name, tools: gated }), label, vouch: (call) => void vouched.add(callKey(call)) };
}

/** Approvers see it in the inbox, so it is the chat id itself if that is a valid label. */
function labelOf(chatId: string): string {
  const label = `chat ${chatId}`;
  return askProblem({ labels: [label] }) === undefined ? label : `chat ${shortHash(chatId)}`;
}

/** The first message of the run of a call: the call that its model will make, and the person to ask. */
export type Opening = {
  readonly chatId: string;
  readonly askedBy: string;
  readonly call: AskedCall;
  readonly place?: Place;
};

export function openingMessages(opening: Opening): readonly Message[] {
  return [{ role: 'user', content: [{ data: opening }] }];
}

export function readOpening(messages: readonly Message[]): Opening | undefined {
  const first = messages[0]?.content[0];
  const data = first && 'data' in first ? first.data : undefined;
  return isObject(data) && isObject(data.call) ? (data as never) : undefined;
}

/** Makes the call of the opening; once it has a result, the run is done. */
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
  asks: Pick<ToolConfig, 'labels' | 'expiresIn' | 'title' | 'preview' | 'onPreviewChange'>,
): Tool {
  const config = {
    name,
    description: '',
    needsApproval: true,
    inputSchema: checking(async (input) => isVouched(input) || checkInput(name, sdkTool, input)),
    outputSchema: checking(async (output) => output instanceof Returned || checkOutput(name, sdkTool, output)),
    // The model of this run does not need the schema.
    inputJsonSchema: {},
    ...asks,
  };
  return tool(config, async (input, { context, metadata }) => {
    const run: Body | undefined = context.body ?? body();
    if (!run) throw new NotPerformed(`${name} has no function in this process.`);
    return new Returned(await run(input, String(metadata.toolCallId)));
  });
}

/** The output of a body. The AI SDK does not validate it; an output that a person enters is validated. */
class Returned {
  readonly output: unknown;

  constructor(output: unknown) {
    this.output = output;
  }
}

/** A schema that validates but does not transform: an input runs as recorded. */
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
