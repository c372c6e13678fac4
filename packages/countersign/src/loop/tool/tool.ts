// Tools: what the model may call, and the questions that pause its loop.

import { messageOf, UsageError } from '../../core/errors.ts';
import { copyOf } from '../../core/json.ts';
import { keysOf } from '../../core/known-keys.ts';
import type { Metadata, ToolRequestPart, ToolResponsePart } from '../../core/message.ts';
import type { JsonSchema, ToolSpec } from '../../models/model.ts';
import type { SubAgentRecord } from '../sink.ts';
import type { Chunk } from '../stream/chunk.ts';
import { askOptionsOf } from './ask-options.ts';
import { approve, cancel, type DecisionOptions, reject, requestOf, respond, restart } from './decisions.ts';
import {
  ANYTHING,
  asSchema,
  type InferInput,
  type InferOutput,
  type Schema,
  type SchemaInput,
  type Validation,
} from './schema.ts';
import { type Asked, type AskOptions, type InterruptFunction, InterruptSignal, rememberInterrupts } from './signal.ts';
import { checkToolConfig } from './tool-config.ts';

/** Who is asking, which tenant: given per request and never stored in messages. */
export type Context = { readonly [key: string]: any };

/** What a tool body is given beside its input. */
export type ToolContext = {
  readonly context: Context;
  readonly interrupt: InterruptFunction;
  /** What the person gave to go on with; undefined when the body runs for the first time. */
  readonly resumed: any;
  /**
   * Does `work` once: when the body runs again after an interrupt, a step that is done gives its recorded result.
   * Steps of one name are told apart by their order.
   */
  readonly step: <T>(name: string, work: () => T | Promise<T>) => Promise<T>;
  /**
   * Call it just before the irreversible request, in a tool that says `commits: true`: a crash before it is harmless, and
   * the call is run again; after it, nobody knows, and a person is asked.
   */
  readonly commitPoint: () => Promise<void>;
  /** Fires when the run is aborted. */
  readonly signal: AbortSignal;
  /** Our id of the call, unique in the run. */
  readonly callId: string;
  /** The same whenever this call runs; pass it to whoever can refuse a second execution. */
  readonly idempotencyKey: string;
  /** What stands beside the request: provider metadata, the interrupt, the decision. */
  readonly metadata: Metadata;
};

/** What a person is shown before a gated call runs, and how long it waits. */
export type Approval = AskOptions & { readonly message?: string; readonly [key: string]: unknown };

/** What `needsApproval` is given beside the input. */
export type ApprovalContext = Pick<ToolContext, 'context' | 'callId' | 'metadata' | 'signal'>;

/** What `verify` found out: `{ output }` when the call took effect, undefined when it found nothing. */
export type Verified = { readonly output: NonNullable<unknown> | null } | undefined;

type MaybePromise<T> = T | Promise<T>;

/** How `defineTool` and `tool` are told of a tool. */
export type ToolConfig<I extends SchemaInput = SchemaInput, O extends SchemaInput = SchemaInput> = AskOptions & {
  readonly name: string;
  readonly description: string;
  readonly inputSchema?: I;
  readonly outputSchema?: O;
  /** What models are told of the input, for a schema that cannot give its JSON Schema; alone, it is the schema. */
  readonly inputJsonSchema?: JsonSchema;
  readonly outputJsonSchema?: JsonSchema;
  /**
   * Asks a person before the body runs. Only `false` lets a call run unasked; a predicate that throws means: ask.
   */
  readonly needsApproval?:
    | boolean
    | ((input: InferOutput<I>, ctx: ApprovalContext) => MaybePromise<boolean | Approval>);
  /** Running twice is harmless: a call whose outcome is unknown is run again without asking. */
  readonly idempotent?: boolean;
  /** The body does nothing that matters before it has called `ctx.commitPoint()`. */
  readonly commits?: boolean;
  /** Looks up whether the call took effect, when nobody knows. */
  readonly verify?: (
    input: InferOutput<I>,
    ctx: { readonly idempotencyKey: string; readonly context: Context },
  ) => MaybePromise<Verified>;
  /** After so many milliseconds a call that was started has no effect any more, if `verify` finds no trace of it. */
  readonly settlesWithin?: number;
  readonly metadata?: Metadata;
};

/** How `defineInterrupt` and `interrupt` are told of a question; `outputSchema` is what a person answers. */
export type InterruptConfig<I extends SchemaInput = SchemaInput, O extends SchemaInput = SchemaInput> = Omit<
  ToolConfig<I, O>,
  'needsApproval' | 'idempotent' | 'commits' | 'verify' | 'settlesWithin'
