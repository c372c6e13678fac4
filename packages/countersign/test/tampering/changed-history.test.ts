// A history that was changed in the store is detected, and nothing acts on it.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Countersign, countersign, memoryStore, z } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { internalsOf } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { afterAll, describe, expect, test } from 'vitest';
import { linkAll } from '../../src/runs/port/chain.ts';
import { eventually } from '../eventually.ts';

const folder = mkdtempSync(join(tmpdir(), 'countersign-tampered-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let made = 0;

function bank(ai: Countersign, paid: number[]) {
  const pay = ai.defineTool(
    { name: 'pay', description: '', inputSchema: z.object({ amount: z.number() }), needsApproval: true },
    ({ amount }) => {
      paid.push(amount);
      return 'paid';
    },
  );
  // Another agent that gives the same calls another meaning.
  ai.defineAgent({ name: 'other', tools: [pay] });
  return ai.defineAgent({ name: 'clerk', tools: [pay] });
}

const pays = () =>
  scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: 'pay', input: { amount: 5 } }] },
  );

/** Two runs that wait for an approval, in a file that anyone can edit. */
async function waiting() {
  made += 1;
  const path = join(folder, `${made}.db`);
  const store = sqliteStore(path);
  const paid: number[] = [];
  const ai = countersign({ model: pays(), store, retry: false });
  const clerk = bank(ai, paid);
  await clerk.start('Pay.', { runId: 'one', by: 'ann' });
  await clerk.start('Pay.', { runId: 'two', by: 'bob' });
  await ai.runs.settled();
  const { id } = (await ai.runs.requests({ runId: 'one' })).items[0] ?? { id: '' };
  const file = new DatabaseSync(path);
  return { ai, clerk, paid, id, file, close: () => [file.close(), store.close()] };
}

const EVENTS =
  "UPDATE countersign_event SET events = replace(events, %) WHERE run_seq = (SELECT seq FROM countersign_run WHERE id = 'one')";
const change = (from: string, to: string): string => EVENTS.replace('%', `'${from}', '${to}'`);

const changes: readonly (readonly [string, string])[] = [
  ['the amount', change('"amount":5', '"amount":9')],
  ['the tool', change('"name":"pay"', '"name":"give"')],
  ['what the user said', change('Pay.', 'Pay all.')],
  ['when it happened', change('"at":1', '"at":2')],
  ['a question that was not asked', change('"approval"', '"doubt"')],
  ['how many events came together', change('"appended":3', '"appended":2')],
  ['an event more', change('}]', '},{"v":1,"type":"run-ended","reason":"stop","at":1}]')],
  ['the agent', "UPDATE countersign_run SET agent = 'other' WHERE id = 'one'"],
  ['who started it', "UPDATE countersign_run SET started_by = 'eve' WHERE id = 'one'"],
  ['no events', "DELETE FROM countersign_event WHERE run_seq = (SELECT seq FROM countersign_run WHERE id = 'one')"],
  ['the hash', "UPDATE countersign_run SET hash = 'AAAAAAAAAAAAAAAAAAAAAA' WHERE id = 'one'"],
  ['the version', "UPDATE countersign_run SET version = version + 1 WHERE id = 'one'"],
  [
    'the events of another run, with their hash',
    `UPDATE countersign_event SET events = (SELECT e.events FROM countersign_event e JOIN countersign_run r
       ON r.seq = e.run_seq WHERE r.id = 'two') WHERE run_seq = (SELECT seq FROM countersign_run WHERE id = 'one');
     UPDATE countersign_run SET hash = (SELECT hash FROM countersign_run WHERE id = 'two') WHERE id = 'one'`,
  ],
];

describe.each(changes)('after a change of the record: %s', (_name, sql) => {
  test.each([
    ['decide', ({ ai, id }) => ai.runs.decide(id, 'approve')],
    ['resume', ({ ai }) => internalsOf(ai.runs).resume('one', { approve: [] })],
    ['speak in the chat', ({ clerk }) => clerk.chat({ runId: 'one' }).send('Go on.')],
  ] as const satisfies readonly (readonly [
    string,
    (given: Awaited<ReturnType<typeof waiting>>) => Promise<unknown>,
  ])[])('an attempt to %s is rejected, and nothing runs', async (_what, act) => {
    const given = await waiting();
    given.file.exec(sql);
    await expect(act(given)).rejects.toMatchObject({ name: 'ConflictError', code: 'tampered-run' });
    expect(await given.ai.runs.verify('one')).toMatchObject({ ok: false });
    expect(await given.ai.runs.verify('two')).toMatchObject({ ok: true });
    await given.ai.runs.settled();
    expect(given.paid).toEqual([]);
    given.close();
  });

  test('the run is not driven', async () => {
    const given = await waiting();
    given.file.exec(sql);
    given.file.exec("UPDATE countersign_run SET status = 'running', due_at = 1 WHERE id = 'one'");
    await expect(given.ai.runs.drive('one')).rejects.toMatchObject({ code: 'tampered-run' });
    await given.ai.runs.settled();
    expect(given.paid).toEqual([]);
    given.close();
  });
});

