// Freezes through the server: who may freeze and lift, and that nothing covered starts in between.
import { createClient } from '@countersign/server/client';
import { expect, test } from 'vitest';
import { begin, startServer } from './server.ts';

test('a freeze keeps an approved call from starting until someone lifts it', async () => {
  const { as, ai, paid } = await startServer();
  const [ann, boss] = [await as('ann'), await as('boss', { reach: 'all' })];
  const run = await begin(ann, ai, 'pay bob 500');
  const frozen = await boss('POST', '/api/v1/freezes', { tools: ['pay'], reason: 'The mailbox was hacked.' });
  expect(frozen.body).toMatchObject({ tools: ['pay'], by: 'boss', lifted: null, running: [], mayLift: true });
  const [card] = run.requests;
  const decide = { decision: { type: 'approve' }, digest: card.digest };
  expect((await ann('POST', `/api/v1/requests/${encodeURIComponent(card.id)}/decide`, decide)).status).toBe(200);
  expect([(await ai.runs.wait(run.id)).status, paid]).toEqual(['waiting', []]);
  const seen = await ann('GET', `/api/v1/requests/${encodeURIComponent(card.id)}`);
  expect(seen.body.outcome).toMatchObject({ state: 'frozen', by: 'boss', reason: 'The mailbox was hacked.' });
  expect((await ann('GET', '/api/v1/freezes')).body).toMatchObject({
    items: [{ id: frozen.body.id, mayLift: false }],
    mayFreeze: false,
  });
  const path = `/api/v1/freezes/${frozen.body.id}/lift`;
  expect((await ann('POST', path, {})).status).toBe(403);
  expect((await ann('POST', '/api/v1/freezes', { reason: 'x' })).status).toBe(403);
  expect((await boss('POST', path, { note: 'new password' })).body).toMatchObject({ lifted: { by: 'boss' } });
  expect((await ai.runs.wait(run.id, { until: 'end' })).status).toBe('done');
  expect(paid).toHaveLength(1);
});

test('a program outside is granted no start while its call is frozen, and exactly one after the lift', async () => {
  const { as } = await startServer();
  const [ann, boss] = [await as('ann'), await as('boss', { reach: 'all' })];
  const asked = (await ann('POST', '/api/v1/gate', { tool: 'deploy', input: { to: 'eu' }, key: 'k' })).body;
  const path = `/api/v1/gate/${asked.runId}`;
  const freeze = (await boss('POST', '/api/v1/freezes', { tools: ['deploy'], reason: 'Hacked.' })).body;
  const decide = { decision: { type: 'approve' } };
  expect((await boss('POST', `/api/v1/requests/${encodeURIComponent(asked.id)}/decide`, decide)).status).toBe(200);
  expect(await ann('POST', `${path}/started`, {})).toMatchObject({ status: 409, body: { code: 'start-refused' } });
  expect((await ann('GET', path)).body).toMatchObject({
    status: 'approved',
    frozen: { reason: 'Hacked.', by: 'boss' },
  });
  await boss('POST', `/api/v1/freezes/${freeze.id}/lift`, {});
  expect((await ann('GET', path)).body.frozen).toBeUndefined();
  const starts = await Promise.all([1, 2, 3].map(() => ann('POST', `${path}/started`, {})));
  expect(starts.map(({ status }) => status).toSorted()).toEqual([200, 409, 409]);
});

test('a policy says who may freeze, and two people lift it', async () => {
  const quorum = [{ of: { roles: ['security'] }, count: 2 }];
  const freezes = { freeze: { deciders: { roles: ['ops', 'security'] } }, lift: { quorum } };
  const { url, tokenFor } = await startServer({ instance: { freezes } });
  const client = async (person: string, ...roles: string[]) =>
    createClient(url, { token: await tokenFor(person, { roles }) });
  const [ann, ops, eve, zoe] = [
    ...[await client('ann'), await client('ops', 'ops'), await client('eve', 'security')],
    await client('zoe', 'security'),
  ];
  await expect(ann?.freezes.freeze({ reason: 'x' })).rejects.toMatchObject({ status: 403 });
  const { id, missing } = (await ops?.freezes.freeze({ reason: 'An incident.' })) ?? { id: '' };
  expect(missing).toEqual([{ of: { roles: ['security'] }, count: 2 }]);
  await expect(ops?.freezes.lift(id)).rejects.toMatchObject({ status: 403 });
  expect(await eve?.freezes.lift(id)).toMatchObject({ lifted: null, missing: [{ count: 1 }], votes: [{ by: 'eve' }] });
  expect(await eve?.freezes.lift(id)).toMatchObject({ lifted: null, missing: [{ count: 1 }] });
  expect(await zoe?.freezes.lift(id)).toMatchObject({ lifted: { by: 'zoe' }, missing: [] });
  expect((await ann?.freezes.list())?.items).toEqual([]);
  expect((await ann?.freezes.list({ lifted: true }))?.items).toMatchObject([{ id, by: 'ops' }]);
});
