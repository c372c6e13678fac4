// The packed packages in bundles: a gated route as one file starts and pays once, and every entry point builds.
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { engineManifest, entryPoints, readEngine } from './engine-files.ts';
import { paysOnce } from './gated-page.ts';
import { run, startUntil } from './install.ts';
import { folderInProject, projectFolder } from './project.ts';

const TOOLS = resolve(import.meta.dirname, '../../../../node_modules');
/** Packages of the AI SDK load modules of Node with `require`, which a module does not have. */
const BANNER = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';

let folder: string;
beforeAll(() => {
  folder = folderInProject('bundle', 'bundle');
});

const esbuild = (entry: string, ...options: readonly string[]) =>
  run('node', [join(projectFolder(), 'node_modules/esbuild/bin/esbuild'), entry, '--bundle', ...options], folder);

/** Each writes `<name>.out.mjs`. */
const BUNDLERS: Readonly<Record<string, () => unknown>> = {
  esbuild: () =>
    esbuild('main.mjs', '--platform=node', '--format=esm', `--banner:js=${BANNER}`, '--outfile=esbuild.out.mjs'),
  rolldown: () => {
    const options = ['--platform', 'node', '--format', 'esm', '--no-codeSplitting', '--file', 'rolldown.out.mjs'];
    run('node', [join(TOOLS, 'rolldown/bin/cli.mjs'), 'main.mjs', ...options], folder);
  },
  vite: () => run('node', [join(TOOLS, 'vite/bin/vite.js'), 'build'], folder),
};

test.each(Object.keys(BUNDLERS))('a bundle of %s starts and pays once', async (name) => {
  BUNDLERS[name]?.();
  const { found, stop } = await startUntil([`${name}.out.mjs`], folder, /http:\S+/);
  try {
    await paysOnce(found[0]);
  } finally {
    await stop();
  }
});

test('a worker of Cloudflare gets the gate of the server', () => {
  const edge = ['--platform=neutral', '--format=esm', '--main-fields=module,main', '--external:node:*'];
  esbuild('route.mjs', ...edge, '--conditions=workerd,worker,browser', '--metafile=meta.json', '--outfile=edge.mjs');
  const { inputs } = JSON.parse(readFileSync(join(folder, 'meta.json'), 'utf8'));
  const [gate, ...others] = Object.keys(inputs).filter((path) => path.includes('countersign/dist/gates/ai-sdk/'));
  expect([gate, ...others]).toEqual([expect.stringMatching(/\/gates\/ai-sdk\/index\.js$/)]);
});

test.each([
  ['workerd', 'index.js'],
  ['worker', 'index.js'],
  ['edge-light', 'index.js'],
  ['browser', 'browser.js'],
])('the condition %s resolves to %s', (condition, file) => {
  const program = 'console.log(import.meta.resolve("countersign/ai-sdk"))';
  const resolved = run('node', ['-C', condition, '-C', 'browser', '--input-type=module', '-e', program], folder);
  expect(resolved.trim()).toMatch(new RegExp(`/dist/gates/ai-sdk/${file}$`));
});