describe.each([
  ['was deleted', "DELETE FROM countersign_request WHERE run_id = 'one'"],
  ['was settled', "UPDATE countersign_request SET settled_at = 1, settlement = '{}' WHERE run_id = 'one'"],
  ['is of another run', "UPDATE countersign_request SET run_id = 'two' WHERE run_id = 'one'"],
])('a question whose row %s', (_name, sql) => {
  test.each([
    ['decide', ({ ai, id }) => ai.runs.decide(id, 'approve')],
    ['cancel', ({ ai }) => ai.runs.cancel('one')],
    ['speak in the chat', ({ clerk }) => clerk.chat({ runId: 'one' }).send('Go on.')],
  ] as const satisfies readonly (readonly [
    string,
    (given: Awaited<ReturnType<typeof waiting>>) => Promise<unknown>,
  ])[])('rejects an attempt to %s with advice, not as an internal error', async (_what, act) => {
    const given = await waiting();
    given.file.exec(sql);
    const message = expect.stringMatching(new RegExp(`the question ${given.id} is pending.*Restore the row`));
    await expect(act(given)).rejects.toMatchObject({ name: 'ConflictError', code: 'tampered-run', message });
    await given.ai.runs.settled();
    expect(given.paid).toEqual([]);
    given.close();
  });
});

test('a deadline that cannot be recorded does not grow the record with each try', async () => {
  const path = join(folder, 'deadline.db');
  let now = 1_000_000;
  const store = sqliteStore({ path, now: () => now });
  let tries = 0;
  const counted: typeof store = new Proxy(store, {
    get: (of, name) => {
      const own = Reflect.get(of, name, of);
      if (typeof own !== 'function') return own;
      return (...given: unknown[]) => {
        if (name === 'claim') tries += 1;
        return own.apply(of, given);
      };
    },
  });
  const ai = countersign({ model: pays(), store: counted, clock: () => now, retry: false });
  const needsApproval = () => ({ expiresIn: 1_000 });
  const inputSchema = z.object({ amount: z.number() });
  const pay = ai.defineTool({ name: 'pay', description: '', inputSchema, needsApproval }, () => 'paid');
  await ai.defineAgent({ name: 'clerk', tools: [pay] }).start('Pay.', { runId: 'one' });
  await ai.runs.settled();
  const file = new DatabaseSync(path);
  file.exec('DELETE FROM countersign_request');
  now += 2_000;
  const worker = ai.runs.work({ pollMs: 1 });
  await eventually(() => expect(tries).toBeGreaterThan(5));
  await worker.stop();
  expect(await ai.runs.get('one')).toMatchObject({ status: 'failed', error: { code: 'tampered-run' } });
  const { events = [] } = (await store.read('one')) ?? {};
  expect(events.filter(({ type }) => type === 'run-failed')).toHaveLength(1);
  file.close();
  await store.close();
});

test('events recorded by others while a tool runs are accepted only if they continue the known chain', async () => {
  const gate = Promise.withResolvers<void>();
  const store = memoryStore();
  const ran: string[] = [];
  const model = scriptedModel(({ messages }) =>
    messages.some(({ role }) => role === 'tool')
      ? 'Done.'
      : {
          calls: [
            { name: 'wait', input: {} },
            { name: 'pay', input: {} },
          ],
        },
  );
  const ai = countersign({ model, store, retry: false });
  const wait = ai.defineTool({ name: 'wait', description: '' }, async () => {
    await gate.promise;
    return 'waited';
  });
  const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true }, () => {
    ran.push('pay');
    return 'paid';
  });
  const clerk = ai.defineAgent({ name: 'clerk', tools: [wait, pay] });
  const { id } = await clerk.start('Go.');
  await eventually(async () => expect((await ai.runs.requests()).items).toHaveLength(1));
  // A writer with access to the store who does not know how the chain is computed.
  const read = store.read.bind(store);
  const { run, events } = (await read(id)) ?? { run: { version: 0, hash: '' }, events: [] };
  const [callId = ''] = events.flatMap((event) => (event.type === 'call-interrupted' ? [event.callId] : []));
  const decision = { type: 'approve' } as const;
  const forged = { v: 1, type: 'decision-made', callId, requestId: callId, decision, resumed: true, at: 1 } as const;
  await store.append({
    runId: id,
    expectedVersion: run.version,
    events: [forged],
    hash: linkAll(`${run.hash}?`, [forged]),
    status: 'running',
    wakeAt: null,
    outcome: null,
    opened: [],
    settled: [],
  });
  gate.resolve();
  await ai.runs.settled();
  expect(ran).toEqual([]);
  expect(await ai.runs.verify(id)).toMatchObject({ ok: false });
});

test.each(['max', 'min'])('events of a run whose %s row was removed report it, and repeat nothing', async (which) => {
  const path = join(folder, `rows-${which}.db`);
  const store = sqliteStore(path);
  const model = scriptedModel([
    { calls: [{ name: 'look', input: {} }] },
    { calls: [{ name: 'look', input: {} }] },
    'Done.',
  ]);
  const ai = countersign({ model, store, retry: false });
  const look = ai.defineTool({ name: 'look', description: '' }, async () => {
    await new Promise(setImmediate);
    return 'seen';
  });
  const { id } = await ai.defineAgent({ name: 'clerk', tools: [look] }).start('Look.');
  await ai.runs.wait(id, { until: 'end' });
  const database = new DatabaseSync(path);
  database.exec(`DELETE FROM countersign_event WHERE seq = (SELECT ${which}(seq) FROM countersign_event)`);
  database.close();
  const seen: unknown[] = [];
  const following = (async () => {
    for await (const event of ai.runs.events(id)) seen.push(event);
  })();
  await expect(following).rejects.toMatchObject({ code: 'tampered-run' });
  expect(seen).toEqual([]);
  await store.close();
});
