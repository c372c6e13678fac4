// Requests that several people decide: who sees them, who may vote, and what the API says about it.
import { createClient } from '@countersign/server/client';
import { type PolicyConfig, tool, z } from 'countersign';
import { expect, test } from 'vitest';
import { type Ask, startServer } from './server.ts';

const TWO: PolicyConfig = { notRequester: true, quorum: [{ of: { roles: ['finance'] }, count: 2 }] };
const approve = { decision: { type: 'approve' } };

/** A payment that waits for votes. `spent` are the payments that were made. */
async function payment(policy: PolicyConfig = TWO, options: Parameters<typeof startServer>[0] = {}) {
  const server = await startServer(options);
  const { ai, as } = server;
  const spent: unknown[] = [];
  ai.definePolicy('payments', policy);
  const spend = tool(
    {
      name: 'pay',
      description: 'Pays.',
      inputSchema: z.object({ to: z.string(), amount: z.number() }),
      needsApproval: { policy: 'payments' },
    },
    (input) => spent.push(input),
  );
  ai.defineAgent({ name: 'treasurer', tools: [spend] });
  const started = await ai.agents.get('treasurer')?.start('pay ACME 500', { by: 'ann' });
  await ai.runs.wait(started?.id ?? '');
  const [id = ''] = (await ai.runs.get(started?.id ?? '')).pending;
  const finance = { roles: ['finance'] };
  const [ann, ben, cara, eve] = [
    await as('ann', finance),
    await as('ben', finance),
    await as('cara', finance),
    await as('eve'),
  ];
  const path = `/api/v1/requests/${encodeURIComponent(id)}`;
  const listed = async (ask: Ask) => (await ask('GET', '/api/v1/requests')).body.items;
  return { ...server, spent, id, runId: started?.id ?? '', path, ann, ben, cara, eve, listed };
}

test('the people whom a policy names see the request and vote; the last vote settles it, and it runs once', async () => {
  const { ben, cara, eve, path, listed, spent, ai, runId } = await payment();
  for (const ask of [ben, cara])
    expect(await listed(ask)).toMatchObject([{ mayDecide: true, progress: { votes: [] } }]);
  const first = await ben('POST', `${path}/decide`, { ...approve, note: 'checked' });
  expect(first).toMatchObject({
    status: 200,
    body: { status: 'waiting', missing: [{ of: { roles: ['finance'] }, count: 1 }], votes: [{ by: 'ben' }] },
  });
  // The same vote again changes nothing.
  expect((await ben('POST', `${path}/decide`, { ...approve, note: 'checked' })).body).toEqual(first.body);
  const seen = (await ben('GET', path)).body;
  expect(seen).toMatchObject({ status: 'pending', policies: [{ name: 'payments' }], mayDecide: true });
  expect(seen.progress.votes).toMatchObject([{ by: 'ben', type: 'approve', note: 'checked', isYours: true }]);
  expect((await cara('GET', path)).body.progress.votes).toMatchObject([{ by: 'ben', isYours: false }]);
  expect((await ben('GET', `/api/v1/runs/${runId}`)).status).toBe(200);
  // Nobody else sees it.
  expect(await listed(eve)).toEqual([]);
  expect((await eve('GET', path)).status).toBe(404);
  expect((await eve('POST', `${path}/decide`, approve)).status).toBe(404);
  expect(spent).toEqual([]);
  const last = await cara('POST', `${path}/decide`, approve);
  expect(last.body).toMatchObject({ status: 'settled', by: 'cara', votes: [{ by: 'ben' }, { by: 'cara' }] });
  await ai.runs.wait(runId);
  expect(spent).toEqual([{ to: 'ACME', amount: 500 }]);
  expect((await cara('GET', path)).body.progress.votes).toMatchObject([{ by: 'ben' }, { by: 'cara', isYours: true }]);
});

