// countersign/genkit: the tools of a Genkit app, behind the gate.
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import {
  type GenerateMiddleware,
  type GenerateMiddlewareDef,
  generateMiddleware,
  type MessageData,
  type Part,
  type ToolAction,
  ToolInterruptError,
  type ToolRequestPart,
  type ToolResponsePart,
} from 'genkit/beta';
import { tool, toToolDefinition } from 'genkit/tool';
import { UsageError } from '../../core/errors.ts';
import type { JsonSchema } from '../../models/model.ts';
import { GatedCalls, type GateToolsOptions, outputOrText } from '../gated-calls.ts';

export type { AskConfig, GateToolsOptions } from '../gated-calls.ts';

/** A tool made by `ai.dynamicTool` or `ai.defineTool` of Genkit. */
export type GenkitTool = ToolAction<any, any>;

/** What `gateTools` returns, to spread into `generate`: the tools do not run without the middleware. */
export type GatedTools<Tools extends readonly GenkitTool[]> = {
  readonly tools: [...Tools];
  readonly use: ReturnType<GenerateMiddleware>[];
};

/**
 * Puts tools behind the gate. Spread the result into `generate`, when you start and when you resume. An undecided call pauses with
 * `finishReason: 'interrupted'`. Resume with the saved messages and `resume: {}`: decided calls go on as recorded, each runs at
 * most once, and if one is still undecided, it pauses again. `restart` and `respond` parts of gated calls are ignored.
 *
 * @example
 * ```ts
 * const gated = gateTools([pay], { ai: countersigned, key: conversationId });
 * const paused = await genkit.generate({ prompt: 'Pay ACME.', ...gated });
 * const resumed = await genkit.generate({ messages: paused.messages, resume: {}, ...gated });
 * ```
 */
export function gateTools<Tools extends readonly GenkitTool[]>(
  tools: readonly [...Tools],
  options: GateToolsOptions,
): GatedTools<Tools> {
  const given = tools.map(aTool);
  const gate = new ToolGate(given, options);
  const middleware = generateMiddleware({ name: 'countersign' }, () => gate.hooks());
  const handed = given.map((one) => (gate.isGated(nameOf(one)) ? refusing(one) : one));
  return { tools: handed as unknown as [...Tools], use: [middleware()] };
}

type GenerateHook = NonNullable<GenerateMiddlewareDef['generate']>;
type RunOptions = Parameters<NonNullable<GenerateMiddlewareDef['tool']>>[1];

/** A call after the gate was asked: its response, or the id of the request that a person has to decide. */
type Asked = { readonly response: ToolResponsePart } | { readonly id: string };

type Resumed = { readonly part: Part; readonly response?: ToolResponsePart; readonly isPending?: boolean };

class ToolGate {
  readonly #calls: GatedCalls;
  readonly #tools: ReadonlyMap<string, GenkitTool>;

  constructor(tools: readonly GenkitTool[], options: GateToolsOptions) {
    this.#tools = new Map(tools.map((given) => [nameOf(given), given]));
    const described = tools.map((given) => {
      const { name, description, inputSchema } = toToolDefinition(given);
      return { name, description, inputSchema: inputSchema as JsonSchema | undefined };
    });
    this.#calls = new GatedCalls('genkit', described, options);
    for (const given of tools) if (this.isGated(nameOf(given))) refuseInterrupt(given);
  }

  isGated(name: string): boolean {
    return this.#calls.isGated(name);
  }

  hooks(): GenerateMiddlewareDef {
    return {
      generate: (envelope, ctx, next) => this.#resume(envelope, ctx, next),
      model: async (request, ctx, next) => {
        const response = await next(request, ctx);
        return response.message ? { ...response, message: withRefs(response.message, request.messages) } : response;
      },
      tool: async (part, ctx, next) => {
        if (!this.isGated(part.toolRequest.name)) return next(part, ctx);
        const asked = await this.#ask(part, ctx);
        if ('id' in asked) throw new ToolInterruptError(asked);
        return asked.response;
      },
    };
  }

