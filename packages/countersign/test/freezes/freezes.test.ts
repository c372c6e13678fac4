// Freezes: a covered call does not start, whatever lets it run, until enough people have lifted the freeze.
import { memoryStore, z } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../stores/folder.ts';
import { openBank } from './kit.ts';

const ACT = { by: 'eve' } as const;
const HACKED = { reason: 'The mailbox was hacked.' };

const STORES = {
  memory: () => memoryStore(),
  SQLite: () => sqliteStore(`${temporaryFolder().path}/runs.db`),
};

describe.each(Object.entries(STORES))('a freeze on %s', (_name, open) => {
  test('an approved call waits and says so, and goes on once the freeze is lifted', async () => {
    const { ai, ran, start, requestIds, approveAll, types } = openBank(open());
    const { id } = await start([['pay', { amount: 1 }]]);
    const freeze = await ai.freezes.freeze({ tools: ['pay'], ...HACKED }, ACT);
    expect(freeze).toMatchObject({ tools: ['pay'], by: 'eve', ...HACKED, lifted: null, running: [] });
    const [requestId = ''] = await requestIds(id);
    const run = await approveAll(id);
    expect([run.status, ran]).toEqual(['waiting', []]);
    expect((await ai.runs.recorded(id)).at(-1)).toMatchObject({
      type: 'call-frozen',
      freeze: { id: freeze.id, by: 'eve', at: freeze.at, ...HACKED },
    });
    expect((await ai.runs.request(requestId)).outcome).toMatchObject({ state: 'frozen', ...HACKED, by: 'eve' });
    expect(await ai.freezes.list()).toMatchObject([{ id: freeze.id }]);
    expect(await ai.freezes.lift(freeze.id, ACT)).toMatchObject({ lifted: { by: 'eve' }, missing: [] });
    expect((await ai.runs.wait(id)).status).toBe('done');
    expect(ran).toEqual(['pay {"amount":1}']);
    expect((await ai.runs.request(requestId)).outcome).toMatchObject({ state: 'done' });
    expect(await types(id)).toEqual([
      ...['user-spoke', 'model-replied', 'call-interrupted', 'decision-made', 'call-frozen', 'run-unfrozen'],
      ...['call-started', 'call-settled', 'model-replied'],
    ]);
    expect(await ai.freezes.list()).toEqual([]);
    expect(await ai.freezes.list({ lifted: true })).toMatchObject([{ id: freeze.id, votes: [{ by: 'eve' }] }]);
    expect(await ai.freezes.lift(freeze.id, ACT)).toMatchObject({ lifted: { by: 'eve' } });
    expect((await ai.runs.verify(id)).ok).toBe(true);
  });

  test('a call that asks nobody waits too, and its siblings that are not covered run', async () => {
    const { ai, ran, start } = openBank(open());
    const { id } = await ai.freezes.freeze({ tools: ['look'], ...HACKED }, ACT);
    const run = await start([
      ['look', { at: 'it' }],
      ['helper', { prompt: '[]' }],
    ]);
    expect([run.status, ran]).toEqual(['waiting', []]);
    await ai.freezes.lift(id, ACT);
    expect((await ai.runs.wait(run.id)).status).toBe('done');
    expect(ran).toEqual(['look {"at":"it"}']);
  });

  test('a call inside a sub-agent waits, and so does its run', async () => {
    const { ai, ran, start, types } = openBank(open());
    const { id } = await ai.freezes.freeze({ tools: ['l*k'], ...HACKED }, ACT);
    const plan = JSON.stringify([['look', { at: 'it' }]]);
    const run = await start([['helper', { prompt: plan }]]);
    expect([run.status, ran]).toEqual(['waiting', []]);
    expect((await types(run.id)).at(-1)).toBe('call-held');
    await ai.freezes.lift(id, ACT);
    expect((await ai.runs.wait(run.id)).status).toBe('done');
    expect(ran).toEqual(['look {"at":"it"}']);
    expect((await ai.runs.verify(run.id)).ok).toBe(true);
  });

  test('a call inside a sub-agent goes on even if the freeze ends while a call beside it waits for a person', async () => {
    const { ai, ran, start, approveAll } = openBank(open());
    const { id } = await ai.freezes.freeze({ tools: ['look'], ...HACKED }, ACT);
    const calls = [
      ['look', {}],
      ['pay', {}],
    ];
    const run = await start([['helper', { prompt: JSON.stringify(calls) }]]);
    await ai.freezes.lift(id, ACT);
    expect((await approveAll(run.id)).status).toBe('done');
    expect(ran.toSorted()).toEqual(['look {}', 'pay {}']);
  });

  test('a call inside a sub-agent goes on even if the freeze ends while a call beside it runs', async () => {
    const { ai, ran, look } = openBank(open());
    let finish = (): void => undefined;
    const running = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const slow = ai.defineTool({ name: 'slow', description: 'Waits.', inputSchema: z.any() }, () => running);
    const inner = ai.defineAgent({ name: 'inner', tools: [slow, look] });
    const outer = ai.defineAgent({ name: 'outer', tools: [inner] });
    const freeze = await ai.freezes.freeze({ tools: ['look'], ...HACKED }, ACT);
    const calls = JSON.stringify([
      ['look', {}],
      ['slow', {}],
    ]);
    const { id } = await outer.start(JSON.stringify([['inner', { prompt: calls }]]));
    await expect.poll(async () => JSON.stringify(await ai.runs.recorded(id))).toContain('call-frozen');
    await ai.freezes.lift(freeze.id, ACT);
    finish();
    expect((await ai.runs.wait(id, { timeoutMs: 10_000 })).status).toBe('done');
    expect(ran).toEqual(['look {}']);
  });

  test('an approved call inside a sub-agent waits, and runs once', async () => {
    const { ai, ran, start, approveAll } = openBank(open());
    const inner = JSON.stringify([
      ['pay', { amount: 1 }],
      ['look', { at: 'it' }],
    ]);
    const { id } = await start([['helper', { prompt: inner }]]);
    const freeze = await ai.freezes.freeze({ agents: ['helper'], ...HACKED }, ACT);
    expect((await approveAll(id)).status).toBe('waiting');
    expect(ran).toEqual(['look {"at":"it"}']);
    await ai.freezes.lift(freeze.id, ACT);
    expect((await ai.runs.wait(id)).status).toBe('done');
    expect(ran).toEqual(['look {"at":"it"}', 'pay {"amount":1}']);
  });

  test.each([
    [{ tools: ['pay'] }, 'pay', 'ann', true],
    [{ tools: ['look', 'p*'] }, 'pay', 'ann', true],
    [{ tools: ['look'] }, 'pay', 'ann', false],
    [{ agents: ['clerk'] }, 'look', 'ann', true],
    [{ agents: ['helper'] }, 'look', 'ann', false],
    [{ people: ['ann'] }, 'look', 'ann', true],
    [{ people: ['ann'] }, 'look', 'zoe', false],
    [{ tools: ['pay'], people: ['zoe'] }, 'pay', 'ann', false],
    [{ tools: [] }, 'look', 'ann', false],
    [{}, 'look', 'ann', true],
  ])('%j covers %s of %s: %s', async (match, tool, by, isCovered) => {
    const { ai, ran, start, approveAll } = openBank(open());
    await ai.freezes.freeze({ ...match, ...HACKED }, ACT);
    const { id } = await start([[tool, {}]], by);
    await approveAll(id);
    expect(ran.length).toBe(isCovered ? 0 : 1);
  });

  test('a call that two freezes cover waits until both are lifted', async () => {
    const { ai, ran, start } = openBank(open());
    const one = await ai.freezes.freeze({ tools: ['look'], ...HACKED }, ACT);
    const other = await ai.freezes.freeze({ people: ['ann'], ...HACKED }, ACT);
    const { id } = await start([['look', {}]]);
    await ai.freezes.lift(one.id, ACT);
    expect([(await ai.runs.wait(id)).status, ran]).toEqual(['waiting', []]);
    await ai.freezes.lift(other.id, ACT);
    expect([(await ai.runs.wait(id)).status, ran.length]).toEqual(['done', 1]);
  });

  test('another process that knows no freeze starts nothing, and continues what another one lifts', async () => {
    const store = open();
    const here = openBank(store);
    // Notes of its own, as another process has.
    const elsewhere = openBank({ ...wrapped(store) });
    expect((await elsewhere.start([['look', {}]])).status).toBe('done');
    const { id } = await here.ai.freezes.freeze(HACKED, ACT);
    const run = await elsewhere.start([['look', { at: 'two' }]]);
    expect([run.status, elsewhere.ran.length]).toEqual(['waiting', 1]);
    await here.ai.freezes.lift(id, ACT);
    expect((await here.ai.runs.wait(run.id)).status).toBe('done');
    expect((await elsewhere.start([['look', { at: 'three' }]])).status).toBe('done');
  });
});

/** The same store with other notes objects, so that no cache is shared. */
function wrapped(store: ReturnType<typeof memoryStore>): ReturnType<typeof memoryStore> {
  const bound = (object: object): any =>
    new Proxy(object, {
      get(target, name) {
        const value = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  const notes = bound(store.notes);
  return new Proxy(store, {
    get(target, name) {
      if (name === 'notes') return notes;
      const value = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
