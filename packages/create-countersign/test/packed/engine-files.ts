// The files of the packed engine: what each entry point loads, and which sources are in each file.
import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { projectFolder } from './project.ts';

type Target = string | { readonly [condition: string]: Target };
type Manifest = {
  readonly exports: Readonly<Record<string, Target>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
};

/** Where it is installed. */
export const engineFolder = (): string => join(projectFolder(), 'node_modules/countersign');

export const readEngine = (path: string): string => readFileSync(join(engineFolder(), path), 'utf8');

export const engineManifest = (): Manifest => JSON.parse(readEngine('package.json'));

/** The paths of its files with this ending. */
export const engineFiles = (ending: string): readonly string[] =>
  globSync(`dist/**/*${ending}`, { cwd: engineFolder() }).map((path) => path.replaceAll('\\', '/'));

/** The file of each entry point, by its name as people import it. Browsers may get another. */
export function entryPoints(): Readonly<Record<string, string>> {
  const entries = Object.entries(engineManifest().exports).flatMap(([name, target]) =>
    Object.entries(target)
      .filter(([condition]) => condition === 'default' || condition === 'browser')
      .map(([condition, file]) => {
        const label = posix.join('countersign', name) + (condition === 'browser' ? ' (browser)' : '');
        return [label, posix.normalize(file as string)];
      }),
  );
  return Object.fromEntries(entries);
}

/** What a file imports as it loads: relative paths from the package, and names of packages. */
export function importsOf(path: string): readonly string[] {
  const found = readEngine(path).matchAll(/^(?:import|export)\b(?:[^'"]*?\bfrom)?\s*["']([^"']+)["'];?$/gm);
  return [...found].map(([, name = '']) => (name.startsWith('.') ? posix.join(posix.dirname(path), name) : name));
}

/** The file and all that loads with it. */
export function loadedWith(path: string, loaded = new Set<string>()): ReadonlySet<string> {
  loaded.add(path);
  for (const name of importsOf(path)) if (name.startsWith('dist/') && !loaded.has(name)) loadedWith(name, loaded);
  return loaded;
}

/** The sources in a file, as paths in the package; none in the files of other packages. */
export function sourcesOf(path: string): readonly string[] {
  const [map] = engineFiles('.js.map').filter((file) => file === `${path}.map`);
  if (map === undefined) return [];
  const { sources } = JSON.parse(readEngine(map)) as { readonly sources: readonly string[] };
  return sources.map((source) => posix.join(posix.dirname(path), source));
}
