// The YAML between `---` lines at the top of a .prompt file, read so that every error knows its line.
import type { Document, LineCounter } from 'yaml';
import { invalidPrompt, type Place } from './invalid-prompt.ts';

export type Path = readonly (string | number)[];

export type FrontMatter = {
  /** The value at a path; `undefined` where there is none or where it was left empty. */
  get(path: Path): unknown;
  /** Where the value at a path stands, or the nearest thing around it. */
  placeOf(path: Path): Place;
};

export type PromptSource = { readonly matter: FrontMatter; readonly template: string; readonly templateLine: number };

/** The first line of the YAML in its file: the opening `---` is line 1. */
const YAML_LINE = 2;

export async function splitSource(source: string, place: Place): Promise<PromptSource> {
  const lines = source.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/);
  if (!isFence(lines[0])) return { matter: noFrontMatter(place), template: lines.join('\n'), templateLine: 1 };
  const end = lines.findIndex((line, index) => index > 0 && isFence(line));
  if (end < 0)
    throw invalidPrompt(
      { ...place, line: 1, column: 1 },
      'The front matter that begins here is not closed. End it with a line ---.',
    );
  return {
    matter: await parseFrontMatter(lines.slice(1, end).join('\n'), place),
    template: lines.slice(end + 1).join('\n'),
    templateLine: end + 2,
  };
}

function isFence(line: string | undefined): boolean {
  return line !== undefined && /^---\s*$/.test(line);
}

function noFrontMatter(place: Place): FrontMatter {
  return { get: () => undefined, placeOf: () => place };
}

async function parseFrontMatter(text: string, place: Place): Promise<FrontMatter> {
  const { isMap, LineCounter, parseDocument } = await import('yaml');
  const counter = new LineCounter();
  const document = parseDocument(text, { lineCounter: counter, prettyErrors: false });
  const [broken] = document.errors;
  if (broken)
    throw invalidPrompt(
      at(place, counter, broken.pos[0]),
      `The front matter is not valid YAML: ${broken.message}`,
      broken,
    );
  if (document.contents === null) return noFrontMatter(place);
  if (!isMap(document.contents))
    throw invalidPrompt(
      at(place, counter, offsetOf(document, [])),
      'The front matter must consist of keys and values, such as `model: openai/gpt-5`.',
    );
  return read(document, counter, place);
}

function read(document: Document, counter: LineCounter, place: Place): FrontMatter {
  let values: unknown;
  try {
    values = document.toJS();
  } catch (error) {
    // An alias without its anchor, or so many that they would fill the memory.
    throw invalidPrompt(at(place, counter, 0), `The front matter cannot be read: ${(error as Error).message}`, error);
  }
  return {
    get: (path) => valueAt(values, path),
    placeOf: (path) => at(place, counter, offsetOf(document, path)),
  };
}

function valueAt(values: unknown, path: Path): unknown {
  let value = values;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string | number, unknown>)[key];
  }
  return value ?? undefined;
}

function offsetOf(document: Document, path: Path): number {
  for (let length = path.length; length >= 0; length -= 1) {
    const node = document.getIn(path.slice(0, length), true) as { range?: readonly number[] } | null | undefined;
    const offset = node?.range?.[0];
    if (offset !== undefined) return offset;
  }
  return 0;
}

function at(place: Place, counter: LineCounter, offset: number): Place {
  const { line, col } = counter.linePos(offset);
  // An offset before the first line end is on line 0 for a counter that has seen no line end.
  return { ...place, line: Math.max(line, 1) + YAML_LINE - 1, column: Math.max(col, 1) };
}
