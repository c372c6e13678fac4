// Every command that drives runs tells channels of reminders.
import { copyFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sqliteStore } from 'countersign/sqlite';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import agents from './fixtures/reminding-agents.ts';
import { createWorkplace, FIXTURES, type Workplace } from './workplace.ts';

let place: Workplace;
beforeEach(() => {
  place = createWorkplace();
  copyFileSync(join(FIXTURES, 'reminding-agents.ts'), place.path('agents.ts'));
});
afterEach(() => place.close());

/** Creates a pending request, without driving the store. */
async function ask(runId: string): Promise<string> {
  const store = sqliteStore(place.path('.countersign/runs.sqlite'));
  const ai = agents({ store });
  await ai.agents.get('assistant')?.start('Ask.', { runId });
  const { pending } = await ai.runs.wait(runId);
  await ai.runs.settled();
  await store.close();
  return pending[0] ?? '';
}

const reminders = (): readonly string[] =>
  existsSync(place.path('reminders')) ? readFileSync(place.path('reminders'), 'utf8').trim().split('\n') : [];

test('worker, serve and dev send each reminder once', { timeout: 120_000 }, async () => {
  const asked: string[] = [];
  for (const args of [['worker'], ['serve', '--port', '0'], ['dev', '--port', '0']]) {
    const [command = '', ...options] = args;
    asked.push(`${await ask(`run-${command}`)} Answer me`);
    const working = place.begin([command, 'agents.ts', ...options], { REMINDERS: place.path('reminders') });
    await vi.waitFor(() => expect(reminders(), working.output()).toEqual(asked), { timeout: 30_000, interval: 50 });
    working.child.kill('SIGTERM');
    expect(await working.ended, working.output()).toBe(0);
  }
  expect(reminders()).toEqual(asked);
});

test('a worker reports a failed reminder and continues', { timeout: 60_000 }, async () => {
  const id = await ask('run');
  const worker = place.begin(['worker', 'agents.ts'], { REMINDERS: place.path('not/there') });
  const [said] = await worker.says(/Telling about .*/);
  expect(said).toContain(`Telling about ${id} through reminders failed, and is tried again later: ENOENT`);
  worker.child.kill('SIGTERM');
  expect(await worker.ended).toBe(0);
});
