// Prompts as functions: they render, generate and resume.
import { UsageError } from '../core/errors.ts';
import type { Message } from '../core/messages/message.ts';
import { anything, checkOptions, type OptionTable, without } from '../core/options.ts';
import type { GenerateStream } from '../loop/generate.ts';
import { GENERATE_OPTIONS, type GenerateOptions, withDefaults } from '../loop/options.ts';
import type { GenerateResponse } from '../loop/response.ts';
import { asSchema, type InferInput, type InferOutput, type SchemaInput } from '../loop/tool/schema.ts';
import { type PromptDefinition, type PromptTemplate, promptInput } from './definition.ts';

/** The options of `definePrompt`, with defaults for the options of `generate`. */
export type PromptConfig<I extends SchemaInput = any, O extends SchemaInput = any> = Omit<
  GenerateOptions<O>,
  'prompt' | 'system' | 'messages' | 'resume' | 'toolResponses' | 'abortSignal' | 'onChunk'
> & {
  readonly name: string;
  readonly variant?: string;
  readonly description?: string;
  readonly input?: { readonly schema?: I; readonly default?: Partial<InferInput<I>> };
  readonly system?: PromptTemplate<InferOutput<I>>;
  readonly messages?: PromptTemplate<InferOutput<I>>;
  readonly prompt?: PromptTemplate<InferOutput<I>>;
};

/** Options of `generate`, for this call only. */
export type PromptCallOptions = Omit<GenerateOptions, 'prompt' | 'system'>;

/** A prompt. With `resume`, it continues from `messages` and does not render again. */
export interface Prompt<Input = any, Output = any> {
  (input?: Input, options?: PromptCallOptions): Promise<GenerateResponse<Output>>;
  /** Like calling it, with a stream of chunks. */
  stream(input?: Input, options?: PromptCallOptions): GenerateStream<Output>;
  /** Returns the options for `generate`. */
  render(input?: Input, options?: PromptCallOptions): Promise<GenerateOptions>;
  readonly name: string;
}

/** What a prompt needs from the instance. Rendering is loaded on first use. */
export type PromptMeans = {
  readonly generate: (options: GenerateOptions) => Promise<GenerateResponse>;
  readonly stream: (options: object, start: (options: GenerateOptions) => Promise<GenerateResponse>) => GenerateStream;
  readonly context: () => GenerateOptions['context'];
};

export function makePrompt(name: string, load: () => Promise<PromptDefinition>, means: PromptMeans): Prompt {
  const render = async (input?: unknown, options: PromptCallOptions = {}): Promise<GenerateOptions> => {
    const definition = await load();
    const given = withDefaults(definition.defaults ?? {}, options);
    if (options.resume || options.toolResponses) return given;
    return { ...given, messages: await renderMessages(definition, input, options, means) };
  };
  const call = async (input?: unknown, options?: PromptCallOptions) => means.generate(await render(input, options));
  const prompt = Object.assign(call, {
    render,
    stream: (input?: unknown, options: PromptCallOptions = {}) =>
      means.stream(options, async (streaming) => means.generate(await render(input, streaming))),
  });
  return Object.defineProperty(prompt, 'name', { value: name, enumerable: true });
}

async function renderMessages(
  definition: PromptDefinition,
  given: unknown,
  { messages, context }: PromptCallOptions,
  means: PromptMeans,
): Promise<readonly Message[]> {
  const { renderPrompt } = await import('./render.ts');
  let input = promptInput(definition, given);
  if (definition.inputSchema !== undefined) {
    const schema = asSchema(definition.inputSchema, `the input schema of prompt ${definition.name}`);
    const checked = await schema.validate(input ?? {});
    if (!checked.ok)
      throw new UsageError(
        'invalid-options',
        { prompt: definition.name, problems: checked.problems },
        `The input of prompt ${definition.name} does not fit its schema: ${checked.problems.join('; ')}.`,
      );
    input = checked.value;
  }
  return renderPrompt(definition, { input, ...(messages && { messages }), context: context ?? means.context() ?? {} });
}

export function promptDefinition(config: PromptConfig, template: PromptTemplate | undefined): PromptDefinition {
  const { name, variant: _, description: __, input, system, messages, prompt, ...defaults } = config ?? {};
  if (typeof name !== 'string' || name === '')
    throw new UsageError('invalid-options', { name }, `A prompt's name must be a string, not ${JSON.stringify(name)}.`);
  checkOptions(`the prompt ${name}`, config, PROMPT_OPTIONS);
  return {
    name,
    inputSchema: input?.schema,
    inputDefault: input?.default,
    system,
    messages,
    template: template ?? prompt,
    defaults,
  };
}

const PROMPT_OPTIONS: OptionTable<PromptConfig> = {
  ...without(GENERATE_OPTIONS, 'resume', 'toolResponses', 'abortSignal', 'onChunk'),
  name: anything,
  variant: anything,
  description: anything,
  input: anything,
};