  /** Answers the gated calls of the paused message from the record, whatever the caller of `resume` says about them. */
  async #resume(...[envelope, ctx, next]: Parameters<GenerateHook>): ReturnType<GenerateHook> {
    const { request } = envelope;
    const paused = request.messages.at(-1);
    if (!request.resume || paused?.role !== 'model') return next(envelope, ctx);
    const content = await Promise.all(paused.content.map((part) => this.#resumed(part, ctx)));
    const message = { ...paused, content: content.map(({ part }) => part) } as MessageData;
    const before = request.messages.slice(0, -1);
    if (content.some(({ isPending }) => isPending))
      return { message, finishReason: 'interrupted', finishMessage: STILL_WAITING, request: { messages: before } };
    const isOther = (name: string) => !this.isGated(name);
    const respond = (request.resume.respond ?? []).filter(({ toolResponse }) => isOther(toolResponse.name));
    const restart = (request.resume.restart ?? []).filter(({ toolRequest }) => isOther(toolRequest.name));
    const recorded = content.flatMap(({ response }) => (response ? [response] : []));
    const resume = { ...request.resume, respond: [...recorded, ...respond], restart };
    return next({ ...envelope, request: { ...request, messages: [...before, message], resume } }, ctx);
  }

  /** `pendingOutput` comes from the caller, so it is not believed. */
  async #resumed(part: Part, ctx: RunOptions): Promise<Resumed> {
    if (!part.toolRequest || !this.isGated(part.toolRequest.name)) return { part };
    const { pendingOutput: _, interrupt: __, ...metadata } = part.metadata ?? {};
    const call = { toolRequest: part.toolRequest };
    const asked = await this.#ask(call, { context: ctx.context, abortSignal: ctx.abortSignal } as RunOptions);
    if ('id' in asked) return { part: { ...call, metadata: { ...metadata, interrupt: asked } }, isPending: true };
    return { part: { ...call, metadata }, response: asked.response };
  }

  async #ask({ toolRequest }: ToolRequestPart, ctx: RunOptions): Promise<Asked> {
    const { name, ref, input } = toolRequest;
    const given = this.#tools.get(name) as GenkitTool;
    const bind = AsyncLocalStorage.snapshot();
    const body = (approved: unknown) => bind(() => given(approved, ctx));
    try {
      const result = await this.#calls.ask(name, ref ?? '', input, body);
      // A person is asked about both.
      if (result.status === 'pending' || result.status === 'doubt') return { id: result.id };
      const output = outputOrText(name, result);
      const isMultipart = result.status === 'done' && given.__action.actionType === 'tool.v2';
      return { response: responseOf(toolRequest, isMultipart ? (output as Multipart) : { output }) };
    } catch (error) {
      // The input does not fit the schema: a mistake of the model, which gets the text.
      if (!(error instanceof UsageError && error.code === 'invalid-request')) throw error;
      return { response: responseOf(toolRequest, { output: error.message }) };
    }
  }
}

const STILL_WAITING = 'One or more tool calls still wait for a decision. The model was not called.';

type Multipart = Pick<ToolResponsePart, 'metadata'> & Pick<ToolResponsePart['toolResponse'], 'output' | 'content'>;

function responseOf(
  { name, ref }: ToolRequestPart['toolRequest'],
  { output, content, metadata }: Multipart,
): ToolResponsePart {
  const toolResponse = { name, output, ...(ref !== undefined && { ref }), ...(content && { content }) };
  return { toolResponse, ...(metadata && { metadata }) };
}

/** Providers without ids count the calls of a reply, so that the refs of two replies are equal. */
const SHORTEST_ID = 12;

/** A call whose ref is missing, was used before, or is too short to be unique gets a new one: it is the key of the call. */
function withRefs(message: MessageData, history: readonly MessageData[]): MessageData {
  const used = new Set(history.flatMap(({ content }) => content.map((part) => part.toolRequest?.ref)));
  const content = message.content.map((part) => {
    if (!part.toolRequest) return part;
    const { ref = '' } = part.toolRequest;
    const isUnique = ref.length >= SHORTEST_ID && !used.has(ref);
    used.add(ref);
    return isUnique ? part : { ...part, toolRequest: { ...part.toolRequest, ref: randomUUID() } };
  });
  return { ...message, content };
}

/** A tool as the model sees it. Its function is only reached where the middleware is missing, and refuses. */
function refusing(given: GenkitTool): GenkitTool {
  const { name, description, inputSchema, inputJsonSchema, outputSchema, outputJsonSchema, actionType } =
    given.__action;
  const isMultipart = actionType === 'tool.v2';
  const input = { inputSchema, inputJsonSchema };
  const output = isMultipart ? { multipart: true } : { outputSchema, outputJsonSchema };
  const config = { name, description: description ?? '', ...input, ...output };
  return tool(config as never, () => {
    const message = `${name} was not run: it is gated, and the middleware is missing. Spread all that \`gateTools\` returned.`;
    throw new UsageError('invalid-options', { tool: name }, message);
  }) as unknown as GenkitTool;
}

function nameOf({ __action: { name } }: GenkitTool): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

function aTool(given: GenkitTool): GenkitTool {
  if (typeof given === 'function' && given.__action) return given;
  const message = '`gateTools` takes tools made by `ai.dynamicTool` or `ai.defineTool`, not their names.';
  throw new UsageError('invalid-options', { tool: String(given) }, message);
}

function refuseInterrupt({ __action: { name, metadata } }: GenkitTool): void {
  if (metadata?.tool?.restartable !== false) return;
  const message = `${name} is an interrupt, so it has nothing to run. Pass it to \`generate\` beside the gated tools.`;
  throw new UsageError('invalid-options', { tool: name }, message);
}
