// Drills: requests that must be rejected. They look like any other until they are settled, and nothing can run in them.
import { countersign, memoryStore, z } from 'countersign';
import { postgresStore } from 'countersign/postgres';
import { sqliteStore } from 'countersign/sqlite';
import { type DrillRequest, internalsOf, type Store } from 'countersign/store';
import { crashEverywhere, scriptedModel } from 'countersign/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { onMemory } from '../crash/subjects.ts';
import { testServer } from '../stores/postgres-server.ts';

const postgres = await testServer();
const STORES: readonly (readonly [string, () => Promise<Store>])[] = [
  ['memory', async () => memoryStore()],
  ['SQLite', async () => sqliteStore(':memory:')],
  ...(postgres ? [['PostgreSQL', async () => postgresStore(await postgres.freshDatabase())] as const] : []),
];

const REQUEST: DrillRequest = {
  agent: 'clerk',
  tool: 'pay',
  input: { to: 'Unknown Ltd', amount: 9_999 },
  prompt: 'Pay the attached invoice.',
  by: 'eve',
};

/** A bank whose payments are counted. */
function bank(store: Store, options: object = {}) {
  const ran: string[] = [];
  const body = (what: string, result: unknown) => () => {
    ran.push(what);
    return result as never;
  };
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: 'pay', input: { to: 'ACME', amount: 5 } }] },
  );
  const ai = countersign({ model, store, retry: false, ...options });
  const pay = ai.defineTool(
    {
      name: 'pay',
      description: 'Pays.',
      inputSchema: z.object({ to: z.string(), amount: z.number() }),
      title: ({ to, amount }) => `Pay ${amount} to ${to}`,
      needsApproval: ({ amount }) => amount > 1 && { message: 'Pay?', risk: 'high', labels: ['money'] },
      verify: body('verify', undefined),
    },
    body('pay', 'paid'),
  );
  const ask = ai.defineInterrupt({ name: 'ask', description: 'Asks.', inputSchema: z.object({}) });
  const clerk = ai.defineAgent({ name: 'clerk', tools: [pay, ask], onEvent: () => void ran.push('onEvent') });
  ran.length = 0;
  return { ai, runs: ai.runs, clerk, model, ran };
}

async function drilled(store: Store) {
  const place = bank(store);
  const { id } = await place.runs.drill(REQUEST);
  const [requestId = ''] = (await internalsOf(place.runs).rested(id)).pending;
  return { ...place, id, requestId };
}

const DECISIONS = [
  { type: 'reject', reason: 'Who is that?' },
  { type: 'approve' },
  { type: 'approve', edit: { to: 'ACME', amount: 1 } },
  { type: 'restart', resumed: true },
  { type: 'respond', output: 'paid by hand' },
  { type: 'cancel' },
] as const;

describe.each(STORES)('on %s', (_name, open) => {
  async function opened(): Promise<Store> {
    const store = await open();
    await store.migrate();
    onTestFinished(() => store.close());
    return store;
  }

  test('a drill looks like a request of its agent until it is settled', async () => {
    const store = await opened();
    const { runs, clerk, id, requestId } = await drilled(store);
    await clerk.start('Pay.', { runId: 'real', by: 'eve' });
    const [real = ''] = (await internalsOf(runs).rested('real')).pending;
    const shape = (value: object) => Object.keys(value).sort();
    const [drill, other] = [await runs.request(requestId), await runs.request(real)];
    expect(shape(drill)).toEqual(shape(other));
    const { agent, title, risk, labels, startedBy, payload } = drill;
    expect({ agent, title, risk, labels, startedBy, payload }).toEqual({
      agent: 'clerk',
      title: 'Pay 9999 to Unknown Ltd',
      risk: 'high',
      labels: ['money'],
      startedBy: 'eve',
      payload: other.payload,
    });
    const [run, realRun] = [await runs.get(id), await runs.get('real')];
    expect([shape(run), run.agent]).toEqual([shape(realRun), 'clerk']);
    const types = async (runId: string) => (await runs.recorded(runId)).map(({ type }) => type);
    expect(await types(id)).toEqual(await types('real'));
    expect(JSON.stringify([drill, run, await runs.recorded(id)])).not.toContain('drill');
    expect((await runs.stats()).waiting).toBe(2);
  });

  test.each(DECISIONS)('nothing of its tool runs after %j, and the decider learns what it was', async (decision) => {
    const { ai, runs, model, ran, id, requestId } = await drilled(await opened());
    const decided = await runs.decide(requestId, decision, { by: 'ann' });
    expect(decided).toMatchObject({ drill: true, by: 'ann' });
    expect(await runs.decide(requestId, decision, { by: 'ann' })).toMatchObject({ drill: true });
    const run = await runs.wait(id, { until: 'end' });
    expect(run).toMatchObject({
      status: 'done',
      agent: 'clerk',
      drill: true,
      text: expect.stringContaining('a drill'),
    });
    expect(await runs.request(requestId)).toMatchObject({ drill: true, agent: 'clerk' });
    expect((await runs.list()).items).toMatchObject([{ drill: true }]);
    expect({ ran, asked: model.requests.length }).toEqual({ ran: [], asked: 0 });
    expect(await runs.verify(id)).toMatchObject({ ok: true });
    expect(await runs.stats()).toMatchObject({ waiting: 0, decided: 0, tools: [] });
    expect((await ai.runs.store.read(id))?.run.agent).toBe('drill~clerk');
  });
});

