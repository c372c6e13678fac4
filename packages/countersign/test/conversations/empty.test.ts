// A chat that is sent no decision at all.
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { clerkOf } from './clerk.ts';

const delay = (ms: number) => new Promise<'HANGS'>((r) => setTimeout(() => r('HANGS'), ms));

test('a chat that decides nothing is not left hanging', async () => {
  const { clerk } = clerkOf();
  await clerk.generate({ runId: 't', prompt: 'x' });
  const r = await Promise.race([clerk.generate({ runId: 't', resume: { approve: [] } }), delay(20_000)]);
  expect(r).not.toBe('HANGS');
});
test('nor are empty toolResponses', async () => {
  const { clerk } = clerkOf();
  await clerk.generate({ runId: 't', prompt: 'x' });
  const r = await Promise.race([
    clerk.generate({ runId: 't', toolResponses: [] } as never).catch((e) => e),
    delay(20_000),
  ]);
  expect(r).not.toBe('HANGS');
});
test('after it, runs.stop() ends, and does not freeze the process', () => {
  const { stdout, stderr, signal } = spawnSync(
    process.execPath,
    [new URL('./empty-child.ts', import.meta.url).pathname],
    { timeout: 40_000, killSignal: 'SIGKILL', encoding: 'utf8' },
  );
  expect({ stdout, signal }, stderr).toEqual({ stdout: expect.stringContaining('stopped'), signal: null });
});
