// A prompt, defined in code or read from a file.
import type { Message, Part } from '../core/message.ts';
import type { ModelConfig, ToolChoice } from '../models/model.ts';

/** Values that templates reach as `{{@name}}`, such as `{{@auth.email}}`. */
export type PromptContext = { readonly [key: string]: unknown };

export type PromptContent = string | Part | readonly Part[] | readonly Message[];

/** Makes the content for each call. A string that it returns is text, not a template. */
export type PromptFunction<Input = any> = (
  input: Input,
  options: { readonly context: PromptContext },
) => PromptContent | Promise<PromptContent>;

/** A string is a Handlebars template with Dotprompt's helpers; parts and messages are used unchanged. */
export type PromptTemplate<Input = any> = PromptContent | PromptFunction<Input>;

export type PromptDefinition<Input = any> = {
  readonly name: string;
  readonly variant?: string;
  readonly description?: string;
  /** As given to `definePrompt`; a name when read from a file. */
  readonly model?: unknown;
  /** As given to `definePrompt`; names when read from a file. */
  readonly tools?: readonly unknown[];
  readonly config?: ModelConfig;
  readonly toolChoice?: ToolChoice;
  readonly maxTurns?: number;
  /** As given to `definePrompt`; JSON Schema when read from a file. Rendering does not check against it. */
  readonly inputSchema?: unknown;
  /** Fills what the input leaves out. */
  readonly inputDefault?: unknown;
  /** As given to `definePrompt`; JSON Schema when read from a file. */
  readonly outputSchema?: unknown;
  readonly outputFormat?: string;
  /** Becomes a system message, unless it says `{{role}}`. */
  readonly system?: PromptTemplate<Input>;
  /** Comes between `system` and `template`; examples of a conversation, for instance. */
  readonly messages?: PromptTemplate<Input>;
  /** Becomes a user message, unless it says `{{role}}`. */
  readonly template?: PromptTemplate<Input>;
  /** Other options to pass on when the prompt is called. */
  readonly defaults?: object;
  /** Templates that others include as `{{> name}}`. */
  readonly partials?: ReadonlyMap<string, string>;
  /** The file and first line of its template, for errors. */
  readonly source?: { readonly file: string; readonly line: number };
};

/** The input with the prompt's defaults filled in: what to check against `inputSchema`. */
export function promptInput(definition: PromptDefinition, input: unknown): unknown {
  const { inputDefault } = definition;
  if (input === undefined) return inputDefault;
  if (!isRecord(input) || !isRecord(inputDefault)) return input;
  const given = Object.entries(input).filter(([, value]) => value !== undefined);
  return { ...inputDefault, ...Object.fromEntries(given) };
}

function isRecord(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