test('whoever started the run can reject but not approve, and roles cannot be forged', async () => {
  const { ann, eve, path, spent, as } = await payment();
  const { body } = await ann('GET', path);
  expect(body).toMatchObject({ mayDecide: true, allows: ['edit', 'revise', 'reject'] });
  expect(await ann('POST', `${path}/decide`, approve)).toMatchObject({ status: 422 });
  for (const headers of [{ 'x-roles': 'finance' }, { 'x-countersign-roles': 'finance' }])
    expect((await eve('POST', `${path}/decide`, approve, headers)).status).toBe(404);
  expect((await eve('POST', `${path}/decide`, { ...approve, roles: ['finance'] })).status).toBe(400);
  // A person with access to all runs reads it, and is still no decider.
  const root = await as('root', { reach: 'all' });
  expect((await root('GET', path)).body).toMatchObject({ mayDecide: false });
  expect(await root('POST', `${path}/decide`, approve)).toMatchObject({ status: 403, body: { code: 'not-allowed' } });
  const rejected = await ann('POST', `${path}/decide`, { decision: { type: 'reject', reason: 'a mistake' } });
  expect(rejected.body).toMatchObject({ status: 'settled', decision: { type: 'reject' } });
  expect(spent).toEqual([]);
});

test('a card in the chat has the votes, and lets its reader do what the policy allows', async () => {
  const { ann, ben, runId, path, id } = await payment();
  const cardOf = async (ask: Ask) => {
    const { body } = await ask('GET', `/api/v1/chat/treasurer/${runId}`);
    const parts = body.messages.flatMap((message: any) => message.parts);
    return parts.find((part: any) => part.type === 'data-request').data;
  };
  await ben('POST', `${path}/decide`, { ...approve, note: 'checked' });
  expect((await ben('POST', `${path}/assignee`, { to: 'cara' })).status).toBe(200);
  const { onMessage, ...seen } = await cardOf(ben);
  expect(onMessage).toBe('waits');
  expect(seen).toMatchObject({
    id,
    status: 'pending',
    mayDecide: true,
    allows: ['approve', 'edit', 'revise', 'reject'],
  });
  // The chat has the time of the event, the list that of the append.
  expect((await ben('GET', path)).body).toMatchObject({ ...seen, createdAt: expect.any(Number) });
  expect(seen.progress).toMatchObject({
    votes: [{ by: 'ben', note: 'checked', isYours: true }],
    missing: [{ count: 1 }],
    assignedTo: 'cara',
  });
  expect(await cardOf(ann)).toMatchObject({ mayDecide: true, allows: ['edit', 'revise', 'reject'] });
  const body = { id: runId, decisions: [{ requestId: id, ...approve }] };
  expect(await ann('POST', '/api/v1/chat/treasurer', body)).toMatchObject({ status: 403 });
});

test('one person with two sign-ins has one vote', async () => {
  const { ben, path, as, spent } = await payment();
  await ben('POST', `${path}/decide`, approve);
  const again = await as('ben', { roles: ['finance', 'cfo'] });
  expect((await again('POST', `${path}/decide`, { ...approve, note: 'me again' })).body.status).toBe('waiting');
  expect(spent).toEqual([]);
});

