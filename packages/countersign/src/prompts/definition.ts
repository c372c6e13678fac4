// A prompt, defined in code or read from a file.
import { isObject } from '../core/json.ts';
import type { Message, Part } from '../core/messages/message.ts';
import type { GenerateOptions } from '../loop/options.ts';
import type { SchemaInput } from '../loop/tool/schema.ts';
import type { Place } from './invalid-prompt.ts';

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

/** A template's text and where it begins. */
export type PlacedTemplate = { readonly text: string; readonly place: Place };

export type PromptDefinition = {
  readonly name: string;
  /** Rendering does not check against it. */
  readonly inputSchema?: SchemaInput | undefined;
  /** Fills what the input leaves out. */
  readonly inputDefault?: unknown;
  /** Becomes a system message, unless it says `{{role}}`. */
  readonly system?: PromptTemplate | undefined;
  /** Comes between `system` and `template`; examples of a conversation, for instance. */
  readonly messages?: PromptTemplate | undefined;
  /** Becomes a user message, unless it says `{{role}}`. */
  readonly template?: PromptTemplate | undefined;
  /** The options of `generate` that the prompt sets. */
  readonly defaults?: GenerateOptions;
  /** Templates that others include as `{{> name}}`. */
  readonly partials?: ReadonlyMap<string, PlacedTemplate>;
  /** The file and first line of its template, for errors. */
  readonly source?: { readonly file: string; readonly line: number };
};

/** The input with the prompt's defaults filled in: what to check against `inputSchema`. */
export function promptInput({ inputDefault }: PromptDefinition, input: unknown): unknown {
  if (input === undefined) return inputDefault;
  if (!isObject(input) || !isObject(inputDefault)) return input;
  const given = Object.entries(input).filter(([, value]) => value !== undefined);
  return { ...inputDefault, ...Object.fromEntries(given) };
}
