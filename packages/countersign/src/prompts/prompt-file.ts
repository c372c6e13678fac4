// A .prompt file: front matter that says what the prompt needs, then its template.
import type { ModelConfig, ToolChoice } from '../models/model.ts';
import type { PromptDefinition } from './definition.ts';
import { type FrontMatter, type Path, splitSource } from './front-matter.ts';
import { invalidPrompt } from './invalid-prompt.ts';
import { collectPartials, type PartialSource } from './partials.ts';
import { readSchema } from './picoschema.ts';

export type PromptFileOptions = {
  readonly name: string;
  readonly variant?: string;
  /** What errors call the file. */
  readonly file: string;
  /** Where `{{> name}}` is looked up. */
  readonly partials?: PartialSource;
};

/**
 * Reads the text of a .prompt file. Keys that are not Dotprompt's are ignored, and so are `name` and `variant`: the
 * name of the file decides. Throws `invalid-prompt` with the file and the line that is broken.
 */
export async function parsePrompt(text: string, options: PromptFileOptions): Promise<PromptDefinition> {
  const { name, variant, file, partials } = options;
  const place = { prompt: name, file };
  const { matter, template, templateLine } = await splitSource(text, place);
  for (const key of ['input', 'output']) read(matter, [key], 'made of keys and values', isMapping);
  const fields = {
    variant,
    description: read(matter, ['description'], 'text', isString),
    model: read(matter, ['model'], 'the name of a model', isString),
    tools: readTools(matter),
    config: read(matter, ['config'], 'made of keys and values', isConfig),
    toolChoice: read(matter, ['toolChoice'], 'auto, none, required or `tool: name`', isToolChoice),
    maxTurns: read(matter, ['maxTurns'], 'a whole number above 0', isCount),
    inputSchema: await readSchema(matter, ['input', 'schema']),
    inputDefault: matter.get(['input', 'default']),
    outputSchema: await readSchema(matter, ['output', 'schema']),
    outputFormat: read(matter, ['output', 'format'], 'text', isString),
    partials: await collectPartials({ text: template, place: { ...place, line: templateLine } }, partials),
  };
  return { name, ...withoutUndefined(fields), template, source: { file, line: templateLine } };
}

function readTools(matter: FrontMatter): readonly string[] | undefined {
  const tools = read(matter, ['tools'], 'a list of names, such as [askQuestion]', Array.isArray);
  return tools?.map((tool, index) => {
    if (isString(tool)) return tool;
    throw invalidPrompt(matter.placeOf(['tools', index]), '`tools` must name tools.');
  });
}

function read<T>(
  matter: FrontMatter,
  path: Path,
  expected: string,
  fits: (value: unknown) => value is T,
): T | undefined {
  const value = matter.get(path);
  if (value === undefined || fits(value)) return value;
  throw invalidPrompt(matter.placeOf(path), `\`${path.join('.')}\` must be ${expected}.`);
}

const isString = (value: unknown): value is string => typeof value === 'string';
const isCount = (value: unknown): value is number => Number.isInteger(value) && (value as number) > 0;
const isMapping = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isConfig = (value: unknown): value is ModelConfig => isMapping(value);
const isToolChoice = (value: unknown): value is ToolChoice =>
  value === 'auto' || value === 'none' || value === 'required' || (isMapping(value) && isString(value.tool));

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function withoutUndefined<T extends object>(fields: T): Defined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;
}