> & {
  /** What the person is shown beside the input. */
  readonly requestMetadata?: Metadata | string | number | boolean | ((input: InferOutput<I>) => unknown);
};

/** What a tool does. It may stop at `interrupt()` and is then run again from its top. */
export type ToolBody<I extends SchemaInput, O extends SchemaInput> = (
  input: InferOutput<I>,
  ctx: ToolContext,
) => MaybePromise<InferInput<O> | Asked | void>;

/** Options of a direct call, as in a test. */
export type DirectCallOptions = {
  readonly context?: Context;
  readonly resumed?: unknown;
  /** A person has approved: the gate lets the call through. */
  readonly approved?: boolean;
  readonly signal?: AbortSignal;
};

/** A tool. Called directly, it validates, asks its gate and runs its body. */
export interface Tool<Input = any, Output = any> {
  (input: Input, options?: DirectCallOptions): Promise<Output>;
  readonly name: string;
  readonly definition: ToolDefinition;
  /** Answers this tool's interrupt; the output must fit the output schema. */
  respond(interrupt: ToolRequestPart, output: Output, options?: DecisionOptions): ToolResponsePart<Output>;
  /** Runs the tool (again) with `resumed`; a replaced input must fit the input schema. */
  restart(
    interrupt: ToolRequestPart,
    resumed?: unknown,
    options?: DecisionOptions & { readonly replaceInput?: Input },
  ): ToolRequestPart<Input>;
  /** Lets the call run, as asked for or with an edited input. */
  approve(interrupt: ToolRequestPart, options?: DecisionOptions & { readonly edit?: Input }): ToolRequestPart<Input>;
  /** Refuses the call; the model is told so, with the reason. */
  reject(interrupt: ToolRequestPart, reason?: string, options?: DecisionOptions): ToolResponsePart;
  /** Withdraws the question; the model is told so. */
  cancel(interrupt: ToolRequestPart, reason?: string, options?: DecisionOptions): ToolResponsePart;
}

/** What the loop knows of a tool. */
export type ToolDefinition = {
  readonly name: string;
  readonly input: Schema;
  readonly output: Schema;
  /** As models are told of it. */
  readonly spec: () => ToolSpec;
  /** Absent: the call is a question, and its answer is its result. */
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
  /** The tools of the agent behind this tool, by name; unknown names are left out unless said otherwise. */
  readonly innerTools?: (unknown?: UnknownNames) => ReadonlyMap<string, ToolDefinition>;
};

/** What becomes of names among the tools that nothing is defined under. */
export type UnknownNames = 'refuse' | 'leave-out';

/** How a conversation inside a tool hears of an abort, reaches those who listen outside, and is kept. */
export type Inside = {
  readonly ref: string;
  /** Absent where the run is not stored. */
  readonly within?: SubAgentRecord;
  readonly signal?: AbortSignal;
  readonly emit?: (chunk: Chunk) => void;
};

/** A tool for use without an instance. Without `body` it is a question: its answer is its result. */
export function tool<I extends SchemaInput, O extends SchemaInput>(
  config: ToolConfig<I, O>,
  body?: ToolBody<I, O>,
): Tool<InferInput<I>, InferInput<O>> {
  return makeTool(define(config, body, TOOL_KEYS));
}

/** A question for use without an instance: the model asks, a person answers. */
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

/** Providers take objects only. */
function objectSchema(schema: JsonSchema): JsonSchema {
  return Object.keys(schema).length === 0 ? { type: 'object' } : schema;
}

/** The public face of a definition. */
export function makeTool<Input, Output>(definition: ToolDefinition): Tool<Input, Output> {
  const { name } = definition;
  const call = (input: Input, options: DirectCallOptions = {}) =>
    callDirectly(definition, input, options) as Promise<Output>;
  const face: Omit<Tool<Input, Output>, 'name' | 'definition'> & typeof call = Object.assign(call, {
    respond(part: ToolRequestPart, output: Output, options?: DecisionOptions) {
      own(name, part);
      fits(definition.output, output, `The answer to ${name}`, part);
      return respond(part, output, options);
    },
    restart(part: ToolRequestPart, resumed?: unknown, options: DecisionOptions & { replaceInput?: Input } = {}) {
      own(name, part);
      if (options?.replaceInput !== undefined)
        fits(definition.input, options.replaceInput, `The new input of ${name}`, part);
      return restart(part, resumed, options);
    },
    approve(part: ToolRequestPart, options: DecisionOptions & { edit?: Input } = {}) {
      own(name, part);
      if (options?.edit !== undefined) fits(definition.input, options.edit, `The edited input of ${name}`, part);
      return approve(part, options);
    },
    reject(part: ToolRequestPart, reason?: string, options?: DecisionOptions) {
      own(name, part);
      return reject(part, reason, options);
    },
    cancel(part: ToolRequestPart, reason?: string, options?: DecisionOptions) {
      own(name, part);
      return cancel(part, reason, options);
    },
  });
  return Object.defineProperties(face, {
    name: { value: name, enumerable: true },
    definition: { value: definition, enumerable: false },
  }) as unknown as Tool<Input, Output>;
}

