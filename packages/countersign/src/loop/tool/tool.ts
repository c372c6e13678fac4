// Tools: what the model may call, and the questions that pause its loop.

import { messageOf, UsageError } from '../../core/errors.ts';
import { copyOf, isObject } from '../../core/json.ts';
import { keysOf } from '../../core/known-keys.ts';
import type { Metadata, ToolRequestPart, ToolResponsePart } from '../../core/message.ts';
import type { JsonSchema, ToolSpec } from '../../models/model.ts';
import type { SubAgentRecord } from '../sink.ts';
import type { Chunk } from '../stream/chunk.ts';
import { askOptionsOf } from './ask-options.ts';
import { approve, cancel, type DecisionOptions, reject, requestOf, respond, restart } from './decisions.ts';
import { callDirectly } from './direct-call.ts';
import { ANYTHING, asSchema, type InferInput, type InferOutput, type Schema, type SchemaInput } from './schema.ts';
import type { Asked, AskOptions, InterruptFunction } from './signal.ts';
import { checkToolConfig } from './tool-config.ts';

/** Who is asking, which tenant: passed with each request, never stored in messages. */
export type Context = { readonly [key: string]: any };

/** What a tool body gets beside its input. */
export type ToolContext<C extends Context = Context> = {
  readonly context: C;
  readonly interrupt: InterruptFunction;
  /** The value the person resumed with; undefined when the body runs for the first time. */
  readonly resumed: any;
  /**
   * Runs `work` once: when the body runs again after an interrupt, a finished step returns its recorded result.
   * Steps with the same name are told apart by their order.
   */
  readonly step: <T>(name: string, work: () => T | Promise<T>) => Promise<T>;
  /**
   * Call it just before the irreversible request, in a tool with `commits: true`. A crash before it is harmless, and the
   * call runs again; a crash after it leaves the outcome unknown, and a person is asked.
   */
  readonly commitPoint: () => Promise<void>;
  /** Fires when the run is aborted. */
  readonly signal: AbortSignal;
  /** Our id of the call, unique in the run. */
  readonly callId: string;
  /** Stays the same whenever this call runs; pass it to services that refuse duplicates. */
  readonly idempotencyKey: string;
  /** The metadata of the request: from the provider, of the interrupt, of the decision. */
  readonly metadata: Metadata;
};

/** What a person is shown before a gated call runs, and how long it waits. */
export type Approval = AskOptions & { readonly message?: string; readonly [key: string]: unknown };

/** What `needsApproval` gets beside the input. */
export type ApprovalContext<C extends Context = Context> = Pick<
  ToolContext<C>,
  'context' | 'callId' | 'metadata' | 'signal'
>;

/** What `verify` found: `{ output }` if the call took effect, undefined if it found nothing. */
export type Verified = { readonly output: NonNullable<unknown> | null } | undefined;

type MaybePromise<T> = T | Promise<T>;

/** The options of `defineTool` and `tool`. */
export type ToolConfig<
  I extends SchemaInput = SchemaInput,
  O extends SchemaInput = SchemaInput,
  C extends Context = Context,
> = AskOptions & {
  readonly name: string;
  readonly description: string;
  readonly inputSchema?: I;
  readonly outputSchema?: O;
  /** The JSON Schema that models get, for an `inputSchema` that cannot produce its own; alone, it is the schema. */
  readonly inputJsonSchema?: JsonSchema;
  readonly outputJsonSchema?: JsonSchema;
  /** Asks a person before the body runs. Only `false` lets a call run unasked; a function that throws means: ask. */
  readonly needsApproval?:
    | boolean
    | ((input: InferOutput<I>, ctx: ApprovalContext<C>) => MaybePromise<boolean | Approval>);
  /** Running twice is harmless: a call with an unknown outcome runs again without asking. */
  readonly idempotent?: boolean;
  /** The body does nothing irreversible before it calls `ctx.commitPoint()`. */
  readonly commits?: boolean;
  /** Looks up whether a call with an unknown outcome took effect. */
  readonly verify?: (
    input: InferOutput<I>,
    ctx: { readonly idempotencyKey: string; readonly context: C },
  ) => MaybePromise<Verified>;
  /** Milliseconds after its start in which a call takes effect or never does; then a `verify` that finds nothing is believed. */
  readonly settlesWithin?: number;
  readonly metadata?: Metadata;
};

/** The options of `defineInterrupt` and `interrupt`; `outputSchema` describes the person's answer. */
export type InterruptConfig<I extends SchemaInput = SchemaInput, O extends SchemaInput = SchemaInput> = Omit<
  ToolConfig<I, O>,
  'needsApproval' | 'idempotent' | 'commits' | 'verify' | 'settlesWithin'
> & {
  /** What the person is shown beside the input. */
  readonly requestMetadata?: Metadata | string | number | boolean | ((input: InferOutput<I>) => unknown);
};

