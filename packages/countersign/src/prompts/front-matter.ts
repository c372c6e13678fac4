// The YAML between `---` lines at the top of a .prompt file, read so that every error knows its line.
import type { Document } from 'yaml';
import { invalidPrompt, type Place } from './invalid-prompt.ts';

type FrontMatter = {
  readonly values: unknown;
  /** Where the value at a path stands, or the nearest thing around it. */
  placeOf(path: readonly PropertyKey[]): Place;
};

export type PromptSource = FrontMatter & { readonly template: string; readonly templateLine: number };

export async function splitSource(source: string, place: Place): Promise<PromptSource> {
  const lines = source.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/);
  if (!isFence(lines[0])) return { values: {}, placeOf: () => place, template: lines.join('\n'), templateLine: 1 };
  const end = lines.findIndex((line, index) => index > 0 && isFence(line));
  if (end < 0)
    throw invalidPrompt(
      { ...place, line: 1, column: 1 },
      'The front matter that begins here is not closed. End it with a line ---.',
    );
  // With the opening `---`, which YAML knows, lines count as in the file.
  const matter = await parseYaml(lines.slice(0, end).join('\n'), place);
  return { ...matter, template: lines.slice(end + 1).join('\n'), templateLine: end + 2 };
}

function isFence(line: string | undefined): boolean {
  return line !== undefined && /^---\s*$/.test(line);
}

async function parseYaml(text: string, place: Place): Promise<FrontMatter> {
  const { LineCounter, parseDocument } = await import('yaml');
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter, prettyErrors: false });
  const at = (offset: number): Place => {
    const { line, col } = lineCounter.linePos(offset);
    return { ...place, line, column: col };
  };
  const [broken] = document.errors;
  if (broken) throw invalidPrompt(at(broken.pos[0]), `The front matter is not valid YAML: ${broken.message}`, broken);
  try {
    return { values: document.toJS() ?? {}, placeOf: (path) => at(offsetOf(document, path)) };
  } catch (error) {
    // An alias without its anchor is found only here, and without a position.
    throw invalidPrompt(at(0), `The front matter is not valid YAML: ${(error as Error).message}`, error);
  }
}

function offsetOf(document: Document, path: readonly PropertyKey[]): number {
  for (let length = path.length; length >= 0; length -= 1) {
    const node = document.getIn(path.slice(0, length), true) as { range?: readonly number[] } | null | undefined;
    const offset = node?.range?.[0];
    if (offset !== undefined) return offset;
  }
  return 0;
}
