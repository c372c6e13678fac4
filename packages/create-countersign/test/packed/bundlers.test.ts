// A gated route as one file, from the packed packages: each bundle starts, and pays once.
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
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
  expect(Object.keys(inputs).filter((path) => path.includes('countersign/dist/gates/ai-sdk/browser'))).toEqual([]);
  expect(
    Object.keys(inputs).filter((path) => path.includes('countersign/dist/gates/ai-sdk/gate-tools.js')),
  ).toHaveLength(1);
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
