// The options of a generation, checked and turned into what the loop is driven with.

import { UsageError } from '../core/errors.ts';
import { isObject, toJson } from '../core/json.ts';
import { type Message, type Part, textOf } from '../core/messages/message.ts';
import {
  aContext,
  anything,
  aSignal,
  aStringOrNull,
  aWholeNumber,
  checkOptions,
  type OptionTable,
  oneOf,
} from '../core/options.ts';
import type { RunEvent } from '../core/run/event.ts';
import { Decisions, NO_DECISIONS } from '../core/run/made.ts';
import { type DecisionPart, type Resume, readResume, VERBS } from '../core/run/read-resume.ts';
import type { ModelConfig, ToolChoice } from '../models/model.ts';
import { type ModelInput, type Providers, resolveModel } from '../models/resolve.ts';
import { type RetryPolicy, withRetries } from '../models/retry.ts';
import { guarded } from './call/guarded.ts';
import { usesOrigins } from './call/origins.ts';
import type { Driver } from './run.ts';
import type { Chunk } from './stream/chunk.ts';
import type { Context, ToolDefinition, UnknownNames } from './tool/definition.ts';
import type { Policies } from './tool/policies.ts';
import { refuseUnknownPolicies } from './tool/rules.ts';
import type { Schema, SchemaInput } from './tool/schema.ts';
import { findTools, refuseCircles, type ToolInput } from './tool/toolbox.ts';

/** The content of a message: a string, a part or several parts. */
export type Content = string | Part | readonly Part[];

/** The options of `generate`. */
export type GenerateOptions<
  O extends SchemaInput = any,
  T extends readonly ToolInput[] = readonly ToolInput[],
  C extends Context = Context,
> = {
  /** Replaces the model of the instance. */
  readonly model?: ModelInput;
  /** The system message; replaces one at the start of `messages`. */
  readonly system?: Content;
  /** What the user says now, after `messages`. */
  readonly prompt?: Content;
  /** The conversation so far, such as the `messages` of an earlier response. Never changed. */
  readonly messages?: readonly Message[];
  /** What the model may call. Pass the same tools again to resume. */
  readonly tools?: T;
  readonly toolChoice?: ToolChoice;
  /**
   * The decisions on the pending calls in `messages`: `[pay.approve(a), ask.respond(b, 'x')]`, or lists by kind,
   * `{ approve: [a], respond: [ask.respond(b, 'x')] }`. Undecided calls stay pending.
   */
  readonly resume?: Resume;
  /** Answers, as `resume.respond`. */
  readonly toolResponses?: DecisionPart | readonly DecisionPart[] | undefined;
  /** The final reply must be JSON that fits this schema. */
  readonly output?: { readonly schema: O };
  /** Settings of the model, such as `temperature`. */
  readonly config?: ModelConfig;
  /** The user, tenant and the like: passed to tools and gates, never stored in messages. */
  readonly context?: C;
  /** Limits the model's replies since the user last spoke, across pauses; then the run ends with `max-turns`. */
  readonly maxTurns?: number;
  /** Stops the run: the response has `finishReason: 'aborted'` and the messages to continue from. */
  readonly abortSignal?: AbortSignal;
  /** The id of a stored conversation, for agents with a store; its messages are in the store. */
  readonly runId?: string;
  /** The person behind the prompt or the decisions, recorded in a stored run. */
  readonly by?: string;
  /** Receives every chunk as it happens. */
  readonly onChunk?: (chunk: Chunk) => void;
  /** Receives each recorded event of the run. */
  readonly onEvent?: (event: RunEvent) => void;
  /** Returns the model's calls instead of running them. */
  readonly returnToolRequests?: boolean;
  /** `tell` (default): the model gets a tool's error as its result. `throw`: the error ends the call. */
  readonly onToolError?: 'tell' | 'throw';
  /** What happens to pending calls when the user speaks. Default: `auto`. */
  readonly whilePending?: WhilePending;
};

/**
 * What a message of the user does while requests are pending. `auto`: it cancels them if the user can decide each of them alone;
 * if other people decide one of them, or take part in it, all stay and the message waits. `cancel`: it cancels them. `queue`: it waits
 * until they are decided. `refuse`: it is refused. Without a store nobody else can decide, and `auto` cancels.
 */
export type WhilePending = (typeof WHILE_PENDING)[number];

export const WHILE_PENDING = ['auto', 'cancel', 'queue', 'refuse'] as const;

/** The settings of an instance that each `generate` uses. */
export type Settings = {
  readonly model?: ModelInput;
  readonly providers: Providers;
  readonly context?: Context;
  readonly maxTurns: number;
  readonly retry: RetryPolicy | false;
  readonly tools: ReadonlyMap<string, ToolDefinition>;
  readonly newId: () => string;
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  readonly random: () => number;
  readonly clock: () => number;
  readonly policies: Policies;
};

export function readOptions<O extends SchemaInput>(given: string | GenerateOptions<O>): GenerateOptions<O> {
  const options = typeof given === 'string' ? { prompt: given } : given;
  checkOptions('`generate`', options, GENERATE_OPTIONS);
  return options as GenerateOptions<O>;
}

