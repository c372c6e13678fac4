// A folder of .prompt files, found by name and read when they are used.
import { UsageError } from '../core/errors.ts';
import type { PromptDefinition } from './definition.ts';
import { isFresh, listPromptFiles, readStamped, type Stamps } from './disk.ts';
import { splitSource } from './front-matter.ts';
import { invalidPrompt, type Place } from './invalid-prompt.ts';
import type { PartialSource } from './partials.ts';
import { parsePrompt } from './prompt-file.ts';

export interface PromptFolder {
  /**
   * `load('sub/greet', { variant: 'formal' })` reads `sub/greet.formal.prompt`. The definition is the same object until
   * the file, or a partial it includes, changes. Throws `unknown-prompt` with the names that exist, `invalid-prompt`
   * with the line that is broken.
   */
  load(name: string, options?: { readonly variant?: string }): Promise<PromptDefinition>;
  /** The names of all prompts, variants as `name.variant`, in alphabetical order. */
  names(): Promise<readonly string[]>;
}

/** Reads nothing until the first `load`. */
export function createPromptFolder(directory: string): PromptFolder {
  const known = new Map<string, { readonly stamps: Stamps; readonly definition: PromptDefinition }>();
  const pathOf = (file: string) => `${directory.replace(/[\\/]+$/, '')}/${file}`;

  async function load(name: string, { variant }: { readonly variant?: string } = {}): Promise<PromptDefinition> {
    const id = variant === undefined ? name : `${name}.${variant}`;
    if (!isPromptId(id) || variant?.includes('/'))
      throw new UsageError('unknown-prompt', { prompt: id }, `"${id}" cannot name a prompt inside ${directory}.`);
    const cached = known.get(id);
    if (cached && (await isFresh(cached.stamps))) return cached.definition;
    const stamps = new Map<string, string>();
    const definition = await readPrompt(id, stamps);
    known.set(id, { stamps, definition });
    return definition;
  }

  async function readPrompt(id: string, stamps: Map<string, string>): Promise<PromptDefinition> {
    const file = pathOf(`${id}.prompt`);
    const text = await readStamped(file, stamps);
    if (text === undefined) throw await unknownPrompt(id);
    return parsePrompt(text, { ...nameOf(id), file, partials: partialsOf(id, stamps) });
  }

  /** Every partial that is read joins the stamps, so that a change of it is noticed. */
  function partialsOf(id: string, stamps: Map<string, string>): PartialSource {
    return {
      async find(name) {
        const partial = nearestPartial(
          { prompt: id, file: pathOf(`${id}.prompt`) },
          name,
          await listPromptFiles(directory),
        );
        if (partial === undefined) return undefined;
        const place = { prompt: id, file: pathOf(partial) };
        const text = await readStamped(place.file, stamps);
        if (text === undefined) return undefined;
        const { template, templateLine } = await splitSource(text, place);
        return { text: template, place: { ...place, line: templateLine } };
      },
      async names() {
        const files = await listPromptFiles(directory);
        return [...new Set(files.filter(isPartial).map((file) => withoutEnding(baseOf(file)).slice(1)))];
      },
    };
  }

  async function names(): Promise<readonly string[]> {
    const files = await listPromptFiles(directory);
    return files.filter((file) => !isPartial(file)).map(withoutEnding);
  }

  async function unknownPrompt(id: string): Promise<UsageError> {
    const available = await names();
    const list = available.length > 0 ? `There are: ${available.join(', ')}.` : 'It holds no prompts.';
    return new UsageError(
      'unknown-prompt',
      { prompt: id, available },
      `Prompt ${id} not found in ${directory}. ${list}`,
    );
  }

  return { load, names };
}

/** Reads one .prompt file; its partials are looked up in the folder it lies in. */
export async function readPromptFile(path: string): Promise<PromptDefinition> {
  const { basename, dirname } = await import('node:path');
  if (!path.endsWith('.prompt'))
    throw new UsageError('unknown-prompt', { file: path }, `${path} is not a prompt: its name must end in .prompt.`);
  return createPromptFolder(dirname(path)).load(withoutEnding(basename(path)));
}

/** No way out of the folder, no hidden files, no partials. */
function isPromptId(id: unknown): id is string {
  if (typeof id !== 'string' || /[\\:\0]/.test(id)) return false;
  return id.split('/').every((part) => part !== '' && !part.startsWith('.')) && !isPartial(id);
}

function nameOf(id: string): { readonly name: string; readonly variant?: string } {
  const dot = id.indexOf('.', id.lastIndexOf('/') + 1);
  return dot < 0 ? { name: id } : { name: id.slice(0, dot), variant: id.slice(dot + 1) };
}

/** Beside the prompt or in a folder above it, else anywhere if it is the only one; `sub/name` says the folder. */
function nearestPartial(place: Place, name: string, files: readonly string[]): string | undefined {
  if (name.includes('/')) {
    const file = `${folderOf(name)}_${baseOf(name)}.prompt`;
    return files.find((candidate) => candidate === file);
  }
  const candidates = files.filter((file) => baseOf(file) === `_${name}.prompt`);
  const above = candidates.filter((file) => place.prompt.startsWith(folderOf(file)));
  if (above.length > 0) return above.reduce((best, file) => (file.length > best.length ? file : best));
  if (candidates.length > 1)
    throw invalidPrompt(place, `The partial ${name} could be ${candidates.join(' or ')}. Say its folder.`);
  return candidates[0];
}

const isPartial = (file: string) => baseOf(file).startsWith('_');
const baseOf = (file: string) => file.slice(file.lastIndexOf('/') + 1);
/** With its slash; empty for a file at the top. */
const folderOf = (file: string) => file.slice(0, file.lastIndexOf('/') + 1);
const withoutEnding = (file: string) => file.slice(0, -'.prompt'.length);
