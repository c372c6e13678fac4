// A call that a grant let run is a row in the history: what would have run, who allowed it, and what came of it. Nobody decided it.
import { setTimeout as sleep } from 'node:timers/promises';
import { countersign, memoryStore, type RunRequest } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { changedStore } from '../changed-store.ts';
import { openPayer } from './kit.ts';

const acme = (amount: number) => ({ to: 'ACME', amount });
const TITLED = {
  title: ({ to, amount }: { readonly to: string; readonly amount: number }) => `Pay ${amount} to ${to}`,
  risk: 'high',
  needsApproval: () => ({ labels: ['payments'] }),
};

type Payer = ReturnType<typeof openPayer>;

const granted = async ({ ai }: Pick<Payer, 'ai'>): Promise<readonly RunRequest[]> =>
  (await ai.runs.requests({ settled: true, outcome: 'granted' })).items;

describe.each([
  ['memory', () => memoryStore()],
  ['SQLite', () => sqliteStore(':memory:')],
])('a call that a grant let run (%s)', (_where, open) => {
  test('is a row like that of a request, with the person who gave the grant', async () => {
    const payer = openPayer(open(), TITLED);
    const grant = await payer.give();
    const run = await payer.start([acme(500)]);
    const [row, ...others] = await granted(payer);
    expect(others).toEqual([]);
    expect(row).toMatchObject({
      ...{ runId: run.id, startedBy: 'ann', agent: 'clerk', tool: 'pay', kind: 'approval', input: acme(500) },
      ...{ title: 'Pay 500 to ACME', risk: 'high', labels: ['payments'] },
      settlement: { granted: { id: grant.id, amount: 500 }, by: 'ben' },
      outcome: { state: 'done', text: 'paid: 500' },
    });
    expect(await payer.ai.runs.request(row?.id ?? '')).toEqual(row);
    expect((await payer.questions(run.id)).length).toBe(0);
    const { items } = await payer.ai.runs.requests({ settled: true, runId: run.id });
    expect(items).toEqual([row]);
    expect(await payer.ai.runs.verify(run.id)).toMatchObject({ ok: true });
  });

  test('costs no append of its own', async () => {
    const kept = open();
    let appends = 0;
    const store = changedStore(kept, {
      append: (append) => {
        appends += 1;
        return kept.append(append);
      },
    });
    const payer = openPayer(store);
    await payer.give();
    appends = 0;
    await payer.start([acme(1)]);
    expect(appends).toBe(4);
    expect(await granted(payer)).toHaveLength(1);
  });
});

test('failed: its row says why', async () => {
  const payer = openPayer(memoryStore());
  await payer.give();
  await payer.start([{ ...acme(5), fails: true }]);
  const [row] = await granted(payer);
  expect(row?.outcome).toMatchObject({ state: 'failed', text: 'Out of money.', mayHaveActed: false });
  expect((await payer.ai.runs.requests({ settled: true, outcome: 'failed' })).items).toEqual([row]);
});

test('runs: its row says so, until its run is cancelled and nobody knows what it did', async () => {
  const held = Promise.withResolvers<never>();
  let calls = 0;
  const act = async (_name: string, _key: string, output: never) => (++calls > 1 ? held.promise : output);
  const payer = openPayer(memoryStore(), {}, { act: act as never });
  await payer.give();
  const { id } = await payer.clerk.start(JSON.stringify([acme(5)]), { by: 'ann' });
  while (calls < 2) await sleep(1);
  expect((await granted(payer))[0]?.outcome).toEqual({ state: 'running' });
  await payer.ai.runs.cancel(id);
  expect((await granted(payer))[0]?.outcome).toMatchObject({ state: 'unknown' });
});

test('a grant that ended before the start let nothing run: the row says that it asks again', async () => {
  const kept = memoryStore();
  let revoke: (() => Promise<unknown>) | undefined;
  const store = changedStore(kept, {
    append: async (append) => {
      const appended = await kept.append(append);
      if (append.events.some(({ type }) => type === 'call-granted')) await revoke?.();
      return appended;
    },
  });
  const payer = openPayer(store);
  const grant = await payer.give();
  revoke = () => payer.ai.grants.revoke(grant.id);
  const run = await payer.start([acme(5)]);
  expect(run.status).toBe('waiting');
  expect((await granted(payer)).map(({ outcome }) => outcome)).toMatchObject([{ state: 'not-run', why: 'changed' }]);
  const [question] = await payer.questions(run.id);
  await payer.ai.runs.decide(question as RunRequest, 'approve', { by: 'ben' });
  await payer.ai.runs.wait(run.id);
  expect((await granted(payer)).map(({ outcome }) => outcome)).toMatchObject([{ state: 'not-run', why: 'changed' }]);
  expect(await payer.ai.runs.request(question?.id ?? '')).toMatchObject({ outcome: { state: 'done' } });
});

