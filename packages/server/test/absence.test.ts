// Absences and assignments through the API and the client: everyone manages their own absence, administrators those of all.
import { createClient } from '@countersign/server/client';
import { z } from 'countersign';
import { expect, test } from 'vitest';
import { begin, startServer } from './server.ts';

const HOUR = 3_600_000;
const PATH = '/api/v1/me/absence';

test('a person names a delegate for a period, and others cannot', async () => {
  const { as, ai } = await startServer();
  const [ann, bob, admin] = [await as('ann'), await as('bob'), await as('admin', { reach: 'all' })];
  const until = Date.now() + HOUR;
  expect((await ann('GET', PATH)).body).toEqual({ absence: null, actsFor: [] });
  const set = await ann('POST', PATH, { delegate: 'bob', until });
  expect(set).toMatchObject({ status: 200, body: { absence: { person: 'ann', delegate: 'bob', until, by: 'ann' } } });
  expect((await bob('GET', PATH)).body).toEqual({ absence: null, actsFor: ['ann'] });
  for (const [method, path, body] of [
    ['POST', PATH, { delegate: 'bob', until, person: 'cara' }],
    ['DELETE', `${PATH}?person=ann`],
    ['GET', `${PATH}?person=cara`],
  ] as const)
    expect(await bob(method, path, body)).toMatchObject({ status: 403, body: { code: 'not-allowed' } });
  expect(await admin('POST', PATH, { delegate: 'dan', until, person: 'cara' })).toMatchObject({
    body: { absence: { person: 'cara', delegate: 'dan', by: 'admin' } },
  });
  expect((await bob('GET', '/api/v1/absences')).body.items).toMatchObject([{ person: 'ann' }]);
  expect((await admin('GET', '/api/v1/absences')).body.items).toHaveLength(2);
  for (const body of [{ delegate: 'ann', until }, { delegate: 'bob', until: 5 }, { delegate: 'bob' }, { until }, {}])
    expect((await ann('POST', PATH, body)).status).toBe(400);
  const reader = await as('ann', { scopes: ['read'] });
  expect(await reader('POST', PATH, { delegate: 'eve', until })).toMatchObject({ status: 403 });
  expect((await ann('DELETE', PATH)).body).toEqual({ absence: null, actsFor: [] });
  expect(await ai.people.actsFor('bob')).toEqual([]);
});

test('a delegate decides through the API in the period only, and the vote names both', async () => {
  const { ai, as, url, tokenFor } = await startServer({ mayRead: () => true });
  const wire = ai.defineTool(
    {
      ...{ name: 'wire', description: '', inputSchema: z.object({}) },
      needsApproval: { policy: { deciders: { people: ['ann'] } } },
    },
    () => 'wired',
  );
  ai.defineAgent({
    name: 'clerk',
    tools: [wire],
    model: (await import('countersign/testing')).scriptedModel(({ messages }) =>
      messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: 'wire', input: {} }] },
    ),
  });
  await ai.agents.get('clerk')?.start('Go.', { runId: 'run', by: 'eve' });
  const [id = ''] = (await ai.runs.wait('run')).pending;
  const bob = createClient(url, { token: await tokenFor('bob') });
  const decision = { type: 'approve' } as const;
  await expect(bob.interrupts.decide(id, { decision })).rejects.toMatchObject({ status: 403 });
  await expect(bob.interrupts.decide(id, { decision, onBehalfOf: 'ann' })).rejects.toMatchObject({ status: 403 });
  const ann = createClient(url, { token: await tokenFor('ann') });
  await ann.absences.set({ delegate: 'bob', until: Date.now() + HOUR });
  expect((await ann.absences.get()).absence).toMatchObject({ delegate: 'bob' });
  expect(await bob.absences.list()).toHaveLength(1);
  await ann.absences.end();
  await expect(bob.interrupts.decide(id, { decision, onBehalfOf: 'ann' })).rejects.toMatchObject({ status: 403 });
  await ann.absences.set({ delegate: 'bob', until: Date.now() + HOUR });
  const decided = await bob.interrupts.decide(id, { decision });
  expect(decided).toMatchObject({ status: 'settled', by: 'bob', votes: [{ by: 'bob', onBehalfOf: 'ann' }] });
  expect(await (await as('eve'))('GET', '/api/v1/runs/run')).toMatchObject({ status: 200 });
});

test('a request is assigned by those who may decide it', async () => {
  const { as, ai, url, tokenFor } = await startServer();
  const [ann, bob] = [await as('ann'), await as('bob')];
  const { body } = await begin(ann, ai, 'pay x 500').then(() => ann('GET', '/api/v1/interrupts'));
  const [{ id }] = body.items;
  const path = `/api/v1/interrupts/${encodeURIComponent(id)}/assign`;
  expect(await bob('POST', path, { to: 'bob' })).toMatchObject({ status: 404 });
  expect(await ann('POST', path, { to: 'cara' })).toMatchObject({ status: 200, body: { id, status: 'pending' } });
  expect((await ai.runs.interrupt(id)).progress).toMatchObject({ assignedTo: 'cara' });
  const client = createClient(url, { token: await tokenFor('ann') });
  await client.interrupts.assign(id, null);
  expect((await ai.runs.interrupt(id)).progress).toMatchObject({ assignedTo: null });
  expect(await ann('POST', path, {})).toMatchObject({ status: 400 });
  await client.interrupts.decide(id, { decision: { type: 'reject' } });
  expect(await ann('POST', path, { to: 'cara' })).toMatchObject({ status: 403 });
});
