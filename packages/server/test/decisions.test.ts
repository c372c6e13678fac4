// Deciding many requests with one request: each item has its own digest and its own outcome.
import type { DecisionOutcome } from '@countersign/server/client';
import { createClient } from '@countersign/server/client';
import { expect, test } from 'vitest';
import { type Ask, begin, startServer, upTo } from './server.ts';

const PATH = '/api/v1/decisions';
const approve = { type: 'approve' };

async function pendingItems(ask: Ask): Promise<{ requestId: string; digest: string; decision: object }[]> {
  const { body } = await ask('GET', '/api/v1/requests?limit=200');
  return body.items.map(({ id, digest }: { id: string; digest: string }) => ({
    requestId: id,
    digest,
    decision: approve,
  }));
}
const statuses = (items: readonly DecisionOutcome[]) => items.map(({ status }) => status);

test('each item is decided for itself; one that changed, is decided or is not there stops no other', async () => {
  const { as, ai, paid } = await startServer();
  const [ann, bob] = [await as('ann'), await as('bob')];
  for (const amount of [200, 300, 400, 500]) await begin(ann, ai, `pay x ${amount}`);
  await begin(bob, ai, 'pay bob 600');
  const [a, b, c, d] = await pendingItems(ann);
  const [bobs] = await pendingItems(bob);
  if (!a || !b || !c || !d || !bobs) throw new Error('Five requests wait.');
  await ann('POST', `/api/v1/requests/${encodeURIComponent(b.requestId)}/decide`, { decision: { type: 'cancel' } });
  const items = [
    a,
    b,
    { ...c, digest: 'of an earlier card' },
    { ...d, decision: { type: 'reject' } },
    bobs,
    { ...a, requestId: 'nothing:call_1' },
  ];
  const asked = { items, reason: 'Too much', note: 'Friday' };
  const { status, body } = await ann('POST', PATH, asked, { 'x-countersign-channel': 'inbox' });
  expect(status).toBe(200);
  expect(statuses(body.items)).toEqual(['settled', 'conflict', 'outdated', 'settled', 'unknown', 'unknown']);
  expect(body.items[0]).toMatchObject({ by: 'ann', channel: 'inbox', note: 'Friday', decision: approve });
  expect(body.items[1].problem).toMatchObject({ code: 'already-decided', settlement: { by: 'ann' } });
  expect(body.items[2].problem).toMatchObject({ code: 'outdated-card', status: 409 });
  expect(body.items[3].decision).toEqual({ type: 'reject', reason: 'Too much' });
  // What changed stays open. The whole request again records nothing new.
  expect((await pendingItems(ann)).map(({ requestId }) => requestId)).toEqual([c.requestId]);
  const { body: again } = await ann('POST', PATH, asked);
  expect(again.items.slice(0, 1)).toEqual(body.items.slice(0, 1));
  expect(statuses(again.items)).toEqual(statuses(body.items));
  await expect.poll(() => paid).toEqual([{ to: 'x', amount: 200 }]);
});

test('policies, scopes and the shape of a decision hold for each item', async () => {
  const { as, ai, paid } = await startServer({
    mayRead: () => true,
    instance: { policyFor: upTo(399, 'ann') },
  });
  const ann = await as('ann');
  for (const amount of [200, 300, 500]) await begin(ann, ai, `pay x ${amount}`);
  const [a, b, c] = await pendingItems(ann);
  const edit = { ...b, decision: { type: 'approve', edit: { to: 'x', amount: 450 } } };
  const answer = { ...a, decision: { type: 'respond', output: { receipt: 'x' } } };
  const { body } = await ann('POST', PATH, { items: [answer, edit, c] });
  // The edit is beyond her limit, so the boss must agree to it.
  expect(statuses(body.items)).toEqual(['invalid', 'waiting', 'not-allowed']);
  expect(paid).toEqual([]);
  const reader = await as('ann', { scopes: ['read'] });
  expect((await reader('POST', PATH, { items: [a] })).status).toBe(403);
});

test('malformed requests decide nothing', async () => {
  const { as, ai } = await startServer();
  const ann = await as('ann');
  await begin(ann, ai, 'pay x 200');
  const [item] = await pendingItems(ann);
  for (const body of [
    { items: [] },
    { items: [item, item] },
    { items: Array.from({ length: 501 }, (_, index) => ({ ...item, requestId: `run:${index}` })) },
    { items: [{ ...item, digest: undefined }] },
    { items: [item], by: 'bob' },
    { items: [{ ...item, note: 'x' }] },
  ])
    expect((await ann('POST', PATH, body)).status, JSON.stringify(body).slice(0, 80)).toBe(400);
  const large = { items: [item], note: 'x'.repeat(1_100_000) };
  expect((await ann('POST', PATH, large)).status).toBe(413);
  expect(await pendingItems(ann)).toHaveLength(1);
});

test('two people decide the same 120 at once: each is decided once, and both see who was first', async () => {
  const { as, ai, paid, url, tokenFor } = await startServer();
  const ann = await as('ann');
  for (let index = 0; index < 120; index++) await ai.agents.get('teller')?.start(`pay x ${200 + index}`, { by: 'ann' });
  await expect.poll(async () => (await pendingItems(ann)).length).toBe(120);
  const items = await pendingItems(ann);
  const people = await Promise.all(
    ['eve', 'joe'].map(async (id) => createClient(url, { token: await tokenFor(id, { reach: 'all' }) })),
  );
  const progress: number[] = [];
  const [approvals = [], rejections = []] = await Promise.all(
    people.map(({ requests }, index) =>
      requests.decideMany(
        {
          items: items.map((item) => ({ ...item, decision: { type: index === 0 ? 'approve' : 'reject' } })),
          reason: 'No',
        },
        { onProgress: (outcomes) => void (index === 0 && progress.push(outcomes.length)) },
      ),
    ),
  );
  expect(progress).toEqual([50, 100, 120]);
  for (const [index, approval] of approvals.entries())
    expect([approval.status, rejections[index]?.status].toSorted()).toEqual(['conflict', 'settled']);
  const approved = approvals.filter(({ status }) => status === 'settled').length;
  await expect.poll(() => paid.length).toBe(approved);
  expect(new Set(paid.map(({ amount }) => amount)).size).toBe(approved);
});
