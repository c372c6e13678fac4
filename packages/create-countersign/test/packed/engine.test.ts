// The packed engine: one file per entry point, shared chunks, and other packages only where they are used.
import { expect, test } from 'vitest';
import {
  engineFiles,
  engineManifest,
  entryPoints,
  importsOf,
  loadedWith,
  readEngine,
  sourcesOf,
} from './engine-files.ts';
import { run } from './install.ts';
import { folderInProject } from './project.ts';

/** Bundled into chunks that load when they are used first. */
const LATER = ['dotprompt', 'handlebars', 'temporal-polyfill', 'yaml'].map((name) => `dist/chunks/${name}.js`);

const sourcesLoadedWith = (entry: string) => [...loadedWith(entryPoints()[entry] ?? '')].flatMap(sourcesOf);

test('it depends on zod alone', () => {
  expect(Object.keys(engineManifest().dependencies)).toEqual(['zod']);
  const { dependencies, peerDependencies } = engineManifest();
  const allowed = Object.keys({ ...dependencies, ...peerDependencies });
  const isAllowed = (name: string) => allowed.some((other) => name === other || name.startsWith(`${other}/`));
  const code = engineFiles('.js').flatMap(importsOf);
  const types = engineFiles('.d.ts').flatMap(importsOf);
  for (const name of [...code, ...types]) expect(name).toSatisfy((it) => /^(dist\/|node:)/.test(it) || isAllowed(it));
  expect(code).toContain('zod');
  expect(types).toContain('zod');
});

test('each module is in one file, so that all entry points share its classes and its state', () => {
  const files = new Map<string, string[]>();
  for (const file of engineFiles('.js'))
    for (const source of sourcesOf(file)) files.set(source, [...(files.get(source) ?? []), file]);
  expect(files.get('src/core/errors.ts')).toHaveLength(1);
  expect([...files].filter(([, copies]) => copies.length > 1)).toEqual([]);
  expect(files.size).toBeGreaterThan(200);
});

test('what only prompts and business hours need loads with none of the entry points', () => {
  const dynamic = engineFiles('.js').flatMap((file) => readEngine(file).match(/\bimport\("[^"]+"\)/g) ?? []);
  for (const path of LATER) expect(dynamic.join()).toContain(path.replace('dist/chunks/', ''));
  for (const [name, file] of Object.entries(entryPoints()))
    expect([name, ...[...loadedWith(file)].filter((path) => LATER.includes(path))]).toEqual([name]);
});

test('the gate of the AI SDK loads no store and no prompts, in browsers no engine', () => {
  const gate = sourcesLoadedWith('countersign/ai-sdk');
  expect(gate).toContain('src/gates/ai-sdk/gate-tools.ts');
  expect(gate.filter((source) => /^src\/(stores|prompts|testing)\//.test(source))).toEqual([]);
  const inBrowsers = sourcesLoadedWith('countersign/ai-sdk (browser)');
  expect(inBrowsers).toContain('src/gates/ai-sdk/process-tool-calls.ts');
  expect(inBrowsers.filter((source) => /^src\/(loop\/call|runs|stores|prompts)\//.test(source))).toEqual([]);
});

test('countersign/request loads the pure core, and what writes money and dates', () => {
  const loaded = [...loadedWith(entryPoints()['countersign/request'] ?? '')];
  expect(loaded.flatMap(importsOf).filter((name) => !name.startsWith('dist/'))).toEqual([]);
  const sources = loaded.flatMap(sourcesOf).filter((source) => source !== 'src/request.ts');
  expect(sources.filter((source) => !source.startsWith('src/core/'))).toEqual(['src/reading-text.ts']);
});

test('licences.txt has the licence of every package that is bundled', () => {
  const titles = readEngine('dist/licences.txt').match(/^[@\w/-]+ \d+\.\d+\.\d+ \(.*\)$/gm) ?? [];
  expect(titles.map((title) => title.slice(0, title.indexOf(' ')))).toEqual([
    '@cfworker/json-schema',
    'dotprompt',
    'handlebars',
    'temporal-polyfill',
    'temporal-utils',
    'yaml',
  ]);
});

test('prompt files and business hours need no other installation', () => {
  const said = JSON.parse(run('node', ['prompts.mjs'], folderInProject('prompts', 'runtime')));
  expect(said).toEqual({
    rendered: ['Be kind.', 'Ann: a b ["a","b"], vip'],
    misfit: expect.stringContaining('name: Instance type "number" is invalid. Expected "string"'),
    broken: expect.stringMatching(/^\/broken\.prompt:2:5: The front matter is not valid YAML: /),
    open: expect.stringMatching(
      /^\/open\.prompt:2: The template is broken: .*\n.*\nSomething that was opened is not closed\.$/,
    ),
    expiresAt: '2026-11-23T09:30:00.000Z',
  });
});
