// A .prompt file: front matter that says what the prompt needs, then its template.
import { isObject } from '../core/json.ts';
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

type Rule = { readonly fits: (value: unknown) => boolean; readonly must: string };

const isString = (value: unknown): boolean => typeof value === 'string';
const aMapping: Rule = { fits: isObject, must: 'be made of keys and values' };

/**
 * Checked without zod: its modules import each other in a circle, and esbuild breaks such a circle if code that is loaded later,
 * as this is, shares it with code that is not.
 */
const FRONT_MATTER: Readonly<Record<string, Rule>> = {
  model: { fits: isString, must: 'be the name of a model' },
  tools: { fits: Array.isArray, must: 'be a list of names, such as [askQuestion]' },
  config: aMapping,
  toolChoice: {
    fits: (value) => (isObject(value) ? isString(value.tool) : ['auto', 'none', 'required'].includes(String(value))),
    must: 'be auto, none, required or `tool: name`',
  },
  maxTurns: { fits: (value) => Number.isSafeInteger(value) && Number(value) > 0, must: 'be a whole number above 0' },
  input: aMapping,
  output: aMapping,
};

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
  const broken = firstFault(values);
  if (broken !== undefined) {
    const { path, must } = broken;
    const what = path.length === 0 ? 'The front matter' : `\`${path.join('.')}\``;
    throw invalidPrompt(placeOf(path), `${what} must ${must}.`);
  }
  const { input, output, ...options } = knownValues(values as Record<string, unknown>);
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

type Fault = { readonly path: readonly PropertyKey[]; readonly must: string };

function firstFault(values: unknown): Fault | undefined {
  if (!isObject(values)) return { path: [], must: 'consist of keys and values, such as `model: openai/gpt-5`' };
  const known = knownValues(values);
  for (const [key, { fits, must }] of Object.entries(FRONT_MATTER))
    if (known[key] !== undefined && !fits(known[key])) return { path: [key], must };
  const tool = ((known.tools ?? []) as readonly unknown[]).findIndex((name) => !isString(name));
  return tool < 0 ? undefined : { path: ['tools', tool], must: 'be the name of a tool' };
}

/** A key without a value counts as left out. */
function knownValues(values: Readonly<Record<string, unknown>>): KnownValues {
  const given = Object.keys(FRONT_MATTER).map((key) => [key, values[key] ?? undefined]);
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}

type KnownValues = Readonly<Record<string, unknown>> & {
  readonly input?: Readonly<Record<string, unknown>>;
  readonly output?: Readonly<Record<string, unknown>>;
};