/** Each builds all entry points into a folder with its name, for a server, with the packages of the app beside them. */
const BUILDERS: Readonly<Record<string, (entries: readonly string[], others: readonly string[]) => unknown>> = {
  esbuild: (entries, others) => {
    const options = ['--platform=node', '--format=esm', '--splitting', '--outdir=esbuild', '--out-extension:.js=.mjs'];
    esbuildAll(entries, ...options, ...others.map((name) => `--external:${name}`));
  },
  rolldown: (entries, others) => {
    const options = ['--platform', 'node', '--format', 'esm', '--dir', 'rolldown'];
    const names = ['--entryFileNames', '[name].mjs', '--chunkFileNames', '[name]-[hash].mjs'];
    const external = others.flatMap((name) => ['--external', name]);
    run('node', [join(TOOLS, 'rolldown/bin/cli.mjs'), ...entries, ...options, ...names, ...external], folder);
  },
  vite: (entries, others) => {
    const output = { entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' };
    const rolldownOptions = { input: entries, preserveEntrySignatures: 'strict', output };
    const ssr = { noExternal: ['countersign', 'zod'], external: others };
    const config = { logLevel: 'error', ssr, build: { ssr: true, outDir: 'vite', rolldownOptions } };
    writeFileSync(join(folder, 'entries.config.mjs'), `export default ${JSON.stringify(config)};`);
    run('node', [join(TOOLS, 'vite/bin/vite.js'), 'build', '--config', 'entries.config.mjs'], folder);
  },
};

test.each(Object.keys(BUILDERS))('%s builds every entry point, and each has its names', (name) => {
  const peers = Object.keys(engineManifest().peerDependencies);
  for (const peer of peers) linkPeer(peer);
  const entries = Object.entries(entryPoints()).filter(([entry]) => !entry.includes('(browser)'));
  const files = entries.map(([entry], index) => {
    writeFileSync(join(folder, `entry${index}.mjs`), `export * from '${entry}';`);
    return `entry${index}.mjs`;
  });
  BUILDERS[name]?.(files, peers);
  const program = files.map((file) => `Object.keys(await import('./${name}/${file}'))`);
  const built = JSON.parse(
    run('node', ['--input-type=module', '-e', `console.log(JSON.stringify([${program}]))`], folder),
  );
  expect(built).toEqual(entries.map(([, file]) => namesOf(file)));
});

test('a page can bundle the entry points for browsers', () => {
  writeFileSync(join(folder, 'page.mjs'), "export * from 'countersign/request'; export * from 'countersign/ai-sdk';");
  esbuildAll(
    ['page.mjs'],
    '--platform=browser',
    '--format=esm',
    '--external:ai',
    '--metafile=page.json',
    '--outdir=page',
  );
  const { inputs, outputs } = JSON.parse(readFileSync(join(folder, 'page.json'), 'utf8'));
  expect(Object.keys(inputs).filter((path) => /node_modules\/(?!countersign\/)|^node:/.test(path))).toEqual([]);
  const names = [...namesOf('dist/request.js'), ...namesOf('dist/gates/ai-sdk/browser.js')];
  expect(outputs['page/page.js'].exports.toSorted()).toEqual(names.toSorted());
});

test('a bundle with the gate of the AI SDK has no store, no prompts and nothing that they need', () => {
  writeFileSync(join(folder, 'gate.mjs'), "export { gateTools } from 'countersign/ai-sdk';");
  esbuildAll(['gate.mjs'], '--platform=node', '--format=esm', '--external:ai', '--metafile=gate.json', '--outdir=gate');
  const { inputs } = JSON.parse(readFileSync(join(folder, 'gate.json'), 'utf8'));
  const found = Object.keys(inputs).flatMap((path) => /countersign\/dist\/(.*)/.exec(path)?.[1] ?? []);
  expect(found).toContain('gates/ai-sdk/index.js');
  expect(found.filter((path) => /^index\.js|stores|testing|handlebars|yaml|dotprompt|prompt/.test(path))).toEqual([]);
});

function esbuildAll(entries: readonly string[], ...options: readonly string[]): void {
  const command = join(projectFolder(), 'node_modules/esbuild/bin/esbuild');
  run('node', [command, ...entries, '--bundle', ...options], folder);
}

/** An optional peer that the project has not installed is that of the repository. */
function linkPeer(name: string): void {
  const link = join(folder, 'node_modules', name);
  mkdirSync(dirname(link), { recursive: true });
  try {
    symlinkSync(join(TOOLS, name), link, 'junction');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** The names that a file of the engine exports. */
function namesOf(file: string): readonly string[] {
  const list = /^export \{([^}]*)\};?$/m.exec(readEngine(file))?.[1] ?? '';
  return list
    .split(',')
    .map((name) => name.trim().replace(/^.* as /, ''))
    .toSorted();
}
