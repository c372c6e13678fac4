// Policies of a server: only `true` allows a person to read, steer or decide.
import type { LogEntry, ServeOptions } from '@countersign/server';
import { expect, test } from 'vitest';
import { type Ask, startServer } from '../server.ts';

const noes: readonly [string, () => unknown][] = [
  ['says no', () => false],
  ['says no later', async () => false],
  ['does not say yes in plain words', () => 'yes'],
  ['says nothing', () => undefined],
  ['throws', () => Promise.reject(new Error('The directory is down.'))],
];

/** A pending run of ann, and eve's requests about it. */
async function waiting(options: ServeOptions) {
  const log: LogEntry[] = [];
  const { as, ai, paid } = await startServer({ log: (entry) => log.push(entry), ...options });
  const { id } = (await ai.agents.get('teller')?.start('pay bob 500', { by: 'ann' })) ?? { id: '' };
  await ai.runs.wait(id);
  const [card] = (await ai.runs.interrupts()).items;
  const eve = await as('eve');
  const approve = (ask: Ask) => ask('POST', `/api/v1/interrupts/${card?.id}/decide`, { decision: { type: 'approve' } });
  return { id, paid, as, eve, approve, failed: () => log.filter(({ event }) => event === 'policy'), ai };
}

test.each(noes)('where the policies say no: %s', async (how, policy) => {
  const no = policy as () => boolean;
  const { id, paid, eve, approve, failed } = await waiting({ mayRead: no, maySteer: no, mayDecide: no });
  for (const list of ['runs', 'interrupts']) expect((await eve('GET', `/api/v1/${list}`)).body.items).toEqual([]);
  for (const path of [`runs/${id}`, `chat/teller/${id}`])
    expect((await eve('GET', `/api/v1/${path}`)).status, path).toBe(404);
  expect((await eve('POST', `/api/v1/runs/${id}/cancel`, {})).status).toBe(404);
  expect((await approve(eve)).status).toBe(404);
  expect(paid).toEqual([]);
  expect(failed().length > 0).toBe(how === 'throws');
});

test.each(noes)('a person who can read cannot decide or steer: %s', async (_, policy) => {
  const no = policy as () => boolean;
  const { id, paid, eve, approve } = await waiting({ mayRead: async () => true, maySteer: no, mayDecide: no });
  const { body } = await eve('GET', `/api/v1/runs/${id}`);
  expect(body.interrupts[0].mayDecide).toBe(false);
  for (const list of ['runs', 'interrupts']) expect((await eve('GET', `/api/v1/${list}`)).body.items).toHaveLength(1);
  expect((await eve('POST', `/api/v1/runs/${id}/cancel`, {})).status).toBe(403);
  expect((await approve(eve)).status).toBe(403);
  expect(paid).toEqual([]);
});

test('a person whom a policy lets read can do nothing else', async () => {
  const { id, paid, eve, approve } = await waiting({
    mayRead: (run) => /^run_[\w-]+$/.test(run.id) && run.agent === 'teller' && run.startedBy === 'ann',
  });
  for (const list of ['runs', 'interrupts']) expect((await eve('GET', `/api/v1/${list}`)).body.items).toHaveLength(1);
  expect((await eve('GET', `/api/v1/runs/${id}`)).body.interrupts[0].mayDecide).toBe(false);
  for (const action of ['cancel', 'drive'])
    expect((await eve('POST', `/api/v1/runs/${id}/${action}`)).status, action).toBe(403);
  const messages = [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'pay eve 50' }] }];
  expect((await eve('POST', '/api/v1/chat/teller', { id, messages })).status).toBe(403);
  expect((await approve(eve)).status).toBe(403);
  expect(paid).toEqual([]);
});

test.each(noes)('an owner from whom a policy hides a run cannot decide in it: %s', async (_, policy) => {
  const { id, paid, as, approve, ai } = await waiting({ mayRead: policy as () => boolean });
  const [card] = (await ai.runs.interrupts()).items;
  for (const ask of [await as('ann'), await as('root', { reach: 'all' })]) {
    for (const path of [`runs/${id}`, `interrupts/${card?.id}`])
      expect((await ask('GET', `/api/v1/${path}`)).status, path).toBe(404);
    expect((await ask('GET', '/api/v1/interrupts')).body.items).toEqual([]);
    expect((await approve(ask)).status).toBe(404);
  }
  expect(paid).toEqual([]);
});

test('a policy may be asynchronous', async () => {
  const { paid, eve, approve, ai } = await waiting({
    mayDecide: async ({ tool }, { id }) => tool === 'pay' && id === 'eve',
  });
  expect((await eve('GET', '/api/v1/interrupts')).body.items[0].mayDecide).toBe(true);
  expect((await approve(eve)).status).toBe(200);
  await ai.runs.settled();
  expect(paid).toEqual([{ to: 'bob', amount: 500 }]);
});

test('a policy sees the input that would run, not only the one on the card', async () => {
  const { paid, as, ai } = await waiting({
    mayRead: () => true,
    mayDecide: ({ input }) => (input as { amount: number }).amount <= 500,
  });
  const [card] = (await ai.runs.interrupts()).items;
  const eve = await as('eve');
  const approve = (edit: object) =>
    eve('POST', `/api/v1/interrupts/${card?.id}/decide`, { decision: { type: 'approve', edit } });
  expect(await approve({ to: 'eve', amount: 100_000 })).toMatchObject({ status: 403, body: { code: 'not-allowed' } });
  expect((await ai.runs.interrupts()).items).toHaveLength(1);
  expect((await approve({ to: 'bob', amount: 400 })).status).toBe(200);
  await ai.runs.wait(card?.runId ?? '');
  expect(paid).toEqual([{ to: 'bob', amount: 400 }]);
});
