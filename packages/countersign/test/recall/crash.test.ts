// Recall and undo through crashes: a call that waits starts once or never, and an undo that may have happened is in doubt.
import { existsSync, readFileSync } from 'node:fs';
import { countersign, z } from 'countersign';
import { type CrashScenario, crashEverywhere, scriptedModel } from 'countersign/testing';
import { afterAll, expect, test } from 'vitest';
import { startChild } from '../crash/children.ts';
import { onMemory, onSqlite } from '../crash/subjects.ts';
import { eventually } from '../eventually.ts';
import { temporaryFolder } from '../stores/folder.ts';
import { openBank } from './undo-child.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());

const waits = (recalls: boolean): CrashScenario => ({
  open({ runId, store, clock, leaseMs, effect }) {
    const model = scriptedModel(({ messages }) =>
      messages.some(({ role }) => role === 'tool') ? 'Paid.' : { calls: [{ name: 'pay', input: {} }] },
    );
    const ai = countersign({ model, store, clock, leaseMs, retry: false });
    const pay = ai.defineTool(
      { name: 'pay', description: '', inputSchema: z.object({}), needsApproval: true, recallFor: '10m' },
      async (_input, { idempotencyKey }) => effect('pay', idempotencyKey, 'paid'),
    );
    const clerk = ai.defineAgent({ name: 'clerk', tools: [pay] });
    return { runs: ai.runs, begin: () => clerk.start('Pay.', { runId }) };
  },
  decide({ kind }) {
    if (kind !== 'recall') return 'approve';
    return recalls ? 'reject' : undefined;
  },
});

test.each([
  ['memory', 'starts', onMemory],
  ['memory', 'is recalled', onMemory],
  ['SQLite', 'starts', onSqlite],
  ['SQLite', 'is recalled', onSqlite],
] as const)(
  'on %s, a call that waits and %s survives a crash at every write',
  { timeout: 120_000 },
  async (_name, end, makeStore) => {
    const recalls = end === 'is recalled';
    const { problems, results } = await crashEverywhere({ scenario: waits(recalls), makeStore });
    expect(problems).toEqual([]);
    for (const { effects } of results) expect(effects).toHaveLength(recalls ? 0 : 1);
  },
);

test.each(['before', 'after'] as const)(
  'an undo that is killed %s its effect is in doubt, and is not done again',
  async (dieAt) => {
    const place = { store: `${folder.path}/${dieAt}.db`, ledger: `${folder.path}/${dieAt}.txt` };
    const child = startChild('../recall/undo-child.ts', { ...place, dieAt });
    expect(await child.ended).toMatchObject({ signal: 'SIGKILL' });
    const effects = () => (existsSync(place.ledger) ? readFileSync(place.ledger, 'utf8') : '');
    const before = effects();
    expect(before).toBe(dieAt === 'after' ? 'undid r1\n' : '');
    const { runs } = openBank(place);
    const worker = runs.work({ pollMs: 20 });
    const [card] = await eventually(async () => {
      const { items } = await runs.requests();
      expect(items).toMatchObject([{ kind: 'doubt', tool: 'undo_pay' }]);
      return items;
    });
    expect(await runs.undo('run', { by: 'ben' })).toMatchObject({
      isDone: false,
      steps: [{ status: 'doubt', requestId: card?.id }],
    });
    expect(effects()).toBe(before);
    // A person looks, and says that it happened.
    await runs.decide(card?.id ?? '', { type: 'respond', output: 'It was undone.' }, { by: 'ann' });
    await runs.settled();
    expect(await runs.undo('run', { by: 'ben' })).toMatchObject({ isDone: true });
    expect(effects()).toBe(before);
    await worker.stop();
  },
);