/** What a tool does. If it stops at `interrupt()`, it later runs again from its top. */
export type ToolBody<I extends SchemaInput, O extends SchemaInput, C extends Context = Context> = (
  input: InferOutput<I>,
  ctx: ToolContext<C>,
) => MaybePromise<InferInput<O> | Asked | void>;

/** Options of a direct call, as in a test. */
export type DirectCallOptions = {
  readonly context?: Context;
  readonly resumed?: unknown;
  /** A person has approved: the gate lets the call through. */
  readonly approved?: boolean;
  readonly signal?: AbortSignal;
};

/** A stored question, as `runs.interrupts()` lists them. */
type StoredQuestion = { readonly id: string; readonly tool: string; readonly input: unknown };

/** Carries the types of the tool that asks; exists for the compiler only. */
declare const types: unique symbol;
export type AskedBy<Input, Output> = { readonly [types]?: { readonly input: Input; readonly output: Output } };

/** A tool. Called directly, it validates, asks its gate and runs its body. */
export interface Tool<Input = any, Output = any> {
  (input: Input, options?: DirectCallOptions): Promise<Output>;
  readonly name: string;
  readonly definition: ToolDefinition;
  /** Tells whether this tool asks, and types the input of the interrupt accordingly. */
  is<Q extends StoredQuestion>(question: Q): question is Q & { readonly input: Input } & AskedBy<Input, Output>;
  is(interrupt: ToolRequestPart): interrupt is ToolRequestPart<Input>;
  /** Answers this tool's interrupt; the output must fit the output schema. */
  respond(interrupt: ToolRequestPart, output: Output, options?: DecisionOptions): ToolResponsePart<Output>;
  /** Runs the tool (again) with `resumed`; a replaced input must fit the input schema. */
  restart(
    interrupt: ToolRequestPart,
    resumed?: unknown,
    options?: DecisionOptions & { readonly replaceInput?: Input },
  ): ToolRequestPart<Input>;
  /** Lets the call run as proposed, or with an edited input. */
  approve(interrupt: ToolRequestPart, options?: DecisionOptions & { readonly edit?: Input }): ToolRequestPart<Input>;
  /** Refuses the call and tells the model, with the reason. */
  reject(interrupt: ToolRequestPart, reason?: string, options?: DecisionOptions): ToolResponsePart;
  /** Withdraws the question and tells the model. */
  cancel(interrupt: ToolRequestPart, reason?: string, options?: DecisionOptions): ToolResponsePart;
}

/** What the loop knows about a tool. */
export type ToolDefinition = {
  readonly name: string;
  readonly input: Schema;
  readonly output: Schema;
  /** What models get. */
  readonly spec: () => ToolSpec;
  /** Without a body the call is a question, and the answer is its result. */
  readonly body?: (input: any, ctx: ToolContext, inside: Inside) => unknown;
  readonly needsApproval: boolean | ((input: any, ctx: ApprovalContext) => MaybePromise<boolean | Approval>);
  readonly idempotent: boolean;
  readonly commits: boolean;
  readonly verify?: (
    input: any,
    ctx: { readonly idempotencyKey: string; readonly context: Context },
  ) => MaybePromise<Verified>;
  readonly requestMetadata?: unknown;
  readonly settlesWithin?: number;
  /** How its questions wait, unless the question itself says. */
  readonly asks: AskOptions;
  readonly metadata: Metadata;
  /** The tools of the agent behind this tool, by name; leaves unknown names out unless told otherwise. */
  readonly innerTools?: (unknown?: UnknownNames) => ReadonlyMap<string, ToolDefinition>;
};

/** What to do with tool names that are not defined. */
export type UnknownNames = 'refuse' | 'leave-out';

/** How a conversation inside a tool is aborted, streamed and recorded. */
export type Inside = {
  readonly ref: string;
  /** Absent where the run is not stored. */
  readonly within?: SubAgentRecord;
  readonly signal?: AbortSignal;
  readonly emit?: (chunk: Chunk) => void;
};

/** Makes a tool without an instance. Without `body` it is a question: the answer is its result. */
export function tool<I extends SchemaInput, O extends SchemaInput>(
  config: ToolConfig<I, O>,
  body?: ToolBody<I, O>,
): Tool<InferInput<I>, InferInput<O>> {
  return makeTool(define(config, body, TOOL_KEYS));
}

/** Makes a question without an instance: the model asks, a person answers. */
export function interrupt<I extends SchemaInput, O extends SchemaInput>(
  config: InterruptConfig<I, O>,
): Tool<InferInput<I>, InferInput<O>> {
  const definition = define(config as ToolConfig<I, O>, undefined, QUESTION_KEYS);
  const { requestMetadata } = config;
  return makeTool({ ...definition, ...(requestMetadata !== undefined && { requestMetadata }) });
}

