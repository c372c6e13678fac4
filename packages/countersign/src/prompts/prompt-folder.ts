// A folder of .prompt files, found by name and read when they are used.
import { readdir, readFile, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { UsageError } from '../core/errors.ts';
import type { PlacedTemplate, PromptDefinition } from './definition.ts';
import { splitSource } from './front-matter.ts';
import { parsePrompt } from './prompt-file.ts';

export interface PromptFolder {
  /**
   * `load('sub/greet', { variant: 'formal' })` reads `sub/greet.formal.prompt`. The definition is the same object until the
   * file or a partial changes. Throws `unknown-prompt` with the names that exist, `invalid-prompt` with the line that is
   * broken.
   */
  load(name: string, options?: { readonly variant?: string }): Promise<PromptDefinition>;
}

/** Reads nothing until the first `load`. */
export function createPromptFolder(directory: string): PromptFolder {
  const known = new Map<string, { readonly stamp: string; readonly definition: PromptDefinition }>();
  return {
    async load(name, { variant } = {}) {
      const id = variant === undefined ? name : `${name}.${variant}`;
      const file = `${id}.prompt`;
      const files = await listPromptFiles(directory);
      // Only a listed file is read, so no name leads out of the folder.
      if (isPartial(file) || !files.includes(file)) throw unknownPrompt(id, directory, files);
      const partials = files.filter(isPartial);
      const stamp = await stampOf(directory, [file, ...partials]);
      const cached = known.get(id);
      if (cached?.stamp === stamp) return cached.definition;
      const text = await readFile(join(directory, file), 'utf8');
      const definition = await parsePrompt(text, {
        name: id,
        file: join(directory, file),
        partials: await readPartials(directory, id, partials),
      });
      known.set(id, { stamp, definition });
      return definition;
    },
  };
}

/** All .prompt files in and below the folder, in alphabetical order, with `/` between folders. */
async function listPromptFiles(directory: string): Promise<readonly string[]> {
  const files = await readdir(directory, { recursive: true }).catch((cause) => {
    const message = `The folder of prompts ${directory} cannot be read.`;
    throw new UsageError('unknown-prompt', { directory }, message, { cause });
  });
  return files
    .map((file) => file.replaceAll(sep, '/'))
    .filter((file) => file.endsWith('.prompt') && !/(?:^|\/)\./.test(file))
    .sort();
}

/** Changes when one of the files changes. */
async function stampOf(directory: string, files: readonly string[]): Promise<string> {
  const stamps = files.map(async (file) => {
    const { mtimeMs, size, ino } = await stat(join(directory, file));
    return [file, mtimeMs, size, ino].join(' ');
  });
  return (await Promise.all(stamps)).join('\n');
}

/**
 * The partials by the name under which a prompt includes them. Of several with a name, the nearest in the folders above the
 * prompt counts; `sub/name` names the folder.
 */
async function readPartials(
  directory: string,
  id: string,
  files: readonly string[],
): Promise<ReadonlyMap<string, PlacedTemplate>> {
  const isAbove = (file: string) => id.startsWith(folderOf(file));
  const nearestLast = [...files.filter((file) => !isAbove(file)), ...files.filter(isAbove).sort(byLength)];
  const partials = new Map<string, PlacedTemplate>();
  for (const path of nearestLast) {
    const place = { prompt: id, file: join(directory, path) };
    const { template, templateLine } = await splitSource(await readFile(place.file, 'utf8'), place);
    const partial = { text: template, place: { ...place, line: templateLine } };
    const name = withoutEnding(baseOf(path)).slice(1);
    partials.set(name, partial).set(`${folderOf(path)}${name}`, partial);
  }
  return partials;
}

function unknownPrompt(id: string, directory: string, files: readonly string[]): UsageError {
  const available = files.filter((file) => !isPartial(file)).map(withoutEnding);
  const list = available.length > 0 ? `There are: ${available.join(', ')}.` : 'It holds no prompts.';
  return new UsageError('unknown-prompt', { prompt: id, available }, `Prompt ${id} not found in ${directory}. ${list}`);
}

const isPartial = (file: string) => baseOf(file).startsWith('_');
const baseOf = (file: string) => file.slice(file.lastIndexOf('/') + 1);
/** With its slash; empty for a file at the top. */
const folderOf = (file: string) => file.slice(0, file.lastIndexOf('/') + 1);
const withoutEnding = (file: string) => file.slice(0, -'.prompt'.length);
const byLength = (one: string, other: string) => one.length - other.length;
