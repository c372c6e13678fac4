// Escalations with real processes: a worker is killed while it tells people, and another continues.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { Place } from '../crash/bank.ts';
import { startChild } from '../crash/children.ts';
import { type EscalatingOptions, openClerk } from '../crash/escalating-child.ts';
import { testServer } from '../stores/postgres-server.ts';

const LEASE_MS = 50;

const postgres = await testServer();
const folder = mkdtempSync(join(tmpdir(), 'countersign-escalate-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** One worker is killed after the first escalation was recorded. The next one records the second, and the deadline. */
async function killedInBetween(place: Place): Promise<void> {
  const start = (tells: boolean) => {
    const given: EscalatingOptions = { place, leaseMs: LEASE_MS, tells };
    return startChild('escalating-child.ts', given);
  };
  const [killed, other] = [start(true), start(false)];
  for (const child of [killed, other]) expect(await child.line()).toBe('ready');
  const { store, runs, clerk } = openClerk(place, LEASE_MS);
  killed.say('go');
  await clerk.start('Pay.', { runId: 'run', by: 'ann' });
  const [id = ''] = (await runs.wait('run')).pending;
  expect(await killed.line()).toBe('1');
  killed.kill('SIGKILL');
  expect(await killed.ended).toMatchObject({ signal: 'SIGKILL' });
  other.say('go');
  expect(await runs.wait('run', { until: 'end', timeoutMs: 20_000 })).toMatchObject({ status: 'done', text: 'Done.' });
  other.kill('SIGTERM');
  expect(await other.ended).toMatchObject({ code: 0, errors: '' });
  const escalated = (await runs.recorded('run')).flatMap((event) =>
    event.type === 'request-escalated' ? [event.to] : [],
  );
  expect(escalated).toEqual([{ people: ['boss'] }, { roles: ['board'] }]);
  expect((await runs.request(id)).settlement).toMatchObject({ by: 'deadline', decision: { type: 'reject' } });
  expect(await runs.verify('run')).toMatchObject({ ok: true });
  await store.close();
}

test('a worker is killed while it tells people of an escalation, and another continues', {
  timeout: 60_000,
}, async () => {
  const places: readonly Place[] = [
    { sqlite: join(folder, 'runs') },
    ...(postgres ? [{ postgres: await postgres.freshDatabase() }] : []),
  ];
  await Promise.all(places.map(killedInBetween));
});
