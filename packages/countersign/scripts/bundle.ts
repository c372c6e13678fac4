// What is published instead of the output of the compiler: one file per entry point, with shared chunks, for code and for types.
//
//   node scripts/bundle.ts           puts the bundle in place of `dist`; npm does it before it packs
//   node scripts/bundle.ts restore   puts the output of the compiler back; npm does it after it has packed
//
// Both have the same entry points, so the package works between the two, and after a crash: `tsc -b` then compiles everything again.
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type OutputOptions, type Plugin, type RolldownOptions, rolldown } from 'rolldown';
import { dts } from 'rolldown-plugin-dts';
import { licences } from './licences.ts';

type Target = string | { readonly [condition: string]: Target };

const folder = join(import.meta.dirname, '..');
const at = (...path: readonly string[]) => join(folder, ...path);
const manifest = JSON.parse(readFileSync(at('package.json'), 'utf8'));
const entries = [...new Set(filesOf(manifest.exports))].map((file) => file.replace('./dist/', ''));

const OTHERS = /.*[\\/]node_modules[\\/](?<name>[^\\/]+)/;
const isOurs = (id: string): boolean => id.startsWith(at('src'));

const DIST = at('dist');
/** Where the output of the compiler waits until everything is packed. */
const COMPILED = at('.compiled');
const BUNDLE = at('.bundle');

if (process.argv[2] === 'restore') {
  if (existsSync(COMPILED)) replace(COMPILED, DIST);
} else {
  rmSync(BUNDLE, { recursive: true, force: true });
  await Promise.all([bundleCode(), bundleTypes()]);
  replace(DIST, COMPILED);
  renameSync(BUNDLE, DIST);
}

/** From the sources. What is loaded with `import()`, such as the packages that only prompts need, gets a chunk of its own. */
function bundleCode(): Promise<void> {
  return write(
    {
      input: inputs('.js', (name) => at('src', `${name}.ts`)),
      // Handlebars makes source maps only if it is asked to, and does without this package.
      resolve: {
        alias: { 'source-map': false },
        conditionNames: ['import', 'default'],
        mainFields: ['module', 'main'],
      },
      plugins: [
        withoutMaps(),
        licences({
          product: 'This package',
          own: at('LICENSE'),
          texts: { '@cfworker/json-schema': at('scripts/licences/cfworker-json-schema.txt') },
        }),
      ],
    },
    { sourcemap: true, entryFileNames: '[name].js', chunkFileNames: nameOf, comments: { jsdoc: false } },
  );
}

/** From the declarations that the compiler wrote. */
function bundleTypes(): Promise<void> {
  return write(
    {
      input: inputs('.d.ts', (name) => at('dist', `${name}.d.ts`)),
      plugins: [dts({ dtsInput: true, emitDtsOnly: true, generator: 'oxc', tsconfig: false })],
    },
    { entryFileNames: '[name].d.ts', chunkFileNames: 'chunks/[name].d.ts' },
  );
}

async function write(input: RolldownOptions, output: OutputOptions): Promise<void> {
  const others = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
  const external = [/^node:/, ...others.map((name) => new RegExp(`^${name}($|/)`))];
  const bundle = await rolldown({
    ...input,
    external,
    platform: 'neutral',
    checks: { pluginTimings: false },
    onwarn: refuse,
  });
  await bundle.write({ ...output, dir: BUNDLE, format: 'esm' });
  await bundle.close();
}

function refuse({ message }: { readonly message: string }): never {
  throw new Error(`The bundle would not be right: ${message}`);
}

/** Nobody steps through the code of other packages here, and their maps would be a quarter of what is installed. */
function withoutMaps(): Plugin {
  return {
    name: 'countersign-without-maps',
    generateBundle(_, bundle) {
      for (const file of Object.values(bundle)) {
        if (file.type !== 'chunk' || !file.sourcemapFileName || file.moduleIds.some(isOurs)) continue;
        delete bundle[file.sourcemapFileName];
        file.code = file.code.replace(/\/\/# sourceMappingURL=.*\n?$/, '');
      }
    },
  };
}

/** A chunk with the code of another package has its name. */
function nameOf({ moduleIds }: { readonly moduleIds: readonly string[] }): string {
  const last = OTHERS.exec(moduleIds.at(-1) ?? '')?.groups?.name;
  return `chunks/${last && !moduleIds.some(isOurs) ? last : '[name]'}.js`;
}

/** The entry points with this ending, by their paths in the package without it. */
function inputs(ending: string, source: (name: string) => string): Record<string, string> {
  const names = entries.filter((file) => file.endsWith(ending)).map((file) => file.slice(0, -ending.length));
  return Object.fromEntries(names.map((name) => [name, source(name)]));
}

function filesOf(target: Target): readonly string[] {
  return typeof target === 'string' ? [target] : Object.values(target).flatMap(filesOf);
}

function replace(from: string, to: string): void {
  rmSync(to, { recursive: true, force: true });
  renameSync(from, to);
}
