// Rules through the API: replay, suggestions and versions, for people who see all runs.
import { rulesOf } from 'countersign/store';
import { expect, test } from 'vitest';
import { begin, startServer } from './server.ts';

test('other rules are tried on the past calls of everyone, and only people who see all runs may', async () => {
  const { as, ai } = await startServer();
  const [ann, boss] = [await as('ann'), await as('boss', { reach: 'all' })];
  const run = await begin(ann, ai, 'pay acme 500');
  const [request] = run.requests;
  const body = { rules: [{ tool: 'pay', policy: { quorum: [{ of: { roles: ['finance'] }, count: 2 }] } }] };
  const tried = (await boss('POST', '/api/v1/rules/replay', body)).body;
  expect(tried).toMatchObject({ runs: 1, calls: 1, same: 0, unread: 0 });
  expect(tried.changes).toMatchObject({ second: { count: 1, other: 1, calls: [{ id: request?.id, tool: 'pay' }] } });
  expect((await boss('POST', '/api/v1/rules/replay', {})).body).toMatchObject({ calls: 1, same: 1 });
  const denying = { rules: [{ then: 'deny' }] };
  expect((await boss('POST', '/api/v1/rules/replay', denying)).body.changes).toMatchObject({ denied: { count: 1 } });
  const wrong = await boss('POST', '/api/v1/rules/replay', { rules: [{ tool: 'pay', policy: 'none' }] });
  expect(wrong).toMatchObject({ status: 422, body: { code: 'invalid-request' } });
  for (const [method, path] of [
    ['POST', 'rules/replay'],
    ['GET', 'rules'],
    ['GET', 'rules/suggestions'],
  ] as const)
    expect((await ann(method, `/api/v1/${path}`, method === 'POST' ? {} : undefined)).status).toBe(403);
});

test('the applied rules and their versions are listed', async () => {
  const { as, ai } = await startServer();
  ai.definePolicy('payments', { notRequester: true });
  await rulesOf(ai).record('ann@build');
  const boss = await as('boss', { reach: 'all' });
  const { current, versions } = (await boss('GET', '/api/v1/rules')).body;
  expect(current.policies).toMatchObject({ payments: { notRequester: true } });
  expect(versions[0]).toMatchObject({ by: 'ann@build', difference: { added: { policies: { payments: {} } } } });
  expect((await boss('GET', '/api/v1/rules/suggestions')).body).toEqual({ items: [] });
});

test('past calls are replayed under other rules', async () => {
  const { as, ai } = await startServer();
  const gate = ai.gate(ai.defineTool({ name: 'wire', description: '' }, () => 'paid'));
  await gate.request({ amount: 5 }, { key: 'k' });
  const boss = await as('boss', { reach: 'all' });
  const { changes, calls } = (
    await boss('POST', '/api/v1/rules/replay', { days: 7, rules: [{ tool: 'wire', then: 'deny' }] })
  ).body;
  expect(calls).toBe(1);
  expect(changes.denied).toMatchObject({ count: 1, calls: [{ tool: 'wire' }] });
  expect((await boss('POST', '/api/v1/rules/replay', { rules: [{ then: 'perhaps' }] })).status).toBe(422);
});