/** The options of `generate`. Agents, prompts and chats take most of them as defaults. */
export const GENERATE_OPTIONS: OptionTable<GenerateOptions> = {
  model: anything,
  system: anything,
  prompt: anything,
  messages: anything,
  tools: anything,
  toolChoice: anything,
  resume: anything,
  toolResponses: anything,
  output: anything,
  config: anything,
  context: aContext,
  maxTurns: aWholeNumber,
  abortSignal: aSignal,
  runId: anything,
  by: aStringOrNull,
  onChunk: anything,
  onEvent: anything,
  returnToolRequests: anything,
  onToolError: oneOf('tell', 'throw'),
  whilePending: oneOf(...WHILE_PENDING),
};

/** Refuses messages beside a `runId`: a stored run has its own, and these would be lost. */
export function refuseMessages({ runId, messages }: Pick<GenerateOptions, 'runId' | 'messages'>): void {
  if (runId === undefined || messages === undefined) return;
  const message =
    'A stored run has its own messages. Add to it with `prompt`, or start a run with agent.start({ messages }, { runId }).';
  throw new UsageError('invalid-options', { runId, options: ['messages'] }, message);
}

/** Merges options into defaults. An undefined option counts as left out. */
export function withDefaults<Defaults extends object, Options extends object>(
  defaults: Defaults,
  options: Options,
): Defaults & Options {
  const given = { ...options } as { readonly [name: string]: unknown };
  const kept = Object.entries(defaults).filter(([name]) => given[name] === undefined);
  return { ...defaults, ...options, ...Object.fromEntries(kept) };
}

export function prepareDriver(
  settings: Settings,
  options: GenerateOptions,
  schema: Schema | undefined,
  unknown: UnknownNames,
): Driver {
  const tools = findTools(options.tools, settings.tools, unknown);
  refuseCircles(tools, [], unknown);
  if (unknown === 'refuse') refuseUnknownPolicies(tools, settings.policies);
  const model = resolveModel(options.model ?? settings.model, settings.providers);
  const { config, abortSignal, onChunk, onEvent } = options;
  return {
    model: settings.retry ? withRetries(model, settings.retry, settings.sleep, settings.random) : model,
    request: {
      tools: [...tools.values()].map((tool) => tool.spec()),
      toolChoice: toolChoiceOf(options, tools, unknown),
      config: config ?? {},
      ...(schema && { outputSchema: schema.json() }),
    },
    tools,
    context: options.context ?? settings.context ?? {},
    limits: {
      maxTurns: options.maxTurns ?? settings.maxTurns,
      ...(options.returnToolRequests && { holdCalls: true }),
    },
    ...(abortSignal && { signal: abortSignal }),
    ...(onChunk && { emit: guarded(onChunk) }),
    ...(onEvent && { onEvent: guarded(onEvent) }),
    newId: settings.newId,
    clock: settings.clock,
    policies: settings.policies,
    usesOrigins: usesOrigins(tools, settings.policies),
    onToolError: options.onToolError ?? 'tell',
  };
}

function toolChoiceOf(
  { toolChoice = 'auto' }: GenerateOptions,
  tools: ReadonlyMap<string, ToolDefinition>,
  unknown: UnknownNames,
): ToolChoice {
  if (typeof toolChoice !== 'object' || tools.has(toolChoice.tool)) return toolChoice;
  if (unknown === 'leave-out') return 'auto';
  const message = `toolChoice names ${toolChoice.tool}, which is not among the tools.`;
  throw new UsageError('unknown-tool', { tool: toolChoice.tool }, message);
}

export function withSystem({ messages = [], system }: GenerateOptions): readonly Message[] {
  if (system === undefined || !Array.isArray(messages)) return messages;
  const content = partsOf(system, 'system');
  const [first, ...rest] = messages;
  if (first?.role !== 'system') return [{ role: 'system', content }, ...messages];
  return textOf(first.content) === textOf(content) ? messages : [{ role: 'system', content }, ...rest];
}

export function partsOf(content: Content, where: string): readonly Part[] {
  if (typeof content === 'string') return [{ text: content }];
  const parts = Array.isArray(content) ? (content as readonly Part[]) : [content as Part];
  if (parts.length > 0 && parts.every(isObject)) return jsonOf(parts, where);
  throw new UsageError('invalid-options', { option: where }, `\`${where}\` must be a text, a part or a list of parts.`);
}

export function jsonOf<T>(said: T, where: string): T {
  const json = toJson(said);
  if (json.ok) return json.value as T;
  throw new UsageError('not-json', { option: where }, `\`${where}\` is not JSON: ${json.problem}.`);
}

export function decisionsOf({ resume, toolResponses }: GenerateOptions): Decisions {
  if (resume === undefined) return toolResponses === undefined ? NO_DECISIONS : readResume({}, toolResponses);
  if (!isObject(resume) && !Array.isArray(resume)) {
    const message =
      '`resume` must be a list of decisions, or an object with respond, restart, approve, reject or cancel.';
    throw new UsageError('invalid-options', {}, message);
  }
  if ('toolRequest' in resume || 'toolResponse' in resume)
    throw new UsageError('invalid-options', {}, '`resume` is a single decision. Put it in a list: resume: [decision].');
  const isRead = Array.isArray(resume) || resume instanceof Decisions;
  const unknown = isRead ? [] : Object.keys(resume).filter((key) => !RESUME_KEYS.includes(key));
  if (unknown.length > 0) {
    const message = `\`resume\` has ${unknown.join(', ')}, which is not a kind of decision. Use ${VERBS.join(', ')}. Nothing ran.`;
    throw new UsageError('invalid-resume', { unknown }, message);
  }
  return readResume(resume as Resume, toolResponses);
}

const RESUME_KEYS: readonly string[] = [...VERBS, 'metadata'];
