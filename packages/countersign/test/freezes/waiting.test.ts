// What waited for a freeze: old approvals are asked about again, grants and rules do not pass, and restored stores start frozen.
import { copyFileSync } from 'node:fs';
import { memoryStore, z } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { expect, onTestFinished, test, vi } from 'vitest';
import { temporaryFolder } from '../stores/folder.ts';
import { openBank } from './kit.ts';

const ACT = { by: 'eve' } as const;
const HACKED = { reason: 'The mailbox was hacked.' };

test('an approval that is older than its policy allows is asked about again', async () => {
  let now = 1_000_000;
  const clock = () => now;
  const rules = [{ tool: 'pay', policy: { deciders: { people: ['bob'] }, validFor: '2h' } }] as const;
  const { ai, ran, start, approveAll, requestIds } = openBank(memoryStore({ now: clock }), { clock, rules });
  const freeze = await ai.freezes.freeze(HACKED, ACT);
  const runs = [await start([['pay', { amount: 1 }]]), await start([['pay', { amount: 2 }]])];
  await approveAll(runs[0]?.id ?? '');
  now += 2 * 3_600_000 - 1_000;
  await approveAll(runs[1]?.id ?? '');
  now += 2_000;
  await ai.freezes.lift(freeze.id, ACT);
  for (const { id } of runs) await ai.runs.wait(id);
  expect(ran).toEqual(['pay {"amount":2}']);
  expect(await requestIds(runs[0]?.id ?? '')).toHaveLength(1);
  expect((await approveAll(runs[0]?.id ?? '')).status).toBe('done');
  expect(ran).toHaveLength(2);
});

test('a call from outside is answered as frozen, is not granted a start, and starts once the freeze is lifted', async () => {
  const { ai, look, ran } = openBank(memoryStore(), { rules: [{ tool: 'look', then: 'allow' }] });
  const { id, at } = await ai.freezes.freeze(HACKED, ACT);
  const gate = ai.gate(look);
  const call = { key: 'one' };
  expect((await gate.request({ at: 'it' }, { ...call, by: 'ann' })).status).toBe('approved');
  const frozen = { status: 'approved', frozen: { id, at, by: 'eve', ...HACKED } };
  expect(await gate.start(call, { token: 'secret' })).toMatchObject(frozen);
  expect(await gate.request({ at: 'it' }, { ...call, by: 'ann', run: true })).toMatchObject(frozen);
  const waiting = gate.run({ at: 'it' }, { key: 'two', by: 'ann' });
  await expect.poll(async () => (await gate.read({ key: 'two' }).catch(() => undefined))?.status).toBe('approved');
  await ai.freezes.lift(id, ACT);
  expect((await waiting).status).toBe('done');
  expect(ran).toEqual(['look {"at":"it"}']);
  expect(await gate.start(call, { token: 'secret' })).toMatchObject({ status: 'granted' });
  const again = await ai.freezes.freeze(HACKED, ACT);
  expect(again.running).toMatchObject([{ tool: 'look', startedBy: 'ann' }]);
  expect(await gate.finish(call, 'secret', { output: 'seen' })).toMatchObject({ status: 'done' });
});

test('a worker continues a run whose freeze was lifted by a process that died in the middle', async () => {
  const store = memoryStore();
  const worker = openBank(store);
  const dying = openBank(dyingAfterLift(store));
  const { id } = await worker.ai.freezes.freeze(HACKED, ACT);
  const run = await worker.start([['look', {}]]);
  await expect(dying.ai.freezes.lift(id, ACT)).rejects.toThrow('The process died.');
  expect([await worker.ai.freezes.list(), (await worker.ai.runs.get(run.id)).status]).toEqual([[], 'waiting']);
  const working = worker.ai.runs.work({ pollMs: 10 });
  onTestFinished(() => void working.stop());
  const now = performance.now.bind(performance);
  const ahead = vi.spyOn(performance, 'now').mockImplementation(() => now() + 40_000);
  onTestFinished(() => ahead.mockRestore());
  await expect.poll(() => worker.ran).toEqual(['look {}']);
  await expect.poll(async () => (await worker.ai.runs.get(run.id)).status).toBe('done');
});

