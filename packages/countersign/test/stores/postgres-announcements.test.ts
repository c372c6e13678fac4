// What processes on one PostgreSQL tell each other when one of them dies.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { postgresStore } from 'countersign/postgres';
import { expect, onTestFinished, test } from 'vitest';
import { onServer, testServer } from './postgres-server.ts';

const postgres = await testServer();

/** A new watcher looks back twice, the second time a second after the first. */
const LOOKED_BACK_MS = 1_500;

async function watchersOn(url: string): Promise<number> {
  const [row] = await onServer(url, 'SELECT count(*)::int AS count FROM countersign_watcher');
  return row.count;
}

test.runIf(postgres)('a run that rests is reported, even if its process dies before it announces that', async () => {
  const url = (await postgres?.freshDatabase()) ?? '';
  const store = postgresStore(url);
  onTestFinished(() => store.close());
  const versions: number[] = [];
  store.watch(async (runId) => {
    if (runId === 'run') versions.push((await store.read(runId))?.run.version ?? 0);
  });
  // Looking back would find the change as well.
  await expect.poll(() => watchersOn(url)).toBe(1);
  await new Promise((resolve) => setTimeout(resolve, LOOKED_BACK_MS));
  const child = spawn(process.execPath, [join(import.meta.dirname, 'dying-announcer.ts'), url], { stdio: 'inherit' });
  expect((await once(child, 'exit'))[1]).toBe('SIGKILL');
  await expect.poll(() => versions.at(-1)).toBe(2);
});