test('an edit that others must agree to is a new request; the old card counts no more', async () => {
  const { ben, cara, as, path, id, listed, spent, ai, runId } = await payment({
    quorum: [{ of: { roles: ['finance'] }, count: 2 }],
  });
  const dora = await as('dora', { roles: ['finance'] });
  const { digest } = (await cara('GET', path)).body;
  await dora('POST', `${path}/decide`, approve);
  const edit = { decision: { type: 'approve', edit: { to: 'ACME', amount: 90 } } };
  const { body } = await ben('POST', `${path}/decide`, edit);
  expect(body).toMatchObject({ status: 'waiting', requestId: `${id}~2`, missing: [{ count: 1 }] });
  expect((await cara('GET', path)).body).toMatchObject({
    status: 'decided',
    decision: { type: 'cancel', by: 'ben', reason: expect.stringContaining('asked again') },
  });
  expect(await listed(cara)).toMatchObject([
    { id: `${id}~2`, input: { amount: 90 }, progress: { round: 2, votes: [{ by: 'ben', isEdit: true }] } },
  ]);
  // Sent with others, from a table that shows the old input.
  const items = [{ requestId: id, digest, ...approve }];
  expect((await cara('POST', '/api/v1/decisions', { items })).body.items).toMatchObject([{ status: 'outdated' }]);
  expect(spent).toEqual([]);
  const round2 = `/api/v1/requests/${encodeURIComponent(`${id}~2`)}`;
  expect((await cara('POST', `${round2}/decide`, approve)).body.status).toBe('settled');
  await ai.runs.wait(runId);
  expect(spent).toEqual([{ to: 'ACME', amount: 90 }]);
});

test('mayRead and policyFor stay in force beside the policy of a tool', async () => {
  const hidden = await payment(TWO, { mayRead: () => false });
  expect(await hidden.listed(hidden.ben)).toEqual([]);
  expect((await hidden.ben('POST', `${hidden.path}/decide`, approve)).status).toBe(404);
  const instance = { policyFor: () => ({ deciders: { people: ['eve'] } }) };
  const { eve, ben, cara, path, spent } = await payment(TWO, { instance });
  // Each policy counts its own votes, and the request needs both.
  for (const [ask, missing] of [
    [ben, [{ count: 1 }, { of: { people: ['eve'] } }]],
    [cara, [{ of: { people: ['eve'] }, count: 1 }]],
  ] as const)
    expect((await ask('POST', `${path}/decide`, approve)).body).toMatchObject({ status: 'waiting', missing });
  expect(spent).toEqual([]);
  expect((await eve('POST', `${path}/decide`, approve)).body.status).toBe('settled');
});

test('many at once reports what waits for more votes, and a decider hears of a vote at once', async () => {
  const { path, id, url, tokenFor, cara } = await payment();
  const client = createClient(url, { token: await tokenFor('cara', { roles: ['finance'] }) });
  const stop = new AbortController();
  const changes = client.changes({ signal: stop.signal });
  expect((await changes.next()).value).toBeNull();
  const heard = changes.next();
  const ben = createClient(url, { token: await tokenFor('ben', { roles: ['finance'] }) });
  const { digest } = await ben.requests.get(id);
  const items = [{ requestId: id, digest, decision: { type: 'approve' as const } }];
  expect(await ben.requests.decideMany({ items })).toMatchObject([{ status: 'waiting', missing: [{ count: 1 }] }]);
  expect((await heard).value).not.toBeUndefined();
  stop.abort();
  expect((await cara('GET', path)).body.progress.votes).toHaveLength(1);
});

test('an approved call that waits to start is recalled by whoever asked or voted, and by nobody else', async () => {
  const { ann, ben, cara, eve, path, as, listed, spent, ai, runId } = await payment({ ...TWO, recallFor: '10m' });
  for (const ask of [ben, cara]) await ask('POST', `${path}/decide`, approve);
  await ai.runs.settled();
  for (const ask of [ann, ben, cara])
    expect(await listed(ask)).toMatchObject([{ kind: 'recall', mayDecide: true, allows: ['reject'] }]);
  const dora = await as('dora', { roles: ['finance'] });
  expect(await listed(dora)).toEqual([]);
  expect(await dora('POST', `${path}/recall`, {})).toMatchObject({ status: 403, body: { code: 'not-allowed' } });
  expect((await eve('POST', `${path}/recall`, {})).status).toBe(404);
  const recalled = await cara('POST', `${path}/recall`, { reason: 'Not yet.' });
  expect(recalled.body).toMatchObject({ status: 'settled', by: 'cara', decision: { type: 'reject' } });
  await ai.runs.wait(runId);
  expect(spent).toEqual([]);
});
