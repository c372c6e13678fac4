// A .prompt file: front matter that says what the prompt needs, then its template.
import { z } from 'zod';
import type { GenerateOptions } from '../loop/options.ts';
import type { PlacedTemplate, PromptDefinition } from './definition.ts';
import { splitSource } from './front-matter.ts';
import { invalidPrompt } from './invalid-prompt.ts';
import { readSchema } from './picoschema.ts';
import { checkTemplate } from './template.ts';

export type PromptFileOptions = {
  readonly name: string;
  /** What errors call the file. */
  readonly file: string;
  /** Templates that it may include as `{{> name}}`. */
  readonly partials?: ReadonlyMap<string, PlacedTemplate>;
};

/** A key without a value counts as left out. */
const optional = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? undefined);

const aMapping = z.record(z.string(), z.unknown(), 'must be made of keys and values');

const FRONT_MATTER = z.object(
  {
    model: optional(z.string('must be the name of a model')),
    tools: optional(z.array(z.string('must be the name of a tool'), 'must be a list of names, such as [askQuestion]')),
    config: optional(aMapping),
    toolChoice: optional(
      z.union(
        [z.enum(['auto', 'none', 'required']), z.object({ tool: z.string() })],
        'must be auto, none, required or `tool: name`',
      ),
    ),
    maxTurns: optional(z.int('must be a whole number above 0').min(1, 'must be a whole number above 0')),
    input: optional(aMapping),
    output: optional(aMapping),
  },
  'must consist of keys and values, such as `model: openai/gpt-5`',
);

/**
 * Reads the text of a .prompt file. Other keys are ignored, and so are `name` and `variant`: the name of the file decides.
 * Throws `invalid-prompt` with the file and the line that is broken.
 */
export async function parsePrompt(
  text: string,
  { name, file, partials }: PromptFileOptions,
): Promise<PromptDefinition> {
  const place = { prompt: name, file };
  const { values, placeOf, template, templateLine } = await splitSource(text, place);
  const checked = FRONT_MATTER.safeParse(values);
  if (!checked.success) {
    const { path = [], message } = checked.error.issues[0] ?? {};
    const what = path.length === 0 ? 'The front matter' : `\`${path.join('.')}\``;
    throw invalidPrompt(placeOf(path), `${what} ${message}.`);
  }
  const { input, output, ...options } = checked.data;
  const outputSchema = await readSchema(output?.schema, placeOf(['output', 'schema']));
  await checkTemplate(template, { ...place, line: templateLine });
  return {
    name,
    inputSchema: await readSchema(input?.schema, placeOf(['input', 'schema'])),
    inputDefault: input?.default ?? undefined,
    defaults: { ...options, ...(outputSchema && { output: { schema: outputSchema } }) } as GenerateOptions,
    template,
    ...(partials && { partials }),
    source: { file, line: templateLine },
  };
}
