// Absences and assignments through the API and the client: people name their own delegate in a session, administrators those of others.
import { headerIdentity, type ServeOptions } from '@countersign/server';
import { createClient } from '@countersign/server/client';
import { z } from 'countersign';
import { expect, test } from 'vitest';
import { softKey } from '../../countersign/test/passkeys/soft-key.ts';
import { asking, begin, startServer } from './server.ts';

const HOUR = 3_600_000;
const PATH = '/api/v1/me/absence';

/** A server behind a proxy that signs people in. `session` asks as a person who is signed in to a browser. */
async function openOffice(options: ServeOptions = {}) {
  const identify = headerIdentity({ header: 'x-user', trustedProxies: ['127.0.0.0/8'] });
  const server = await startServer({ ...options, identify });
  const session = (person: string) => asking(server.url, { 'x-user': person, origin: server.url });
  /** Whoever has signed in is known. */
  const known = async (...people: readonly string[]) => {
    for (const person of people) await session(person)('GET', '/api/v1/me');
  };
  return { ...server, session, known };
}

const refused = { status: 403, body: { code: 'not-allowed' } };

test('a person names a delegate for a period, and others cannot', async () => {
  const { as, session, known, ai } = await openOffice();
  await known('bob', 'dan');
  const [ann, bob, admin] = [session('ann'), session('bob'), await as('admin', { reach: 'all' })];
  const until = Date.now() + HOUR;
  expect((await ann('GET', PATH)).body).toEqual({ absence: null, actsFor: [] });
  const set = await ann('POST', PATH, { delegate: 'bob', until });
  const named = { person: 'ann', delegate: 'bob', until, by: 'ann', how: 'session' };
  expect(set).toMatchObject({ status: 200, body: { absence: named } });
  expect((await bob('GET', PATH)).body).toEqual({ absence: null, actsFor: ['ann'] });
  for (const [method, path, body] of [
    ['POST', PATH, { delegate: 'bob', until, person: 'cara' }],
    ['DELETE', `${PATH}?person=ann`],
    ['GET', `${PATH}?person=cara`],
  ] as const)
    expect(await bob(method, path, body)).toMatchObject(refused);
  expect(await admin('POST', PATH, { delegate: 'dan', until, person: 'cara' })).toMatchObject({
    body: { absence: { person: 'cara', delegate: 'dan', by: 'admin', how: 'administrator' } },
  });
  expect((await bob('GET', '/api/v1/absences')).body.items).toMatchObject([{ person: 'ann' }]);
  expect((await admin('GET', '/api/v1/absences')).body.items).toHaveLength(2);
  for (const body of [{ delegate: 'ann', until }, { delegate: 'bob', until: 5 }, { delegate: 'bob' }, { until }, {}])
    expect((await ann('POST', PATH, body)).status).toBe(400);
  expect((await ann('DELETE', PATH)).body).toEqual({ absence: null, actsFor: [] });
  expect(await ai.people.actsFor('bob')).toEqual([]);
});

test('an API token names no delegate of its person, but ends their absence', async () => {
  const { as, session, known, ai } = await openOffice();
  await known('bob');
  const period = { delegate: 'bob', until: Date.now() + HOUR };
  for (const options of [{}, { reach: 'all' }] as const) {
    const token = await as('ann', options);
    expect(await token('POST', PATH, period)).toMatchObject(refused);
    expect(await token('POST', PATH, { ...period, person: 'ann' })).toMatchObject(refused);
    expect(await token('POST', `${PATH}/challenge`, period)).toMatchObject(refused);
  }
  expect(await ai.people.absences()).toEqual([]);
  await session('ann')('POST', PATH, period);
  expect(await (await as('ann'))('DELETE', PATH)).toMatchObject({ status: 200, body: { absence: null } });
});

test('a delegate is a known person, for at most 90 days, and nobody names themselves', async () => {
  const { as, session, known, ai } = await openOffice();
  await known('bob');
  const [ann, admin] = [session('ann'), await as('admin', { reach: 'all' })];
  const until = Date.now() + HOUR;
  const outside = await ann('POST', PATH, { delegate: 'mallory@elsewhere.example', until });
  expect(outside).toMatchObject({ status: 400, body: { detail: expect.stringContaining('is not known here') } });
  const long = await ann('POST', PATH, { delegate: 'bob', until: Date.now() + 91 * 24 * HOUR });
  expect(long).toMatchObject({ status: 400, body: { detail: expect.stringContaining('90 days') } });
  expect(await admin('POST', PATH, { delegate: 'admin', until, person: 'ann' })).toMatchObject(refused);
  expect(await ai.people.absences()).toEqual([]);
});

