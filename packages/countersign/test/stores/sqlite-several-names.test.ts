// A SQLite file with several names: each name would have a separate log, which the others do not see.
import { spawnSync } from 'node:child_process';
import { linkSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { sqliteStore } from 'countersign/sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { addition, creation } from '../../src/testing/store-contract/check.ts';
import { temporaryFolder } from './folder.ts';

let folder: ReturnType<typeof temporaryFolder>;
beforeEach(async () => {
  folder = temporaryFolder();
  mkdirSync(`${folder.path}/other`);
  const store = sqliteStore(`${folder.path}/runs.db`);
  await store.append(creation('run'));
  await store.close();
});
afterEach(() => folder.remove());

test('a file with a hard link is not opened by either name, until the other is gone', async () => {
  const [path, other] = [`${folder.path}/runs.db`, `${folder.path}/other/runs.db`];
  linkSync(path, other);
  const store = sqliteStore(path);
  for (const one of [store, sqliteStore(other)])
    await expect(one.append(addition('run', 1))).rejects.toMatchObject({
      code: 'store-failed',
      retryable: false,
      message: expect.stringMatching(/runs\.db has another name.*Remove the other name/),
    });
  rmSync(other);
  await store.append(addition('run', 1));
  await store.close();
});

test('a hard link created while the file is open blocks only stores that use the link', async () => {
  const store = sqliteStore(`${folder.path}/runs.db`);
  await store.append(addition('run', 1));
  linkSync(`${folder.path}/runs.db`, `${folder.path}/other/runs.db`);
  await store.append(addition('run', 2));
  const late = sqliteStore(`${folder.path}/other/runs.db`);
  await expect(late.read('run')).rejects.toThrow(/has another name/);
  await store.close();
});

test('a file that a symbolic link leads to is one file', async () => {
  symlinkSync(`${folder.path}/runs.db`, `${folder.path}/other/runs.db`);
  const stores = [sqliteStore(`${folder.path}/runs.db`), sqliteStore(`${folder.path}/other/runs.db`)];
  for (const [index, store] of stores.entries()) await store.append(addition('run', index + 1));
  expect((await stores[0]?.read('run'))?.run.version).toBe(3);
  for (const store of stores) await store.close();
});

test.runIf(canMountFiles())('a file that is mounted without its folder is not opened', async () => {
  const other = `${folder.path}/other/the runs.db`;
  writeFileSync(other, '');
  expect(mount(`${folder.path}/runs.db`, other)).toBe(true);
  try {
    await expect(sqliteStore(other).read('run')).rejects.toMatchObject({
      code: 'store-failed',
      retryable: false,
      message: expect.stringMatching(/the runs\.db is mounted alone.*Mount the folder/),
    });
  } finally {
    spawnSync('umount', [other]);
  }
});

function mount(from: string, to: string): boolean {
  return spawnSync('mount', ['--bind', from, to]).status === 0;
}

function canMountFiles(): boolean {
  const trial = temporaryFolder();
  const [from, to] = [`${trial.path}/from`, `${trial.path}/to`];
  for (const path of [from, to]) writeFileSync(path, '');
  const mounted = mount(from, to);
  if (mounted) spawnSync('umount', [to]);
  else console.warn('\nSKIPPED THE TEST ON A MOUNTED FILE: mounting needs permission.\n');
  trial.remove();
  return mounted;
}