test('a call of a sub-agent has its row too', async () => {
  const store = memoryStore();
  const payer = openPayer(store, TITLED);
  const { ai, clerk } = payer;
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? 'Done.'
      : { calls: [{ name: 'clerk', input: { prompt: JSON.stringify([acme(7)]) } }] },
  );
  const boss = ai.defineAgent({ name: 'boss', model, tools: [clerk] });
  const grant = await payer.give({ serves: { people: ['ann'] } });
  const { id } = await boss.start('Pay.', { by: 'ann' });
  expect(await ai.runs.wait(id)).toMatchObject({ status: 'done' });
  expect(await granted(payer)).toMatchObject([
    { runId: id, title: 'Pay 7 to ACME', settlement: { granted: { id: grant.id } }, outcome: { state: 'done' } },
  ]);
});

test('a call of a program outside has its row when it starts', async () => {
  const ai = countersign({ store: memoryStore() });
  const gate = ai.gate({ name: 'pay', title: 'Pay ACME' });
  const asked = await gate.request(acme(1), { key: 'k', by: 'ada' });
  if (asked.status !== 'pending') throw new Error(asked.status);
  const grant = { uses: 2, expiresAt: Date.now() + 60_000 };
  await ai.runs.decide(asked.id, 'approve', { by: 'ann', grant });
  expect(await gate.request(acme(2), { key: 'l', by: 'ada' })).toMatchObject({ status: 'approved' });
  expect(await granted({ ai: ai as never })).toEqual([]);
  const start = await gate.start({ key: 'l' });
  if (start.status !== 'granted') throw new Error(start.status);
  expect(await granted({ ai: ai as never })).toMatchObject([{ title: 'Pay ACME', outcome: { state: 'running' } }]);
  await gate.finish({ key: 'l' }, start.token, { output: 'paid' });
  expect(await granted({ ai: ai as never })).toMatchObject([{ outcome: { state: 'done', text: 'paid' } }]);
});

describe('nobody decided it', () => {
  test('so statistics, suggestions and figures leave it out', async () => {
    const payer = openPayer(memoryStore());
    await payer.give();
    await payer.start([acme(1), acme(2)]);
    const { ai } = payer;
    expect(await granted(payer)).toHaveLength(2);
    expect(await ai.runs.stats()).toMatchObject({ decided: 1, waiting: 0, tools: [{ approved: 1, cancelled: 0 }] });
    expect(await ai.grants.suggest('pay')).toEqual({ tool: 'pay', grant: null, simulation: null });
    const limits = { tool: 'pay', uses: 10 };
    expect(await ai.grants.simulate(limits)).toMatchObject({ requests: 1, matching: 1, letThrough: 1 });
    for (const outcome of ['approved', 'cancelled', 'not-run'] as const)
      expect((await ai.runs.requests({ settled: true, outcome })).items).toHaveLength(outcome === 'approved' ? 1 : 0);
  });

  test('so a decision on it is refused, whoever makes it', async () => {
    const payer = openPayer(memoryStore());
    const grant = await payer.give();
    await payer.start([acme(1)]);
    const [row] = await granted(payer);
    for (const decision of ['approve', 'reject'] as const)
      await expect(payer.ai.runs.decide(row?.id ?? '', decision, { by: 'ben' })).rejects.toMatchObject({
        code: 'already-decided',
        message: expect.stringContaining(`the grant ${grant.id} let its call run`),
      });
    const request = await payer.request();
    await expect(payer.ai.grants.give(row?.id ?? '', request, { by: 'ben' })).rejects.toMatchObject({
      code: 'invalid-grant',
    });
  });

  test('so nobody is told of it', async () => {
    const payer = openPayer(memoryStore());
    const told: string[] = [];
    payer.ai.onRequest('log', {
      opened: ({ requestId }) => void told.push(`opened ${requestId}`),
      decided: ({ requestId }) => void told.push(`decided ${requestId}`),
      withdrawn: ({ requestId }) => void told.push(`withdrawn ${requestId}`),
    });
    const worker = payer.ai.runs.work({ pollMs: 20 });
    await payer.give();
    await payer.start([{ ...acme(1), fails: true }]);
    const [row] = await granted(payer);
    const asked = await payer.start([{ to: 'Other', amount: 1 }]);
    const [last] = await payer.questions(asked.id);
    while (!told.includes(`opened ${last?.id}`)) await sleep(5);
    await worker.stop();
    expect(told.filter((line) => line.includes(row?.id ?? '-'))).toEqual([]);
  });
});
