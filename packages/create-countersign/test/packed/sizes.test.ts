// How much of the engine people install and load, beside the AI SDK. A change that needs more raises its budget here.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { engineFiles, engineFolder, entryPoints } from './engine-files.ts';
import { npmInstall, run, tarballs } from './install.ts';
import { folderInProject, NEWEST, projectFolder } from './project.ts';

/**
 * What each entry point loads, without zod and peers: kB as it is, and kB compressed. Last raised for freezes,
 * recall and undo, plans, reviews and origins, which every start and request asks, limits and people who were removed, in
 * `countersign/mcp` for tasks of servers, and for the skill, which is 7 kB of the installed package. `countersign/store` loads what
 * judges a call, because it replays past calls; a lighter place for that would give most of it back. `countersign/testing` loads the
 * engine. Bundles break if it loads later, because zod would then be initialised after what uses it.
 */
const BUDGET: Readonly<Record<string, readonly [raw: number, compressed: number]>> = {
  countersign: [821, 244],
  'countersign/ai-sdk (browser)': [68.5, 17.6],
  'countersign/ai-sdk': [363, 110],
  'countersign/langgraph': [285, 85],
  'countersign/mastra': [282, 84],
  'countersign/mcp': [131.5, 37.5],
  'countersign/genkit': [285, 85],
  'countersign/openai-agents': [282, 84],
  'countersign/postgres': [126, 41],
  'countersign/request': [69, 23],
  'countersign/sqlite': [111, 35.5],
  'countersign/store': [366, 112],
  'countersign/testing': [610, 177.5],
  'countersign/ui': [526, 154.5],
};
/** All files of the package. */
const INSTALLED_KB = 5_690;

const HERE = 'packages/create-countersign/test/packed/sizes.test.ts';

function expectWithin(what: string, kB: number, budget: number): void {
  const above = (kB - budget).toFixed(1);
  const message = `${what}: ${kB.toFixed(1)} kB, ${above} kB above its budget of ${budget} kB. Make it smaller, or raise the budget in ${HERE} and say why.`;
  expect(kB, message).toBeLessThanOrEqual(budget);
}

test('what each entry point loads is within its budget', () => {
  const sizes = Object.entries(entryPoints()).map(([name, file]) => sizesOf(name, join(engineFolder(), file)));
  console.log(tableOf([...sizes, sizesOf('ai', 'ai')]));
  expect(sizes.map(({ name }) => name)).toEqual(Object.keys(BUDGET));
  for (const { name, raw, compressed } of sizes) {
    expectWithin(name, raw, BUDGET[name]?.[0] ?? 0);
    expectWithin(`${name}, compressed`, compressed, BUDGET[name]?.[1] ?? 0);
  }
});

test('countersign installs itself and zod, within its budget', () => {
  const ours = packagesOf('countersign', tarballs().countersign ?? '');
  console.log(`Packages: countersign ${ours.length}, ai ${packagesOf('ai', NEWEST.ai).length}`);
  expect(ours).toEqual(['countersign', 'zod']);
  const sizes = engineFiles('')
    .map((path) => statSync(join(engineFolder(), path)))
    .filter((file) => file.isFile());
  const kB = sizes.reduce((sum, { size }) => sum + size, 0) / 1000;
  console.log(`Installed: countersign ${kB.toFixed(0)} kB`);
  expectWithin('The installed package', kB, INSTALLED_KB);
});

/** One file for a page: kB as it is, and kB compressed. Preact, the components, their styles and checks of forms. */
const ELEMENTS: readonly [raw: number, compressed: number] = [172, 52];

test('the custom elements are one file within its budget, and load nothing else', () => {
  const tarball = tarballs()['@countersign/react'] ?? '';
  const code = execFileSync('tar', ['-xzOf', tarball.replace(/^file:/, ''), 'package/dist/elements/index.js'], {
    maxBuffer: 10_000_000,
  });
  expect(`${code}`.match(/\bfrom\s*["'][^"']+["']|\bimport\s*["'(]/g)).toBe(null);
  expectWithin('@countersign/react/elements', code.length / 1000, ELEMENTS[0]);
  expectWithin('@countersign/react/elements, compressed', gzipSync(code).length / 1000, ELEMENTS[1]);
});

type Sizes = { readonly name: string; readonly raw: number; readonly compressed: number };

/** The files that load as the entry does, found by esbuild; without zod and optional peers. */
function sizesOf(name: string, entry: string): Sizes {
  const folder = folderInProject('sizes', 'bundle');
  writeFileSync(join(folder, 'entry.mjs'), `import ${JSON.stringify(entry)};`);
  const external = [
    'node:*',
    'zod',
    'zod/*',
    '@langchain/*',
    'genkit',
    '@mastra/*',
    '@openai/*',
    'pg',
    '@simplewebauthn/*',
  ];
  const options = ['--bundle', '--format=esm', '--platform=node', '--ignore-annotations', '--metafile=meta.json'];
  const peers = name === 'ai' ? [] : ['ai', '@modelcontextprotocol/*'];
  const flags = [...external, ...peers].map((other) => `--external:${other}`);
  const esbuild = join(projectFolder(), 'node_modules/esbuild/bin/esbuild');
  run('node', [esbuild, 'entry.mjs', ...options, ...flags, '--outfile=out.mjs'], folder);
  const { inputs } = JSON.parse(readFileSync(join(folder, 'meta.json'), 'utf8')) as Metafile;
  const files = [...reachable(inputs, 'entry.mjs')].filter((path) => path !== 'entry.mjs');
  const texts = files.map((path) => readFileSync(join(folder, path)));
  const sum = (sizes: readonly number[]) => sizes.reduce((one, other) => one + other, 0) / 1000;
  return {
    name,
    raw: sum(texts.map((text) => text.length)),
    compressed: sum(texts.map((text) => gzipSync(text).length)),
  };
}

type Metafile = {
  readonly inputs: Readonly<
    Record<
      string,
      { readonly imports: readonly { readonly path: string; readonly kind: string; readonly external?: boolean }[] }
    >
  >;
};

function reachable(inputs: Metafile['inputs'], path: string, found = new Set<string>()): ReadonlySet<string> {
  found.add(path);
  for (const { path: next, kind, external } of inputs[path]?.imports ?? [])
    if (!external && kind !== 'dynamic-import' && !found.has(next)) reachable(inputs, next, found);
  return found;
}

function tableOf(rows: readonly Sizes[]): string {
  const lines = rows.map(({ name, raw, compressed }) => `| ${name} | ${raw.toFixed(1)} | ${compressed.toFixed(1)} |`);
  return ['| entry point | kB | kB compressed |', '|---|---|---|', ...lines].join('\n');
}

/** The names of the packages that installing one installs. */
function packagesOf(name: string, version: string): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-alone-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies: { [name]: version } }));
  npmInstall(folder, '--package-lock-only');
  const { packages } = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, object>>;
  };
  return Object.keys(packages).flatMap((path) => path.split('node_modules/').at(-1) || []);
}
