// Escalations with real processes: a worker is killed while it tells people, and another continues.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { Ledger, type Place } from '../crash/bank.ts';
import { startChild } from '../crash/children.ts';
import { type EscalatingOptions, type EscalationLine, openClerk } from '../crash/escalating-child.ts';
import { testServer } from '../stores/postgres-server.ts';

const LEASE_MS = 50;

const postgres = await testServer();
const folder = mkdtempSync(join(tmpdir(), 'countersign-escalate-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** One worker is killed after the first escalation was recorded. Returns what the next one did. */
async function killedInBetween(name: string, place: Place): Promise<void> {
  const ledger = join(folder, name);
  const start = (hangs: boolean) => {
    const given: EscalatingOptions = { place, ledger, leaseMs: LEASE_MS, hangs };
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
  expect([await other.line(), await other.line()]).toEqual(['1', '2']);
  expect(await runs.wait('run', { until: 'end', timeoutMs: 20_000 })).toMatchObject({ status: 'done', text: 'Done.' });
  other.kill('SIGTERM');
  expect(await other.ended).toMatchObject({ code: 0, errors: '' });
  const lines = new Ledger<EscalationLine>(ledger).read();
  expect(lines.map(({ number, attempt }) => `${number}, attempt ${attempt}`)).toEqual([
    '1, attempt 1',
    '1, attempt 2',
    '2, attempt 1',
  ]);
  const escalated = (await runs.recorded('run')).flatMap((event) =>
    event.type === 'question-escalated' ? [event.to] : [],
  );
  expect(escalated).toEqual([{ people: ['boss'] }, { roles: ['board'] }]);
  expect((await runs.interrupt(id)).settlement).toMatchObject({ by: 'deadline', decision: { type: 'reject' } });
  expect(await runs.verify('run')).toMatchObject({ ok: true });
  await store.close();
}

test('a worker is killed while it tells people of an escalation, and another continues', {
  timeout: 60_000,
}, async () => {
  const places: readonly (readonly [string, Place])[] = [
    ['SQLite', { sqlite: join(folder, 'runs') }],
    ...(postgres ? [['PostgreSQL', { postgres: await postgres.freshDatabase() }] as const] : []),
  ];
  await Promise.all(places.map(([name, place]) => killedInBetween(name, place)));
});