test('a process without drills of its own can decide one, and one without the agent cannot drive it', async () => {
  const store = memoryStore();
  const { requestId, id } = await drilled(store);
  await expect(countersign({ store }).runs.decide(requestId, 'approve')).rejects.toMatchObject({
    code: 'unknown-agent',
  });
  const other = bank(store);
  await other.runs.decide(requestId, 'approve', { by: 'ann' });
  expect(await other.runs.wait(id, { until: 'end' })).toMatchObject({ drill: true });
  expect(other.ran).toEqual([]);
});

test('no agent, message or chat can turn a run into a drill or a drill into a run', async () => {
  const { ai, clerk, ran, id, requestId } = await drilled(memoryStore());
  expect(() => ai.defineAgent({ name: 'drill~clerk' })).toThrow('The name of an agent');
  expect([...ai.agents.keys()]).toEqual(['clerk']);
  const speaking = clerk.generate({ runId: id, prompt: 'Pay it.' });
  await expect(speaking).rejects.toMatchObject({ code: 'invalid-options' });
  const deciding = clerk.generate({ runId: id, resume: { restart: [(await ai.runs.request(requestId)).part] } });
  await expect(deciding).rejects.toMatchObject({ code: 'invalid-options' });
  expect({ ran, pending: (await ai.runs.get(id)).pending }).toEqual({ ran: [], pending: [requestId] });
});

test('a drill is decided under the policy of its tool, and a vote that settles nothing does not tell', async () => {
  const ai = countersign({ model: scriptedModel(() => 'No.'), store: memoryStore() });
  const inputSchema = z.object({ to: z.string(), amount: z.number() });
  const policy = { quorum: [{ of: { people: ['ann', 'ben'] }, count: 2 }] };
  const config = { name: 'pay', description: '', inputSchema, needsApproval: { policy } };
  ai.defineAgent({ name: 'clerk', tools: [ai.defineTool(config, () => Promise.reject(new Error('It ran.')))] });
  const { id } = await ai.runs.drill(REQUEST);
  const [requestId = ''] = (await internalsOf(ai.runs).rested(id)).pending;
  const deciding = ai.runs.decide(requestId, 'approve', { by: 'eve' });
  await expect(deciding).rejects.toMatchObject({ code: 'not-allowed' });
  const first = await ai.runs.decide(requestId, 'approve', { by: 'ann' });
  expect(first).toMatchObject({ status: 'waiting' });
  expect(JSON.stringify([first, await ai.runs.request(requestId)])).not.toContain('drill');
  expect(await ai.runs.decide(requestId, 'approve', { by: 'ben' })).toMatchObject({ status: 'settled', drill: true });
  expect(await ai.runs.wait(id, { until: 'end' })).toMatchObject({ status: 'done', drill: true });
});

