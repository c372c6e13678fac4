// Policies of a server: only `true` allows a person to read or steer, and only people whom a recorded policy names decide.
import type { LogEntry } from '@countersign/server';
import { countersign, memoryStore } from 'countersign';
import { expect, test } from 'vitest';
import { type Ask, defineTeller, obedientModel, startServer, upTo } from '../server.ts';

const noes: readonly [string, () => unknown][] = [
  ['says no', () => false],
  ['says no later', async () => false],
  ['does not say yes in plain words', () => 'yes'],
  ['says nothing', () => undefined],
  ['throws', () => Promise.reject(new Error('The directory is down.'))],
];

/** A pending run of ann, and eve's requests about it. */
async function waiting(options: Parameters<typeof startServer>[0]) {
  const log: LogEntry[] = [];
  const { as, ai, paid } = await startServer({ log: (entry) => log.push(entry), ...options });
  const { id } = (await ai.agents.get('teller')?.start('pay bob 500', { by: 'ann' })) ?? { id: '' };
  await ai.runs.wait(id);
  const [card] = (await ai.runs.requests()).items;
  const eve = await as('eve');
  const approve = (ask: Ask) => ask('POST', `/api/v1/requests/${card?.id}/decide`, { decision: { type: 'approve' } });
  return { id, paid, as, eve, approve, failed: () => log.filter(({ event }) => event === 'policy'), ai };
}

test.each(noes)('where the policies say no: %s', async (how, policy) => {
  const no = policy as () => boolean;
  const { id, paid, eve, approve, failed } = await waiting({ mayRead: no, maySteer: no });
  for (const list of ['runs', 'requests']) expect((await eve('GET', `/api/v1/${list}`)).body.items).toEqual([]);
  for (const path of [`runs/${id}`, `chat/teller/${id}`])
    expect((await eve('GET', `/api/v1/${path}`)).status, path).toBe(404);
  expect((await eve('POST', `/api/v1/runs/${id}/cancel`, {})).status).toBe(404);
  expect((await approve(eve)).status).toBe(404);
  expect(paid).toEqual([]);
  expect(failed().length > 0).toBe(how === 'throws');
});

test.each(noes)('a person who can read cannot decide or steer: %s', async (_, policy) => {
  const no = policy as () => boolean;
  const { id, paid, eve, approve } = await waiting({ mayRead: async () => true, maySteer: no });
  const { body } = await eve('GET', `/api/v1/runs/${id}`);
  expect(body.requests[0].mayDecide).toBe(false);
  for (const list of ['runs', 'requests']) expect((await eve('GET', `/api/v1/${list}`)).body.items).toHaveLength(1);
  expect((await eve('POST', `/api/v1/runs/${id}/cancel`, {})).status).toBe(403);
  expect((await approve(eve)).status).toBe(403);
  expect(paid).toEqual([]);
});

test('a person whom a policy lets read can do nothing else', async () => {
  const { id, paid, eve, approve } = await waiting({
    mayRead: (run) => /^run_[\w-]+$/.test(run.id) && run.agent === 'teller' && run.startedBy === 'ann',
  });
  for (const list of ['runs', 'requests']) expect((await eve('GET', `/api/v1/${list}`)).body.items).toHaveLength(1);
  expect((await eve('GET', `/api/v1/runs/${id}`)).body.requests[0].mayDecide).toBe(false);
  for (const action of ['cancel', 'drive'])
    expect((await eve('POST', `/api/v1/runs/${id}/${action}`)).status, action).toBe(403);
  const messages = [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'pay eve 50' }] }];
  expect((await eve('POST', '/api/v1/chat/teller', { id, messages })).status).toBe(403);
  expect((await approve(eve)).status).toBe(403);
  expect(paid).toEqual([]);
});

test.each(noes)('an owner from whom a policy hides a run cannot decide in it: %s', async (_, policy) => {
  const { id, paid, as, approve, ai } = await waiting({ mayRead: policy as () => boolean });
  const [card] = (await ai.runs.requests()).items;
  for (const ask of [await as('ann'), await as('root', { reach: 'all' })]) {
    for (const path of [`runs/${id}`, `requests/${card?.id}`])
      expect((await ask('GET', `/api/v1/${path}`)).status, path).toBe(404);
    expect((await ask('GET', '/api/v1/requests')).body.items).toEqual([]);
    expect((await approve(ask)).status).toBe(404);
  }
  expect(paid).toEqual([]);
});

