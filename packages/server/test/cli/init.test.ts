// `init`: a first agents file that `dev` can serve.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { workplaceForEach } from './workplace.ts';

const place = workplaceForEach({ agents: false });
const TEMPLATE = join(import.meta.dirname, '../../../create-countersign/templates/server/agents.ts');

test('writes agents.ts, which dev serves in a CommonJS project', { timeout: 120_000 }, async () => {
  writeFileSync(place.path('package.json'), '{ "type": "commonjs" }');
  const { code, stdout, stderr } = await place.spawned(['init']);
  expect(stderr).toBe('');
  expect(code).toBe(0);
  expect(stdout).toBe('Created agents.ts. Next:\n  npx countersign dev\n');
  expect(readFileSync(place.path('agents.ts'), 'utf8')).toBe(readFileSync(TEMPLATE, 'utf8'));
  const dev = place.begin(['dev', '--port', '0']);
  await dev.says(/serving clerk from agents\.ts/);
  dev.child.kill('SIGINT');
  expect(await dev.ended).toBe(0);
});

test('writes another file, and says so as JSON', async () => {
  mkdirSync(place.path('src'));
  const next = ['npx countersign dev src/agents.ts'];
  expect(await place.json('init', 'src/agents.ts')).toEqual({ file: 'src/agents.ts', next });
  expect(readFileSync(place.path('src/agents.ts'), 'utf8')).toContain('needsApproval');
});

test.each([
  ['agents.ts', []],
  ['countersign.config.mjs', []],
  ['mine.ts', ['mine.ts']],
])('never overwrites or shadows %s', async (name, args) => {
  writeFileSync(place.path(name), '// mine');
  const { code, stderr } = await place.countersign(['init', ...args]);
  expect(stderr).toContain(`error: ${name} already exists. Nothing was written.`);
  expect(code).toBe(1);
  expect(readFileSync(place.path(name), 'utf8')).toBe('// mine');
});

test('a file that Node cannot load as TypeScript, or a missing folder, is refused', async () => {
  const wrong = await place.countersign(['init', 'agents.txt']);
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('agents.txt is not a TypeScript file.')]);
  const missing = await place.countersign(['init', 'none/agents.ts']);
  expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining('Cannot write none/agents.ts: ENOENT')]);
});
