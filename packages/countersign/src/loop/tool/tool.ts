// Makes tools: what the model may call, and the requests that pause its loop.
import { messageOf, UsageError } from '../../core/errors.ts';
import { copyOf, defined, isObject } from '../../core/json.ts';
import type { ToolRequestPart } from '../../core/messages/message.ts';
import type { JsonSchema, ToolSpec } from '../../models/model.ts';
import { askOptionsOf } from './ask-options.ts';
import { limitedSchema } from './data-schema.ts';
import { approve, cancel, type DecisionOptions, reject, requestOf, respond, restart } from './decisions.ts';
import type { DirectCallOptions, InterruptConfig, Tool, ToolBody, ToolConfig, ToolDefinition } from './definition.ts';
import { callDirectly } from './direct-call.ts';
import { spanOf } from './duration.ts';
import { modelSchema, withoutReason } from './model-schema.ts';
import { ANYTHING, asSchema, type InferInput, type Schema, type SchemaInput } from './schema.ts';
import { checkToolConfig, QUESTION_OPTIONS, TOOL_OPTIONS } from './tool-config.ts';

/** Makes a tool without an instance. Without `body` it is a request: the answer is its result. */
export function tool<I extends SchemaInput, O extends SchemaInput>(
  config: ToolConfig<I, O>,
  body?: ToolBody<I, O>,
): Tool<InferInput<I>, InferInput<O>> {
  return makeTool(define(config, body, TOOL_OPTIONS));
}

/** Makes a request without an instance: the model asks, a person answers. */
export function interrupt<I extends SchemaInput, O extends SchemaInput>(
  config: InterruptConfig<I, O>,
): Tool<InferInput<I>, InferInput<O>> {
  const definition = define(config as ToolConfig<I, O>, undefined, QUESTION_OPTIONS);
  return makeTool({ ...definition, requestMetadata: config.requestMetadata });
}

function define<I extends SchemaInput, O extends SchemaInput>(
  config: ToolConfig<I, O>,
  body: ToolBody<I, O> | undefined,
  table: Parameters<typeof checkToolConfig>[2],
): ToolDefinition {
  checkToolConfig(config, body, table);
  const { name, description, title, needsApproval = false, verify, settlesWithin } = config;
  const { preview, previewWithin, onPreviewChange, notice, outcome, howToCheck, trust, sensitive, undo } = config;
  const asksReason = config.reason === true;
  const given = schemaOf(config.inputSchema, config.inputJsonSchema, `the inputSchema of tool ${name}`);
  const input = asksReason ? withoutReason(name, given) : given;
  let spec: ToolSpec | undefined;
  return {
    name,
    input,
    output: schemaOf(config.outputSchema, config.outputJsonSchema, `the outputSchema of tool ${name}`),
    spec: () => {
      spec ??= { name, description: description ?? '', inputSchema: modelSchema(input.json(), asksReason) };
      return spec;
    },
    ...defined({
      body,
      title,
      verify,
      howToCheck,
      settlesWithin,
      preview,
      previewWithin,
      onPreviewChange,
      notice,
      outcome,
      trust,
      sensitive,
      recallFor: spanOf(config.recallFor)?.ms,
      undo,
    }),
    needsApproval,
    ...(asksReason && { asksReason }),
    ...(config.commentsForModel && { commentsForModel: true }),
    idempotent: config.idempotent === true,
    commits: config.commits === true,
    asks: askOptionsOf(undo ? { ...config, reversibility: 'reversible' } : config),
    metadata: config.metadata ?? {},
  };
}

function schemaOf(schema: SchemaInput | undefined, json: JsonSchema | undefined, where: string): Schema {
  if (schema !== undefined) return asSchema(schema, where, json);
  return json === undefined ? ANYTHING : asSchema(json, where);
}

export function makeTool<Input, Output>(definition: ToolDefinition): Tool<Input, Output> {
  const { name } = definition;
  const own =
    <Rest extends readonly unknown[], Part>(decide: (part: ToolRequestPart, ...rest: Rest) => Part) =>
    (part: ToolRequestPart, ...rest: Rest): Part => {
      checkOwn(name, part);
      return decide(part, ...rest);
    };
  const call = (input: Input, options: DirectCallOptions = {}) =>
    callDirectly(definition, input, options) as Promise<Output>;
  const methods = Object.assign(call, {
    is: (asked: unknown) =>
      isObject(asked) && (isObject(asked.toolRequest) ? asked.toolRequest.name : asked.tool) === name,
    respond: own((part, output: Output, options?: DecisionOptions) => {
      const { answerSchema } = part.metadata ?? {};
      const schema = isObject(answerSchema)
        ? asSchema(limitedSchema(answerSchema) ?? answerSchema, `the answer to ${name}`)
        : definition.output;
      checkFits(schema, output, `The answer to ${name}`, part);
      return respond(part, output, options);
    }),
    restart: own((part, resumed?: unknown, options: DecisionOptions & { replaceInput?: Input } = {}) => {
      if (options?.replaceInput !== undefined)
        checkFits(definition.input, options.replaceInput, `The new input of ${name}`, part);
      return restart(part, resumed, options);
    }),
    approve: own((part, options: DecisionOptions & { edit?: Input } = {}) => {
      if (options?.edit !== undefined) checkFits(definition.input, options.edit, `The edited input of ${name}`, part);
      return approve(part, options);
    }),
    reject: own(reject),
    cancel: own(cancel),
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
  const message = `${what} (${ref}) does not fit its schema: ${checked.problems.join('; ')}.`;
  throw new UsageError('invalid-decision', { tool: name, ref, problems: checked.problems }, message);
}