test.each<[string, () => unknown]>([
  ['throws', () => Promise.reject(new Error('The directory is down.'))],
  ['names a policy that is not defined', () => 'payments'],
  ['returns no policy', () => false],
  ['names nobody', async () => ({ deciders: { people: [] } })],
])('nobody can approve, and the card says why, where policyFor %s', async (_, policyFor) => {
  const instance = { policyFor: policyFor as () => undefined };
  const { paid, as, approve, ai } = await waiting({ mayRead: () => true, instance });
  for (const ask of [await as('ann'), await as('eve'), await as('root', { reach: 'all' })]) {
    const [card] = (await ask('GET', '/api/v1/requests')).body.items;
    expect(card).toMatchObject({ mayDecide: false, policies: [{ deciders: { people: [] }, warnings: [/./] }] });
    expect(await approve(ask)).toMatchObject({ status: 403, body: { code: 'not-allowed' } });
  }
  await ai.runs.settled();
  expect(paid).toEqual([]);
});

test('policyFor may be asynchronous', async () => {
  const { paid, eve, approve, ai } = await waiting({
    instance: {
      policyFor: async ({ tool, startedBy }) =>
        tool === 'pay' && startedBy === 'ann' ? { deciders: { people: ['eve'] } } : undefined,
    },
  });
  expect((await eve('GET', '/api/v1/requests')).body.items[0].mayDecide).toBe(true);
  expect((await approve(eve)).status).toBe(200);
  await ai.runs.settled();
  expect(paid).toEqual([{ to: 'bob', amount: 500 }]);
});

test('policyFor sees the input that would run, not only the one on the card', async () => {
  const { paid, as, ai } = await waiting({ mayRead: () => true, instance: { policyFor: upTo(500, 'eve') } });
  const pending = async () => (await ai.runs.requests()).items[0]?.id;
  const [eve, boss] = [await as('eve'), await as('boss')];
  const approve = async (ask: Ask, edit?: object) =>
    ask('POST', `/api/v1/requests/${await pending()}/decide`, {
      decision: { type: 'approve', ...(edit && { edit }) },
    });
  // Beyond her limit, her edit is a proposal to the boss.
  expect((await approve(eve, { to: 'eve', amount: 100_000 })).body).toMatchObject({
    status: 'waiting',
    missing: [{ of: { people: ['boss'] }, count: 1 }],
  });
  expect((await approve(eve)).status).toBe(403);
  expect((await approve(eve, { to: 'bob', amount: 1 })).status).toBe(403);
  expect(paid).toEqual([]);
  expect((await approve(boss, { to: 'bob', amount: 400 })).body).toMatchObject({ status: 'waiting' });
  expect((await approve(eve)).body.status).toBe('settled');
  await ai.runs.settled();
  expect(paid).toEqual([{ to: 'bob', amount: 400 }]);
});

test('a request of a process without a server is for its starter, also in the chat', async () => {
  const store = memoryStore();
  const { as, paid } = await startServer({ store, mayRead: () => true });
  const elsewhere = countersign({ model: obedientModel(), store });
  defineTeller(elsewhere);
  await elsewhere.agents.get('teller')?.start('pay bob 500', { by: 'ann', runId: 'run' });
  const [requestId] = (await elsewhere.runs.wait('run')).pending;
  const decision = { type: 'approve' };
  const [eve, ann] = [await as('eve'), await as('ann')];
  const inChat = (ask: Ask) => ask('POST', '/api/v1/chat/teller', { id: 'run', decisions: [{ requestId, decision }] });
  expect((await eve('POST', `/api/v1/requests/${requestId}/decide`, { decision })).status).toBe(403);
  expect((await inChat(eve)).status).toBe(403);
  expect(paid).toEqual([]);
  expect((await inChat(ann)).status).toBe(200);
  expect(paid).toEqual([{ to: 'bob', amount: 500 }]);
});
