// An approved call waits, and can be recalled until it starts: exactly one of the two wins.
import { randomUUID } from 'node:crypto';
import { countersign, memoryStore, type RunRequest, z } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { internalsOf, type Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { afterAll, describe, expect, test } from 'vitest';
import { hear } from '../../src/loop/generate.ts';
import { DAY_MS, openPayer, type Payment } from '../grants/kit.ts';
import { temporaryFolder } from '../stores/folder.ts';

const MINUTE = 60_000;
const ACME = { to: 'ACME', amount: 100 };

const folder = temporaryFolder();
afterAll(() => folder.remove());

const STORES: readonly (readonly [string, (now: () => number) => Store])[] = [
  ['memory', (now) => memoryStore({ now })],
  ['SQLite', (now) => sqliteStore({ path: `${folder.path}/${randomUUID()}.db`, now })],
];

function world(open: (now: () => number) => Store, config: object = { recallFor: '10m' }) {
  let time = 1_800_000_000_000;
  const clock = () => time;
  const store = open(clock);
  const process = () => openPayer(store, config, { clock });
  return { ...process(), process, store, clock, pass: (ms: number) => (time += ms) };
}

async function approved(bank: ReturnType<typeof world>) {
  const { id } = await bank.start([ACME]);
  const [asked] = await bank.questions(id);
  await bank.ai.runs.decide(asked as RunRequest, 'approve', { by: 'ben' });
  await bank.ai.runs.settled();
  const [wait] = await bank.questions(id);
  return { id, asked: asked as RunRequest, wait: wait as RunRequest };
}

describe.each(STORES)('on %s', (_name, open) => {
  test('an approved call waits until the time on its record, and any worker starts it then', async () => {
    const bank = world(open);
    const { id, asked, wait } = await approved(bank);
    expect(wait).toMatchObject({ kind: 'recall', expiresAt: bank.clock() + 10 * MINUTE, onExpiry: 'approve' });
    expect(bank.paid).toEqual([]);
    expect((await bank.ai.runs.request(asked.id)).outcome).toEqual({ state: 'running', startsAt: wait.expiresAt });
    bank.pass(10 * MINUTE - 1);
    const other = bank.process();
    await other.ai.runs.drive(id);
    await other.ai.runs.settled();
    expect(other.paid).toEqual([]);
    bank.pass(1);
    await other.ai.runs.drive(id);
    await other.ai.runs.settled();
    expect(other.paid).toEqual([ACME]);
    expect((await other.ai.runs.get(id)).status).toBe('done');
    expect((await other.ai.runs.request(asked.id)).outcome).toMatchObject({ state: 'done' });
    expect(await other.ai.runs.verify(id)).toMatchObject({ ok: true });
  });

  test.each(['ann', 'ben'])('%s, who asked or decided, recalls it by the id of the first request', async (by) => {
    const bank = world(open);
    const { id, asked, wait } = await approved(bank);
    bank.pass(MINUTE);
    const result = await bank.ai.runs.recall(asked.id, { by, reason: 'The wrong ACME.' });
    expect(result).toMatchObject({ status: 'settled', requestId: wait.id, by, at: bank.clock() });
    await bank.ai.runs.settled();
    bank.pass(DAY_MS);
    const run = await bank.ai.runs.get(id);
    expect(run.status).toBe('done');
    expect(bank.paid).toEqual([]);
    expect(JSON.stringify(run.messages.at(-2))).toContain(
      'pay was recalled by a person before it started. It did not run. Reason: The wrong ACME.',
    );
    expect((await bank.ai.runs.request(asked.id)).outcome).toMatchObject({ state: 'not-run', why: 'recalled' });
    expect((await bank.ai.runs.request(wait.id)).settlement).toMatchObject({ by, at: bank.clock() - DAY_MS });
    expect(await bank.ai.runs.verify(id)).toMatchObject({ ok: true });
  });

  test('nobody else recalls it, and nobody starts it early', async () => {
    const bank = world(open);
    const { asked, wait } = await approved(bank);
    await expect(bank.ai.runs.recall(asked.id, { by: 'eve' })).rejects.toMatchObject({ code: 'not-allowed' });
    for (const decision of ['approve', { type: 'approve', edit: { to: 'EVIL', amount: 1 } }] as const)
      await expect(bank.ai.runs.decide(wait.id, decision, { by: 'ben' })).rejects.toMatchObject({
        code: 'invalid-resume',
      });
    expect(bank.paid).toEqual([]);
  });

  test('exactly one of recalled and started wins, in any number of processes', async () => {
    for (let round = 0; round < 20; round += 1) {
      const bank = world(open);
      const { id, asked, wait } = await approved(bank);
      const others = [bank.process(), bank.process()];
      const passes = round % 2 === 0 ? 10 * MINUTE : 10 * MINUTE - 1;
      bank.pass(passes);
      const recalls = others.map((one) => one.ai.runs.recall(asked.id, { by: 'ben' }));
      if (round % 2 === 1) bank.pass(1);
      const [first, second] = await Promise.allSettled([...recalls, ...others.map((one) => one.ai.runs.drive(id))]);
      await Promise.all(others.map((one) => one.ai.runs.settled()));
      await bank.ai.runs.drive(id).catch(() => undefined);
      await bank.ai.runs.settled();
      const paid = [bank, ...others].flatMap((one): readonly Payment[] => one.paid);
      const settlement = (await bank.ai.runs.request(wait.id)).settlement;
      const isRecalled = settlement?.by === 'ben';
      expect(paid).toEqual(isRecalled ? [] : [ACME]);
      expect(first?.status).toBe(isRecalled ? 'fulfilled' : 'rejected');
      expect(second?.status).toBe(first?.status);
      expect(await bank.ai.runs.verify(id)).toMatchObject({ ok: true });
    }
  });

  test('a granted call waits too, and who gave the grant recalls it; its use is free again', async () => {
    const bank = world(open);
    const { id: first } = await bank.start([ACME]);
    const [asked] = await bank.questions(first);
    const grant = { uses: 1, expiresAt: bank.clock() + DAY_MS };
    await bank.ai.runs.decide(asked as RunRequest, 'approve', { by: 'ben', grant });
    await bank.ai.runs.settled();
    const { id } = await bank.start([{ to: 'ACME', amount: 7 }]);
    const [wait] = await bank.questions(id);
    expect(wait).toMatchObject({ kind: 'recall' });
    await bank.ai.runs.recall(wait?.id ?? '', { by: 'ben' });
    await bank.ai.runs.settled();
    expect(bank.paid).toEqual([]);
    const { id: next } = await bank.start([{ to: 'ACME', amount: 8 }]);
    bank.pass(10 * MINUTE);
    await bank.ai.runs.drive(next);
    await bank.ai.runs.settled();
    expect(bank.paid).toEqual([{ to: 'ACME', amount: 8 }]);
    expect(await bank.ai.runs.verify(next)).toMatchObject({ ok: true });
  });
});

test('of several sources, the longest time counts', async () => {
  const clock = () => 1_800_000_000_000;
  const model = scriptedModel([{ calls: [{ name: 'pay', input: {} }] }, 'Done.']);
  const ai = countersign({ model, store: memoryStore({ now: clock }), clock, retry: false });
  const policy = ai.definePolicy('careful', { recallFor: '1h' });
  ai.applyRules([{ tool: 'pay', policy: { recallFor: '30m' } }]);
  const pay = ai.defineTool(
    { name: 'pay', description: '', inputSchema: z.object({}), needsApproval: { policy }, recallFor: '5m' },
    () => 'paid',
  );
  const clerk = ai.defineAgent({ name: 'clerk', tools: [pay] });
  const { id } = await clerk.start('Pay.', { by: 'ann' });
  await ai.runs.wait(id);
  const [asked] = (await ai.runs.requests({ runId: id })).items;
  await ai.runs.decide(asked as RunRequest, 'approve', { by: 'ben' });
  await ai.runs.settled();
  expect((await ai.runs.requests({ runId: id })).items[0]).toMatchObject({
    kind: 'recall',
    expiresAt: clock() + 60 * MINUTE,
  });
});

test('a call through the gate does not start before its time, and a caller that waits starts it then', async () => {
  const ai = countersign({ store: memoryStore() });
  const ran: unknown[] = [];
  const pay = ai.defineTool(
    {
      name: 'pay',
      description: '',
      inputSchema: z.object({ amount: z.number() }),
      needsApproval: true,
      recallFor: 300,
    },
    ({ amount }) => {
      ran.push(amount);
      return 'paid';
    },
  );
  const gate = ai.gate(pay);
  const asked = await gate.request({ amount: 5 }, { key: 'k', by: 'ann' });
  if (asked.status !== 'pending') throw new Error(asked.status);
  await ai.runs.decide(asked.id, 'approve', { by: 'ben' });
  await ai.runs.settled();
  const waits = await gate.read({ key: 'k' });
  expect(waits).toMatchObject({ status: 'pending', waitsUntil: expect.any(Number) });
  expect(await gate.start({ key: 'k' })).toMatchObject({ status: 'pending' });
  expect(await gate.request({ amount: 5 }, { key: 'k', by: 'ann', run: true })).toMatchObject({ status: 'pending' });
  expect(ran).toEqual([]);
  const done = await gate.run({ amount: 5 }, { key: 'k', by: 'ann' });
  expect(done).toMatchObject({ status: 'done', output: 'paid' });
  expect(ran).toEqual([5]);
  expect((await gate.request({ amount: 6 }, { key: 'other', by: 'ann' })).status).toBe('pending');
});

test('a call through the gate is recalled by its caller', async () => {
  const ai = countersign({ store: memoryStore() });
  const gate = ai.gate({ name: 'pay', recallFor: '10m' });
  const asked = await gate.request({ amount: 5 }, { key: 'k', by: 'ann' });
  if (asked.status !== 'pending') throw new Error(asked.status);
  await ai.runs.decide(asked.id, 'approve', { by: 'ben' });
  await ai.runs.recall(asked.id, { by: 'ann' });
  expect(await gate.read({ key: 'k' })).toMatchObject({ status: 'rejected' });
  expect(await gate.start({ key: 'k' })).toMatchObject({ status: 'rejected' });
});

test('without a store nobody keeps the time, so such a call cannot be approved', async () => {
  const model = scriptedModel([{ calls: [{ name: 'pay', input: {} }] }, 'Done.']);
  const ai = countersign({ model });
  const config = {
    name: 'pay',
    description: '',
    inputSchema: z.object({}),
    needsApproval: true,
    recallFor: '10m',
  } as const;
  const pay = ai.defineTool(config, () => 'paid');
  const { interrupts, messages } = await ai.generate({ prompt: 'Pay.', tools: [pay] });
  const resume = { approve: interrupts };
  await expect(ai.generate({ messages, tools: [pay], resume })).rejects.toThrow(/stored runs/);
});

test('a message of the user does not withdraw an approved call that waits to start', async () => {
  const bank = world((now) => memoryStore({ now }));
  const { id, wait } = await approved(bank);
  const says = [{ role: 'user' as const, content: [{ text: 'Thanks!' }] }];
  await internalsOf(bank.ai.runs).speak(id, (run) => hear(run, says, 'cancel', new Set()), { by: 'ann' });
  expect((await bank.ai.runs.requests({ runId: id })).items.map((one) => one.id)).toEqual([wait.id]);
  bank.pass(10 * MINUTE);
  await bank.ai.runs.drive(id);
  await bank.ai.runs.settled();
  expect(bank.paid).toEqual([ACME]);
});

test('a call inside a sub-agent waits too', async () => {
  let time = 1_800_000_000_000;
  const clock = () => time;
  const ai = countersign({ model: scriptedModel([]), store: memoryStore({ now: clock }), clock, retry: false });
  const ran: string[] = [];
  const config = {
    name: 'pay',
    description: '',
    inputSchema: z.object({}),
    needsApproval: true,
    recallFor: '10m',
  } as const;
  const pay = ai.defineTool(config, () => void ran.push('paid'));
  const model = (name: string) =>
    scriptedModel([{ calls: [{ name, input: name === 'pay' ? {} : { prompt: 'Pay.' } }] }, 'Done.']);
  const deputy = ai.defineAgent({ name: 'deputy', description: 'Pays.', tools: [pay], model: model('pay') });
  const clerk = ai.defineAgent({ name: 'clerk', tools: [deputy], model: model('deputy') });
  const { id } = await clerk.start('Pay.', { by: 'ann' });
  await ai.runs.wait(id);
  const [asked] = (await ai.runs.requests({ runId: id })).items;
  await ai.runs.decide(asked as RunRequest, 'approve', { by: 'ben' });
  await ai.runs.settled();
  const [wait] = (await ai.runs.requests({ runId: id })).items;
  expect(wait).toMatchObject({ kind: 'recall', tool: 'pay' });
  expect(ran).toEqual([]);
  time += 10 * MINUTE;
  await ai.runs.drive(id);
  await ai.runs.settled();
  expect(ran).toEqual(['paid']);
  expect(await ai.runs.verify(id)).toMatchObject({ ok: true });
});
