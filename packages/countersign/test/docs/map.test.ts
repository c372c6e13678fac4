// AGENTS.md names every source folder and every folder of tests.
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../../../..');
const map = readFileSync(join(root, 'AGENTS.md'), 'utf8');

/** The folders below `base` that hold TypeScript files. */
function foldersOf(base: string): readonly string[] {
  const files = globSync('**/*.{ts,tsx}', { cwd: join(root, base) });
  const folders = files.map((file) => file.split('/').slice(0, -1).join('/'));
  return [...new Set(folders)].filter((folder) => folder !== '').sort();
}

test.each([
  ['packages/countersign/src', ''],
  ['packages/server/src', ''],
  ['packages/react/src', 'packages/react/src/'],
  ['packages/restate/src', 'packages/restate/src/'],
  ['apps/inbox/src', 'apps/inbox/src/'],
  ['packages/create-countersign/src', 'packages/create-countersign/src/'],
])('the map has every folder of %s', (base, prefix) => {
  expect(foldersOf(base).filter((folder) => !map.includes(`\`${prefix}${folder}\``))).toEqual([]);
});

test.each(['packages/countersign/test', 'packages/server/test'])('the map has every folder of %s', (base) => {
  const folders = new Set(foldersOf(base).map((folder) => folder.split('/')[0]));
  folders.delete('fixtures');
  expect([...folders].filter((folder) => !map.includes(`\`${folder}\``))).toEqual([]);
});