test('a person with a passkey signs exactly this absence, once', async () => {
  const { session, known, ai, url } = await openOffice();
  await known('bob', 'eve');
  const ann = session('ann');
  const [key, stolen] = [softKey(), softKey()];
  await ai.runs.passkeys.add('ann', key.passkey);
  const period = { delegate: 'bob', until: Date.now() + HOUR };
  expect(await ann('POST', PATH, period)).toMatchObject({ status: 403, body: { code: 'signature-required' } });
  const signed = async (by = key) => {
    const { options, nonce } = (await ann('POST', `${PATH}/challenge`, period)).body;
    const { response } = by.sign(options.challenge, { origin: url, rpId: '127.0.0.1' }) as { response: object };
    return { response, nonce };
  };
  const invalid = { status: 403, body: { code: 'invalid-signature' } };
  expect(await ann('POST', PATH, { ...period, signature: await signed(stolen) })).toMatchObject(invalid);
  expect(await ann('POST', PATH, { ...period, delegate: 'eve', signature: await signed() })).toMatchObject(invalid);
  const signature = await signed();
  expect(await ann('POST', PATH, { ...period, signature })).toMatchObject({
    body: { absence: { delegate: 'bob', by: 'ann', how: 'passkey' } },
  });
  await ann('DELETE', PATH);
  expect(await ann('POST', PATH, { ...period, signature })).toMatchObject(invalid);
  await ai.runs.passkeys.revoke('ann', key.passkey.id);
  expect(await ann('POST', PATH, period)).toMatchObject({ status: 403, body: { code: 'signature-required' } });
  expect(await ai.people.absences()).toEqual([]);
});

test('a delegate decides through the API in the period only, and the vote names both', async () => {
  const { ai, as, url, tokenFor, session } = await openOffice({ mayRead: () => true });
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
  await expect(bob.requests.decide(id, { decision })).rejects.toMatchObject({ status: 403 });
  await expect(bob.requests.decide(id, { decision, onBehalfOf: 'ann' })).rejects.toMatchObject({ status: 403 });
  const ann = createClient(url, { token: await tokenFor('ann') });
  const period = { delegate: 'bob', until: Date.now() + HOUR };
  await createClient(url, { token: await tokenFor('admin', { reach: 'all' }) }).absences.set({
    ...period,
    person: 'ann',
  });
  expect((await ann.absences.get()).absence).toMatchObject({ delegate: 'bob' });
  expect(await bob.absences.list()).toHaveLength(1);
  await ann.absences.end();
  await expect(bob.requests.decide(id, { decision, onBehalfOf: 'ann' })).rejects.toMatchObject({ status: 403 });
  await session('ann')('POST', PATH, period);
  const decided = await bob.requests.decide(id, { decision });
  expect(decided).toMatchObject({ status: 'settled', by: 'bob', votes: [{ by: 'bob', onBehalfOf: 'ann' }] });
  expect(await (await as('eve'))('GET', '/api/v1/runs/run')).toMatchObject({ status: 200 });
});

test('a request is assigned by those who may decide it', async () => {
  const { as, ai, url, tokenFor } = await startServer();
  const [ann, bob] = [await as('ann'), await as('bob')];
  const { body } = await begin(ann, ai, 'pay x 500').then(() => ann('GET', '/api/v1/requests'));
  const [{ id }] = body.items;
  const path = `/api/v1/requests/${encodeURIComponent(id)}/assignee`;
  expect(await bob('POST', path, { to: 'bob' })).toMatchObject({ status: 404 });
  expect(await ann('POST', path, { to: 'cara' })).toMatchObject({ status: 200, body: { id, status: 'pending' } });
  expect((await ai.runs.request(id)).progress).toMatchObject({ assignedTo: 'cara' });
  const client = createClient(url, { token: await tokenFor('ann') });
  await client.requests.assign(id, null);
  expect((await ai.runs.request(id)).progress).toMatchObject({ assignedTo: null });
  expect(await ann('POST', path, {})).toMatchObject({ status: 400 });
  await client.requests.decide(id, { decision: { type: 'reject' } });
  expect(await ann('POST', path, { to: 'cara' })).toMatchObject({ status: 403 });
});
