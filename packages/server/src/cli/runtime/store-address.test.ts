import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openStore, shownAddress, storeFile } from './store-address.ts';

test.each([
  ['postgres://ann:secret@host/db', 'postgres://ann:***@host/db'],
  ['postgresql://ann:se:cr@et@host:5432/db', 'postgresql://ann:***@host:5432/db'],
  ['postgres://host/db?user=ann&password=secret', 'postgres://host/db?user=ann&password=***'],
  ['postgres://ann@host/db', 'postgres://ann@host/db'],
  ['sqlite:./a.sqlite', 'sqlite:./a.sqlite'],
])('%s is shown as %s', (address, shown) => {
  expect(shownAddress(address)).toBe(shown);
});

test.each(['', 'sqlite:', 'runs.sqlite', 'mysql://x', 'sqlite'])('“%s” is not a store address', (address) => {
  expect(() => storeFile(address)).toThrow(/Invalid store address/);
});

test('a new store is for its owner only, with its folder, and an existing file keeps its permissions', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-store-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
  const open = async (path: string) => {
    const store = await openStore(`sqlite:${path}`, 'make');
    onTestFinished(() => store.close());
    await store.notes.put('c', 'k', 1);
  };
  const made = join(folder, '.countersign/runs.sqlite');
  await open(made);
  expect(modeOf(join(folder, '.countersign'))).toBe('700');
  expect(['', '-wal', '-shm'].map((end) => modeOf(`${made}${end}`))).toEqual(['600', '600', '600']);
  const own = join(folder, 'own.sqlite');
  writeFileSync(own, '');
  chmodSync(own, 0o640);
  await open(own);
  expect(modeOf(own)).toBe('640');
});
