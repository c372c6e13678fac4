// Bundles `@countersign/react/elements` into one file that a page loads without React and without a bundler, and its types.
//
//   node scripts/bundle-elements.ts           puts both in place of what the compiler wrote to `dist/elements`; npm does it before it packs
//   node scripts/bundle-elements.ts restore   puts the output of the compiler back; npm does it after it has packed
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Plugin, type RolldownOptions, rolldown } from 'rolldown';
import { dts } from 'rolldown-plugin-dts';
import { licences } from '../../countersign/scripts/licences.ts';

const at = (...path: readonly string[]) => join(import.meta.dirname, '..', ...path);
const DIST = at('dist/elements');

/** Where the output of the compiler waits until everything is packed. */
const COMPILED = at('.compiled');

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  if (process.argv[2] === 'restore') replace(COMPILED, DIST);
  else await bundleAll();
}

async function bundleAll(): Promise<void> {
  const types = await builder({
    input: join(DIST, 'index.d.ts'),
    external: [/^countersign($|\/)/],
    plugins: [dts({ dtsInput: true, emitDtsOnly: true, generator: 'oxc', tsconfig: false })],
  });
  const { output } = await types.generate({ format: 'esm' });
  await types.close();
  replace(DIST, COMPILED);
  await bundleElements(DIST);
  writeFileSync(join(DIST, 'index.d.ts'), output[0].code);
}

/** Writes the code as `index.js`, and the licences of what is built in. */
export async function bundleElements(folder: string): Promise<void> {
  const code = await builder({
    input: at('src/elements/index.ts'),
    platform: 'browser',
    resolve: {
      alias: {
        // Preact needs half of what React does: 164 kB with everything, instead of 373 kB.
        react: 'preact/compat',
        'react/jsx-runtime': 'preact/jsx-runtime',
        'react-dom/client': at('scripts/preact-client.mjs'),
        'countersign/request': at('../countersign/src/request.ts'),
      },
    },
    transform: {
      define: { 'process.env.NODE_ENV': '"production"' },
      jsx: { runtime: 'automatic', development: false },
    },
    plugins: [stylesheet(), licences({ product: 'This file', own: at('LICENSE') })],
  });
  await code.write({ dir: folder, format: 'esm', minify: true, entryFileNames: 'index.js' });
  await code.close();
}

function replace(from: string, to: string): void {
  if (!existsSync(from)) return;
  rmSync(to, { recursive: true, force: true });
  renameSync(from, to);
}

function builder(options: RolldownOptions) {
  return rolldown({
    ...options,
    checks: { pluginTimings: false },
    onwarn: ({ message }) => {
      throw new Error(`The bundle would not be right: ${message}`);
    },
  });
}

/** The stylesheet as text, without comments and indentation. */
function stylesheet(): Plugin {
  const id = '\0styles.css';
  return {
    name: 'countersign-stylesheet',
    resolveId: (source) => (source === '@countersign/react/styles.css?inline' ? id : undefined),
    load(loaded) {
      if (loaded !== id) return undefined;
      const css = readFileSync(at('src/styles.css'), 'utf8').replaceAll(/\/\*[\s\S]*?\*\//g, '');
      return { code: `export default ${JSON.stringify(css.replaceAll(/\n\s*/g, '\n').trim())}`, moduleType: 'js' };
    },
  };
}
