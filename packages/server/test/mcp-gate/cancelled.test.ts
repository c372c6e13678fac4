// A client cancels a call at the moment it is approved: the call is withdrawn, or it ran and its outcome is recorded or asked.
import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { FILESYSTEM, openGateway } from './gateway.ts';

test('a call that its client cancels while it starts is withdrawn, done or in doubt', {
  timeout: 120_000,
}, async () => {
  const place = openGateway();
  onTestFinished(() => place.close());
  const { client } = await place.client([FILESYSTEM, place.folder]);
  const calls = place.ai.gate({ name: 'recorded' });
  for (let round = 0; round < 10; round++) {
    const path = place.path(`${round}.txt`);
    const abort = new AbortController();
    const write = { name: 'write_file', arguments: { path, content: 'text' } };
    const ended = client.callTool(write, { signal: abort.signal }).catch(() => undefined);
    const [request] = await place.pending();
    const approving = place.ai.runs.decide(request?.id ?? '', 'approve').catch(() => undefined);
    await delay(round * 35);
    abort.abort();
    await Promise.all([approving, ended]);
    // The gateway withdraws an approved call that has not started.
    const settled = async () => (await calls.read(request?.runId ?? '')).status;
    await expect.poll(settled, { timeout: 30_000 }).toMatch(/^(rejected|done|doubt)$/);
    const status = await settled();
    if (status === 'rejected') expect(existsSync(path)).toBe(false);
    else for (const { id } of (await place.ai.runs.requests()).items) await place.ai.runs.decide(id, 'reject');
  }
});
