// Reminders with real processes: one of several calls the hook, and another repeats the reminder of a killed one.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { countersign } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { afterAll, describe, expect, test } from 'vitest';
import { Ledger, openStore, type Place } from '../crash/bank.ts';
import { startChild } from '../crash/children.ts';
import type { ReminderLine, RemindingOptions } from '../crash/reminding-child.ts';
import { eventually } from '../eventually.ts';
import { testServer } from '../stores/postgres-server.ts';

/** A reminder is repeated after four times the lease. */
const SHORT_LEASE_MS = 100;
const LONG_LEASE_MS = 600_000;

const postgres = await testServer();
const folder = mkdtempSync(join(tmpdir(), 'countersign-remind-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Opens a clerk on this store, in a process that sends no reminders. */
function openClerk(place: Place, remindAfter: number) {
  const store = openStore(place);
  const ai = countersign({
    model: scriptedModel(() => ({ calls: [{ name: 'ask', input: {} }] })),
    store,
    retry: false,
  });
  const clerk = ai.defineAgent({
    name: 'clerk',
    tools: [ai.defineInterrupt({ name: 'ask', description: '', remindAfter })],
  });
  return {
    store,
    runs: ai.runs,
    ask: async (runId: string): Promise<string> => {
      await clerk.start('Ask.', { runId });
      return (await ai.runs.wait(runId)).pending[0] ?? '';
    },
  };
}

function startReminding(place: Place, name: string, options: Pick<RemindingOptions, 'leaseMs' | 'done'>) {
  const given: RemindingOptions = { place, ledger: join(folder, name), ...options };
  return startChild('reminding-child.ts', given);
}

const linesOf = (name: string) => new Ledger<ReminderLine>(join(folder, name)).read();

describe.each([
  {
    name: 'SQLite',
    makePlace: async (): Promise<Place> => ({ sqlite: join(mkdtempSync(join(folder, 'db-')), 'runs') }),
  },
  ...(postgres
    ? [{ name: 'PostgreSQL', makePlace: async (): Promise<Place> => ({ postgres: await postgres.freshDatabase() }) }]
    : []),
])('on $name', { timeout: 60_000 }, ({ name, makePlace }) => {
  test('two processes share the reminders, and each question gets one', async () => {
    const place = await makePlace();
    const ledger = `${name}-shared`;
    const children = [1, 2].map(() => startReminding(place, ledger, { leaseMs: LONG_LEASE_MS, done: 'both' }));
    for (const child of children) expect(await child.line()).toBe('ready');
    const { ask, runs, store } = openClerk(place, 1);
    const asked = await Promise.all(Array.from({ length: 40 }, (_, index) => ask(`run-${index}`)));
    await eventually(() => expect(linesOf(ledger)).toHaveLength(40));
    for (const child of children) child.kill('SIGTERM');
    for (const child of children) expect(await child.ended).toMatchObject({ code: 0, errors: '' });
    const lines = linesOf(ledger);
    expect(lines.map(({ id }) => id).sort()).toEqual([...asked].sort());
    expect(new Set(lines.map(({ attempt }) => attempt))).toEqual(new Set([1]));
    expect(new Set(lines.map(({ pid }) => pid)).size).toBe(2);
    expect((await runs.interrupts({ limit: 100 })).items).toHaveLength(40);
    await store.close();
  });

  test('a reminder interrupted by a kill is repeated by another process', async () => {
    const place = await makePlace();
    const ledger = `${name}-killed`;
    const { ask, runs, store } = openClerk(place, 1);
    const id = await ask('run');
    const killed = startReminding(place, ledger, { leaseMs: SHORT_LEASE_MS, done: 'never' });
    expect([await killed.line(), await killed.line()]).toEqual(['ready', id]);
    killed.kill('SIGKILL');
    expect(await killed.ended).toMatchObject({ signal: 'SIGKILL' });
    const before = linesOf(ledger).length;
    const other = startReminding(place, ledger, { leaseMs: SHORT_LEASE_MS, done: 'at once' });
    expect([await other.line(), await other.line()]).toEqual(['ready', id]);
    // Longer than the pause before a repeat, if the reminder were not marked as done.
    await delay(SHORT_LEASE_MS * 4 * 2 ** before + 300);
    other.kill('SIGTERM');
    expect(await other.ended).toMatchObject({ code: 0, errors: '' });
    const lines = linesOf(ledger);
    expect(lines).toHaveLength(before + 1);
    expect(lines.at(-1)).toEqual({ id, attempt: before + 1, pid: other.process.pid });
    expect(await runs.get('run')).toMatchObject({ status: 'waiting', pending: [id] });
    await store.close();
  });

  test('a question decided by another process before its time gets no reminder', async () => {
    const place = await makePlace();
    const ledger = `${name}-decided`;
    const { ask, runs, store } = openClerk(place, 1_000);
    await runs.decide(await ask('decided'), { type: 'respond', output: 'so' }, { drive: false });
    const waits = await ask('waits');
    const child = startReminding(place, ledger, { leaseMs: LONG_LEASE_MS, done: 'at once' });
    expect([await child.line(), await child.line()]).toEqual(['ready', waits]);
    child.kill('SIGTERM');
    expect(await child.ended).toMatchObject({ code: 0, errors: '' });
    expect(linesOf(ledger).map(({ id }) => id)).toEqual([waits]);
    await store.close();
  });
});