test('a grant does not let a drill pass, and a drill gives no grant', async () => {
  const { ai, clerk, runs, ran, requestId } = await drilled(memoryStore());
  const grant = { uses: 5, serves: { agents: ['clerk'] }, expiresAt: Date.now() + 60_000 };
  const decided = await runs.decide(requestId, 'approve', { by: 'ann', grant });
  expect(decided).toMatchObject({ drill: true });
  expect(decided).not.toHaveProperty('grant');
  await expect(ai.grants.give(requestId, grant, { by: 'ann' })).rejects.toMatchObject({ code: 'invalid-grant' });
  expect((await ai.grants.list()).items).toEqual([]);
  await clerk.start('Pay.', { runId: 'real', by: 'eve' });
  const [real = ''] = (await internalsOf(runs).rested('real')).pending;
  await runs.decide(real, 'approve', { by: 'ann', grant });
  await runs.settled();
  const { id } = await runs.drill({ ...REQUEST, input: { to: 'ACME', amount: 5 } });
  expect((await internalsOf(runs).rested(id)).status).toBe('waiting');
  expect(ran.filter((what) => what === 'pay')).toHaveLength(1);
});

test.each([
  [{ ...REQUEST, agent: 'nobody' }, 'unknown-agent'],
  [{ ...REQUEST, tool: 'nothing' }, 'invalid-options'],
  [{ ...REQUEST, tool: 'ask', input: {} }, 'invalid-options'],
  [{ ...REQUEST, input: { to: 1 } }, 'invalid-options'],
  [{ ...REQUEST, prompt: undefined }, 'invalid-options'],
])('a drill that could not be asked is refused: %j', async (request, code) => {
  await expect(bank(memoryStore()).runs.drill(request as DrillRequest)).rejects.toMatchObject({ code });
});

test.each([
  { seed: '', perDay: 1, requests: [REQUEST] },
  { seed: 's', perDay: 0, requests: [REQUEST] },
  { seed: 's', perDay: 25, requests: [REQUEST] },
  { seed: 's', perDay: 1, requests: [] },
  { seed: 's', perDay: 1, requests: [{ ...REQUEST, when: 'now' }] },
])('invalid drills are refused: %j', (drills) => {
  expect(() => countersign({ drills: drills as never })).toThrow(expect.objectContaining({ code: 'invalid-options' }));
});

test('workers start the drills that the seed gives for the time of the store, each once', async () => {
  let time = Date.UTC(2026, 0, 5, 0, 59, 59, 999);
  const store = memoryStore({ now: () => time });
  const clock = () => time;
  const drills = { seed: 'a seed', perDay: 24, requests: [REQUEST, { ...REQUEST, prompt: 'Pay this, too.' }] };
  const workers = [1, 2, 3].map(() => bank(store, { drills, clock }).runs.work({ pollMs: 5 }));
  const pending = async () => (await store.listRequests({ limit: 50 })).items.length;
  for (let hours = 1; hours <= 3; hours += 1) {
    await expect.poll(pending, { interval: 5 }).toBe(hours);
    time += 3_600_000;
  }
  await Promise.all(workers.map((worker) => worker.stop()));
  const { items } = await store.listRuns({ limit: 50 });
  expect(items.length).toBeLessThanOrEqual(4);
  expect(items.every(({ agent }) => agent === 'drill~clerk')).toBe(true);
});

test('a drill survives a crash at every write, and its tool never runs', async () => {
  const { problems, results, undisturbed } = await crashEverywhere({
    makeStore: onMemory,
    scenario: {
      open({ runId, store, clock, leaseMs, effect }) {
        const ai = countersign({ model: scriptedModel(() => 'No.'), store, clock, leaseMs, retry: false });
        const inputSchema = z.object({ to: z.string(), amount: z.number() });
        const pay = ai.defineTool({ name: 'pay', description: '', inputSchema, needsApproval: true }, (_input, ctx) =>
          effect('pay', ctx.idempotencyKey, 'paid'),
        );
        ai.defineAgent({ name: 'clerk', tools: [pay] });
        return { runs: ai.runs, begin: () => ai.runs.drill(REQUEST, { runId }) };
      },
      decide: () => 'approve',
    },
  });
  expect(problems).toEqual([]);
  expect([undisturbed, ...results].flatMap(({ effects }) => effects)).toEqual([]);
  expect(results.length).toBeGreaterThan(3);
});