/** A store of a process that dies before it looks for frozen runs. */
function dyingAfterLift(store: ReturnType<typeof memoryStore>): ReturnType<typeof memoryStore> {
  const bound = (object: object, instead: object = {}): any =>
    new Proxy(object, {
      get(target, name) {
        const value = Reflect.get(Object.hasOwn(instead, name) ? instead : target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  const list = async () => Promise.reject(new Error('The process died.'));
  return bound(store, { notes: bound(store.notes, { list }) });
}

test('a freeze that ends while the start of a sub-agent call is judged by it keeps nothing', async () => {
  const store = memoryStore();
  const { ai, ran, start, types } = openBank(liftedAtFirstJudgement(store));
  await ai.freezes.freeze({ tools: ['look'], ...HACKED }, ACT);
  const run = await start([['helper', { prompt: JSON.stringify([['look', {}]]) }]]);
  expect(run.status).toBe('done');
  expect(ran).toEqual(['look {}']);
  expect((await types(run.id)).length).toBeLessThan(20);

  /** Someone lifts the freeze after the start was judged by it, and before that is recorded. */
  function liftedAtFirstJudgement(own: ReturnType<typeof memoryStore>) {
    let isLifted = false;
    const append: typeof own.append = async (given) => {
      if (!isLifted && JSON.stringify(given.events).includes('call-frozen')) {
        isLifted = true;
        const { ai: other } = openBank(own);
        for (const { id } of await other.freezes.list()) await other.freezes.lift(id, { ...ACT, drive: false });
      }
      return own.append(given);
    };
    return { ...own, append };
  }
});

test.each([
  ['an idempotent call', 'fetch', {}],
  ['a sub-agent', 'inner', { prompt: '[["fetch", {}]]' }],
] as const)(
  '%s that its process left in the middle is continued once, after the freeze is lifted',
  async (_name, tool, input) => {
    let now = 1_000_000;
    const store = memoryStore({ now: () => now });
    let isDead = false;
    const open = (own: typeof store, body: () => Promise<string>) => {
      const { ai } = openBank(own, { clock: () => now, leaseMs: 1_000 });
      const fetch = ai.defineTool(
        { name: 'fetch', description: 'Reads.', inputSchema: z.any(), idempotent: true },
        body,
      );
      const inner = ai.defineAgent({ name: 'inner', tools: [fetch] });
      return { ai, outer: ai.defineAgent({ name: 'outer', tools: [fetch, inner] }) };
    };
    let begun = (): void => undefined;
    const isBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const dying = new Proxy(store, {
      get: (own, name) => {
        const value = Reflect.get(own, name);
        if (typeof value !== 'function') return value;
        return (...given: never[]) => (isDead ? new Promise(() => undefined) : Reflect.apply(value, own, given));
      },
    });
    const first = open(dying, () => {
      begun();
      return new Promise(() => undefined);
    });
    const { id } = await first.outer.start(JSON.stringify([[tool, input]]), { by: 'ann' });
    await isBegun;
    isDead = true;
    let bodies = 0;
    const { ai } = open(store, async () => `${++bodies}`);
    const freeze = await ai.freezes.freeze(HACKED, ACT);
    now += 60_000;
    const worker = ai.runs.work({ pollMs: 5 });
    onTestFinished(() => void worker.stop());
    await expect.poll(async () => JSON.stringify(await ai.runs.recorded(id))).toContain('call-frozen');
    await expect.poll(async () => (await ai.runs.get(id)).status).toBe('waiting');
    expect((await ai.runs.recorded(id)).length).toBeLessThan(20);
    expect(bodies).toBe(0);
    await ai.freezes.lift(freeze.id, ACT);
    await expect.poll(async () => (await ai.runs.get(id)).status).toBe('done');
    expect(bodies).toBe(1);
  },
);

test('a grant does not let a frozen call pass', async () => {
  const { ai, ran, start, requestIds } = openBank(memoryStore());
  const { id } = await start([['pay', { amount: 1 }]]);
  const [requestId = ''] = await requestIds(id);
  const grant = { uses: 5, expiresAt: Date.now() + 3_600_000 };
  await ai.runs.decide(requestId, 'approve', { by: 'bob', grant });
  await ai.runs.wait(id);
  const freeze = await ai.freezes.freeze({ tools: ['pay'], ...HACKED }, ACT);
  const next = await start([['pay', { amount: 2 }]]);
  expect([next.status, ran.length]).toEqual(['waiting', 1]);
  await ai.freezes.lift(freeze.id, ACT);
  expect((await ai.runs.wait(next.id)).status).toBe('done');
  expect(ran).toHaveLength(2);
});

test('a store that was restored from a backup starts frozen, until a person has lifted that', async () => {
  const { path } = temporaryFolder();
  const [file, backup] = [`${path}/runs.db`, `${path}/backup.db`];
  const first = sqliteStore(file);
  expect((await openBank(first).start([['look', {}]])).status).toBe('done');
  await first.close();
  copyFileSync(file, backup);
  const same = sqliteStore(file);
  expect((await openBank(same).start([['look', {}]])).status).toBe('done');
  await same.close();
  const restored = sqliteStore(backup);
  const { ai, ran, start } = openBank(restored);
  const run = await start([['look', {}]]);
  expect([run.status, ran]).toEqual(['waiting', []]);
  const [freeze, ...more] = await ai.freezes.list();
  expect([freeze, more]).toMatchObject([{ by: null, reason: expect.stringContaining('restored') }, []]);
  await ai.freezes.lift(freeze?.id ?? '', ACT);
  expect((await ai.runs.wait(run.id)).status).toBe('done');
  await restored.close();
  const again = sqliteStore(backup);
  expect(await openBank(again).ai.freezes.list()).toEqual([]);
  await again.close();
});
