// Readiness: also while the search indexes are being made, and not on a read-only store.
import { copyFileSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memoryStore, ProviderError } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startServer } from './server.ts';

const readiness = async (url: string) => {
  const answer = await fetch(`${url}/readyz`);
  return [answer.status, await answer.json()];
};

test('a server whose SQLite file was replaced is not ready', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-ready-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'runs.db');
  const store = sqliteStore(path);
  const { url, ai } = await startServer({ store });
  await ai.agents.get('parrot')?.start('Hello', { runId: 'run-1' });
  await ai.runs.wait('run-1');
  expect(await readiness(url)).toEqual([200, { status: 'ok' }]);
  copyFileSync(path, `${path}-backup`);
  renameSync(`${path}-backup`, path);
  expect((await ai.runs.list()).items).toHaveLength(1);
  expect(await readiness(url)).toEqual([503, { status: 'store-failed' }]);
});

test('a server whose store takes no writes is not ready until it does', async () => {
  const store = memoryStore();
  const { url } = await startServer({ store });
  const refusal = new ProviderError('store-failed', {}, 'It can only be read.', { retryable: true });
  vi.spyOn(store, 'release').mockRejectedValueOnce(refusal);
  expect(await readiness(url)).toEqual([503, { status: 'store-failed' }]);
  expect(await readiness(url)).toEqual([200, { status: 'ok' }]);
});
