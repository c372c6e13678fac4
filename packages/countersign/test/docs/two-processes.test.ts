// The examples with a store, split as their comments say: one process starts the run, another one decides and ends it.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const root = resolve(import.meta.dirname, '../../../..');

/** The first block of the page that starts a run, with a file as its store. */
function exampleOf(page: string): string {
  const blocks = readFileSync(join(root, page), 'utf8')
    .split(/^```ts run\n/m)
    .slice(1);
  const example = blocks.map((block) => block.split(/^```$/m)[0] ?? '').find((block) => block.includes('.start('));
  if (example === undefined) throw new Error(`${page} has no example that starts a run.`);
  const stored = example.replace('memoryStore()', "sqliteStore('runs.db')").replace(', memoryStore,', ',');
  return `import { sqliteStore } from 'countersign/sqlite';\n${stored}`;
}

test.each([
  ['README.md', '// Next month', '', /^Stand-in model: pay was approved and returned Paid \$184\.$/],
  [
    'docs/guides/durable-runs.md',
    'const [card]',
    'console.log(run.text);',
    /^Stand-in model: pay was approved and returned \{"paid":184\}\.$/,
  ],
])('the example of %s runs in two processes', { timeout: 60_000 }, (page, cut, end, text) => {
  mkdirSync(join(root, '.tmp'), { recursive: true });
  const folder = mkdtempSync(join(root, '.tmp/two-processes-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const example = exampleOf(page);
  const [definitions = '', running = ''] = example.split(/^(?=const \{ id \} = )/m);
  const [before = '', after = ''] = running.split(cut);
  expect(after).not.toBe('');
  const run = (name: string, source: string): string => {
    writeFileSync(join(folder, name), source);
    const child = spawnSync(process.execPath, [name], { cwd: folder, encoding: 'utf8', timeout: 30_000 });
    expect(child).toMatchObject({ status: 0, stderr: '' });
    return child.stdout.trim();
  };
  expect(run('start.ts', `${definitions}${before}`)).toBe('');
  expect(run('decide.ts', `${definitions}${cut}${after}${end}`)).toMatch(text);
});