const COMMON_KEYS = {
  name: true,
  description: true,
  inputSchema: true,
  outputSchema: true,
  inputJsonSchema: true,
  outputJsonSchema: true,
  expiresIn: true,
  onExpiry: true,
  remindAfter: true,
  labels: true,
  risk: true,
  metadata: true,
} as const;
const TOOL_KEYS = keysOf<ToolConfig>({
  ...COMMON_KEYS,
  needsApproval: true,
  idempotent: true,
  commits: true,
  verify: true,
  settlesWithin: true,
});
const QUESTION_KEYS = keysOf<InterruptConfig>({ ...COMMON_KEYS, requestMetadata: true });

function define<I extends SchemaInput, O extends SchemaInput>(
  config: ToolConfig<I, O>,
  body: ToolBody<I, O> | undefined,
  known: readonly string[],
): ToolDefinition {
  checkToolConfig(config, body, known);
  const { name, description, needsApproval = false, settlesWithin } = config;
  const input = schemaOf(config.inputSchema, config.inputJsonSchema, `the inputSchema of tool ${name}`);
  let spec: ToolSpec | undefined;
  return {
    name,
    input,
    output: schemaOf(config.outputSchema, config.outputJsonSchema, `the outputSchema of tool ${name}`),
    spec: () => {
      spec ??= { name, description: description ?? '', inputSchema: objectSchema(input.json()) };
      return spec;
    },
    ...(body && { body }),
    needsApproval,
    idempotent: config.idempotent === true,
    commits: config.commits === true,
    ...(config.verify && { verify: config.verify }),
    ...(settlesWithin !== undefined && { settlesWithin }),
    asks: askOptionsOf(config),
    metadata: config.metadata ?? {},
  };
}

function schemaOf(schema: SchemaInput | undefined, json: JsonSchema | undefined, where: string): Schema {
  if (schema !== undefined) return asSchema(schema, where, json);
  return json === undefined ? ANYTHING : asSchema(json, where);
}

/** Providers accept only objects. */
function objectSchema(schema: JsonSchema): JsonSchema {
  return Object.keys(schema).length === 0 ? { type: 'object' } : schema;
}

/** Wraps a definition in what users call. */
export function makeTool<Input, Output>(definition: ToolDefinition): Tool<Input, Output> {
  const { name } = definition;
  const call = (input: Input, options: DirectCallOptions = {}) =>
    callDirectly(definition, input, options) as Promise<Output>;
  const methods = Object.assign(call, {
    is: (asked: unknown) =>
      isObject(asked) && (isObject(asked.toolRequest) ? asked.toolRequest.name : asked.tool) === name,
    respond(part: ToolRequestPart, output: Output, options?: DecisionOptions) {
      checkOwn(name, part);
      checkFits(definition.output, output, `The answer to ${name}`, part);
      return respond(part, output, options);
    },
    restart(part: ToolRequestPart, resumed?: unknown, options: DecisionOptions & { replaceInput?: Input } = {}) {
      checkOwn(name, part);
      if (options?.replaceInput !== undefined)
        checkFits(definition.input, options.replaceInput, `The new input of ${name}`, part);
      return restart(part, resumed, options);
    },
    approve(part: ToolRequestPart, options: DecisionOptions & { edit?: Input } = {}) {
      checkOwn(name, part);
      if (options?.edit !== undefined) checkFits(definition.input, options.edit, `The edited input of ${name}`, part);
      return approve(part, options);
    },
    reject(part: ToolRequestPart, reason?: string, options?: DecisionOptions) {
      checkOwn(name, part);
      return reject(part, reason, options);
    },
    cancel(part: ToolRequestPart, reason?: string, options?: DecisionOptions) {
      checkOwn(name, part);
      return cancel(part, reason, options);
    },
  });
  return Object.defineProperties(methods, {
    name: { value: name, enumerable: true },
    definition: { value: definition, enumerable: false },
  }) as unknown as Tool<Input, Output>;
}

function checkOwn(tool: string, part: ToolRequestPart): void {
  const { name, ref } = requestOf(part);
  if (name === tool) return;
  const message = `Interrupt ${ref} belongs to ${name}; ${tool} cannot decide it.`;
  throw new UsageError('invalid-decision', { tool, asked: name, ref }, message);
}

function checkFits(schema: Schema, value: unknown, what: string, part: ToolRequestPart): void {
  const { name, ref } = part.toolRequest;
  let checked: ReturnType<Schema['validate']>;
  try {
    // A copy, so that the schema cannot change what the caller decided.
    checked = schema.validate(copyOf(value));
  } catch (cause) {
    const message = `${what} (${ref}) could not be checked because its schema threw: ${messageOf(cause)}.`;
    throw new UsageError('invalid-decision', { tool: name, ref }, message, { cause });
  }
  // An asynchronous schema is checked when the decision is passed to `resume`, and may throw then.
  if (checked instanceof Promise) return void checked.catch(() => undefined);
  if (checked.ok) return;
  throw new UsageError(
    'invalid-decision',
    { tool: name, ref, problems: checked.problems },
    `${what} (${ref}) does not fit its schema: ${checked.problems.join('; ')}.`,
  );
}