function own(name: string, part: ToolRequestPart): void {
  const asked = requestOf(part);
  if (asked.name !== name)
    throw new UsageError(
      'invalid-decision',
      { tool: name, asked: asked.name, ref: asked.ref },
      `The interrupt ${asked.ref} is one of ${asked.name}; ${name} cannot decide it.`,
    );
}

function fits(schema: Schema, value: unknown, what: string, part: ToolRequestPart): void {
  const { name, ref } = part.toolRequest;
  let checked: ReturnType<Schema['validate']>;
  try {
    // A copy: what is decided is what the caller gave.
    checked = schema.validate(copyOf(value));
  } catch (cause) {
    const message = `${what} (${ref}) could not be checked, as its schema threw: ${messageOf(cause)}.`;
    throw new UsageError('invalid-decision', { tool: name, ref }, message, { cause });
  }
  // A schema that validates asynchronously is asked when the decision is passed to `resume`, and may throw then.
  if (checked instanceof Promise) return void checked.catch(() => undefined);
  if (checked.ok) return;
  throw new UsageError(
    'invalid-decision',
    { tool: name, ref, problems: checked.problems },
    `${what} (${ref}) does not fit: ${checked.problems.join('; ')}.`,
  );
}

async function callDirectly(definition: ToolDefinition, input: unknown, options: DirectCallOptions): Promise<unknown> {
  const { name } = definition;
  const valid = await definition.input.validate(input);
  if (!valid.ok) throw notFitting('input', name, valid);
  const memory = rememberInterrupts(name);
  const callId = `direct-${crypto.randomUUID()}`;
  const ctx: ToolContext = {
    context: options.context ?? {},
    interrupt: memory.interrupt,
    resumed: options.resumed,
    step: async (_name, work) => work(),
    commitPoint: async () => undefined,
    signal: options.signal ?? new AbortController().signal,
    callId,
    idempotencyKey: callId,
    metadata: {},
  };
  if (!definition.body) throw new InterruptSignal(await requestPayload(definition, valid.value), name);
  const approval =
    options.approved || options.resumed !== undefined ? false : await askGate(definition, valid.value, ctx);
  if (approval !== false) throw new InterruptSignal(approval, name);
  const output = await definition.body(valid.value, ctx, { ref: callId });
  const asked = memory.first();
  if (asked) throw new InterruptSignal(asked.payload, name);
  const checked = await definition.output.validate(output);
  if (!checked.ok) throw notFitting('output', name, checked);
  return checked.value;
}

function notFitting(what: 'input' | 'output', tool: string, { problems }: Validation & { ok: false }): UsageError {
  return new UsageError(
    'invalid-options',
    { tool, problems },
    `The ${what} of tool ${tool} does not fit its schema: ${problems.join('; ')}.`,
  );
}

/** What a question shows beside its input. */
export async function requestPayload(definition: ToolDefinition, input: unknown): Promise<unknown> {
  const given = definition.requestMetadata;
  return typeof given === 'function' ? await given(input) : given;
}

/** `false` when the call may run; otherwise what the person is shown. Whatever is unclear means: ask. */
export async function askGate(
  definition: ToolDefinition,
  input: unknown,
  ctx: ApprovalContext,
): Promise<false | Approval | true> {
  const { needsApproval } = definition;
  if (typeof needsApproval !== 'function') return needsApproval !== false;
  try {
    const verdict = await needsApproval(input, ctx);
    if (verdict === false) return false;
    return typeof verdict === 'object' && verdict !== null ? verdict : true;
  } catch (error) {
    return {
      message: `Whether ${definition.name} needs approval could not be determined: ${messageOf(error)}`,
    };
  }
}
