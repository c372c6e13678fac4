// Grants through the API: given with a decision, seen and revoked by the right people, simulated.
import { createClient } from '@countersign/server/client';
import { expect, test } from 'vitest';
import { type Ask, begin, startServer } from './server.ts';

const HOUR_MS = 3_600_000;
const limits = { where: [{ field: 'to', equals: 'acme' }], uses: 2, budget: { field: 'amount', total: 900 } };
const grant = () => ({ ...limits, expiresAt: Date.now() + HOUR_MS });

async function approve(ask: Ask, run: { requests: readonly { id: string; digest: string }[] }, body: object = {}) {
  const [card] = run.requests;
  const path = `/api/v1/requests/${encodeURIComponent(card?.id ?? '')}/decide`;
  return ask('POST', path, { decision: { type: 'approve' }, digest: card?.digest, ...body });
}

test('a decision gives a grant, the next call runs, and a revoked grant asks again', async () => {
  const { as, ai, paid, url, tokenFor } = await startServer();
  const ann = await as('ann');
  const first = await begin(ann, ai, 'pay acme 500');
  const { status, body } = await approve(ann, first, { grant: grant() });
  expect(status).toBe(200);
  expect(body.grant).toMatchObject({ tool: 'pay', uses: 2 });
  await ai.runs.wait(first.id);
  expect((await begin(ann, ai, 'pay acme 800')).status).toBe('done');
  expect(paid.map(({ amount }) => amount)).toEqual([500, 800]);
  const client = createClient(url, { token: await tokenFor('ann') });
  const found = await client.grants.get(body.grant.id);
  expect(found).toMatchObject({ givenBy: 'ann', left: { uses: 1, amount: 100 }, mayRevoke: true });
  expect(found.calls).toMatchObject([{ amount: 800, status: 'spent' }]);
  expect(found).not.toHaveProperty('votes');
  expect((await client.grants.revoke(found.id, { reason: 'Enough.' })).revoked).toMatchObject({
    by: 'ann',
    reason: 'Enough.',
  });
  expect((await begin(ann, ai, 'pay acme 101')).status).toBe('waiting');
  expect((await client.grants.list({ status: 'active' })).items).toEqual([]);
});

test('other people neither see nor revoke a grant, and their requests do not count in a simulation', async () => {
  const { as, ai } = await startServer();
  const [ann, bob, boss] = [await as('ann'), await as('bob'), await as('boss', { reach: 'all' })];
  const { body } = await approve(ann, await begin(ann, ai, 'pay acme 500'), { grant: grant() });
  const path = `/api/v1/grants/${body.grant.id}`;
  expect((await bob('GET', '/api/v1/grants')).body.items).toEqual([]);
  expect((await bob('GET', path)).status).toBe(404);
  expect((await bob('POST', `${path}/revoke`, {})).status).toBe(404);
  const reader = await as('ann', { scopes: ['read'] });
  expect((await reader('GET', path)).body.mayRevoke).toBe(false);
  expect((await reader('POST', `${path}/revoke`, {})).status).toBe(403);
  const ask = { tool: 'pay', grant: limits };
  expect((await bob('POST', '/api/v1/grants/simulate', ask)).body.simulation).toMatchObject({ requests: 0 });
  expect((await ann('POST', '/api/v1/grants/simulate', ask)).body.simulation).toMatchObject({
    matching: 1,
    approved: 1,
  });
  expect((await boss('POST', `${path}/revoke`, {})).body).toMatchObject({ status: 'revoked', mayRevoke: false });
});

test('a grant that cannot be given decides nothing', async () => {
  const { as, ai } = await startServer();
  const ann = await as('ann');
  const run = await begin(ann, ai, 'pay acme 500');
  for (const wrong of [
    { ...grant(), uses: 1_001 },
    { ...grant(), budget: { field: 'amount', total: -1 } },
    { ...grant(), budget: { field: 'amount', total: 499 } },
    { ...grant(), where: [{ field: 'to', equals: 'other' }] },
    { ...grant(), expiresAt: 1 },
    { ...grant(), givenBy: 'boss' },
  ])
    expect((await approve(ann, run, { grant: wrong })).status).toBeGreaterThanOrEqual(400);
  expect((await ann('GET', `/api/v1/runs/${run.id}`)).body.status).toBe('waiting');
  expect((await ann('GET', '/api/v1/grants')).body.items).toEqual([]);
});

test('a granted call and the request that gave the grant say what is left, to those who can see the grant', async () => {
  const { as, ai } = await startServer();
  const [ann, boss] = [await as('ann'), await as('boss', { reach: 'all' })];
  const first = await begin(ann, ai, 'pay acme 500');
  const { id } = (await approve(ann, first, { grant: grant() })).body.grant;
  await ai.runs.wait(first.id);
  const second = await begin(ann, ai, 'pay acme 800');
  const listed = async (ask: Ask) => (await ask('GET', '/api/v1/requests?status=settled')).body.items;
  const given = { id, is: 'given', by: 'ann', uses: 2, left: 1 };
  const used = { ...given, is: 'used' };
  for (const ask of [ann, boss]) expect(await listed(ask)).toMatchObject([{ grant: given }, { grant: used }]);
  const [, row] = await listed(ann);
  expect(row).toMatchObject({
    runId: second.id,
    status: 'decided',
    decision: null,
    allows: [],
    outcome: { state: 'done' },
  });
  expect((await ann('GET', `/api/v1/requests/${encodeURIComponent(row.id)}`)).body).toMatchObject({ grant: used });
  expect((await (await as('bob'))('GET', '/api/v1/requests?status=settled')).body.items).toEqual([]);
  const csv: string = (await ann('GET', '/api/v1/requests.csv?outcome=granted')).body;
  expect(csv.trimEnd().split('\r\n')).toHaveLength(2);
  expect(csv).toContain(`,allowed by a grant,`);
  expect(csv).toContain(`,${id},ann,`);
});

test('figures, filters by decider and counts of decisions leave granted calls out', async () => {
  const { as, ai } = await startServer();
  const [ann, boss] = [await as('ann'), await as('boss', { reach: 'all' })];
  const first = await begin(ann, ai, 'pay acme 500');
  await approve(ann, first, { grant: grant() });
  await ai.runs.wait(first.id);
  await begin(ann, ai, 'pay acme 800');
  const items = async (query: string) => (await ann('GET', `/api/v1/requests?${query}`)).body.items;
  expect(await items('status=settled')).toHaveLength(2);
  for (const query of ['decidedBy=ann', 'outcome=approved']) expect(await items(query)).toHaveLength(1);
  for (const query of ['outcome=cancelled', 'outcome=not-run']) expect(await items(query)).toEqual([]);
  expect((await boss('GET', '/api/v1/insights')).body.total).toMatchObject({ requests: 1, approved: 1 });
  expect((await boss('GET', '/api/v1/stats')).body).toMatchObject({ decided: 1 });
});
