// Asking for changes through the API, and what a program outside learns of it: it runs nothing, and its changed call is the next round.
import { createClient } from '@countersign/server/client';
import { expect, test } from 'vitest';
import { type Ask, startServer } from './server.ts';

const DEPLOY = { tool: 'deploy', input: { to: 'production', replicas: 9 }, key: 'build-7' };
const LESS = { ...DEPLOY, input: { to: 'production', replicas: 3 }, key: 'build-7b' };
const COMMENT = 'Three replicas are enough.';
const REVISE = { type: 'revise', comment: COMMENT };
const GATE = '/api/v1/gate';

const decideOn = (as: Ask, id: string, decision: object, digest?: string) =>
  as('POST', `/api/v1/requests/${encodeURIComponent(id)}/decide`, { decision, ...(digest && { digest }) });

async function opened() {
  const server = await startServer();
  const [ci, boss, eve] = [
    await server.as('ci', { scopes: ['start'] }),
    await server.as('boss', { reach: 'all' }),
    await server.as('eve', { scopes: ['start'] }),
  ];
  const { body: asked } = await ci('POST', GATE, DEPLOY);
  return { ...server, ci, boss, eve, asked };
}

test('a program learns what to change, gets no start, and its changed call is the second round', async () => {
  const { ci, boss, asked } = await opened();
  const { runId, id } = asked;
  const waiting = ci('GET', `${GATE}/${runId}?wait=30`);
  expect(await decideOn(boss, id, REVISE)).toMatchObject({
    status: 200,
    body: { status: 'settled', decision: REVISE },
  });
  const told = {
    status: 'rejected',
    reason: `a person asks for changes: ${COMMENT}`,
    revise: { comment: COMMENT, by: 'boss' },
  };
  expect((await waiting).body).toMatchObject(told);
  expect((await ci('POST', GATE, DEPLOY)).body).toMatchObject(told);
  expect(await ci('POST', `${GATE}/${runId}/started`)).toMatchObject({
    status: 409,
    body: { code: 'start-refused', gate: told },
  });

  const { body: second } = await ci('POST', GATE, { ...LESS, revises: runId });
  expect(second).toMatchObject({ status: 'pending' });
  const { body: card } = await boss('GET', `/api/v1/requests/${encodeURIComponent(second.id)}`);
  expect(card.previous).toEqual({ requestId: id, input: DEPLOY.input, comment: COMMENT, by: 'boss', round: 1 });
  expect((await decideOn(boss, second.id, { type: 'approve' }, card.digest)).status).toBe(200);
  expect((await ci('POST', `${GATE}/${second.runId}/started`)).body).toMatchObject({ input: LESS.input });

  const { body: first } = await boss('GET', `/api/v1/requests/${encodeURIComponent(id)}`);
  expect(first).toMatchObject({
    decision: { type: 'revise', comment: COMMENT, by: 'boss' },
    outcome: { state: 'not-run', why: 'changes-asked' },
  });
  const csv = await boss('GET', '/api/v1/requests.csv?status=settled');
  expect(csv.body).toContain('changes asked for');
});

test('nobody revises a call that they cannot read, or one that was not sent back', async () => {
  const { ci, eve, boss, asked, ai } = await opened();
  expect(await ci('POST', GATE, { ...LESS, revises: asked.runId })).toMatchObject({
    status: 400,
    body: { code: 'invalid-request' },
  });
  await decideOn(boss, asked.id, REVISE);
  expect(await eve('POST', GATE, { ...LESS, revises: asked.runId })).toMatchObject({
    status: 404,
    body: { code: 'unknown-run' },
  });
  for (const revises of ['', 'run_1', `${asked.runId}x`, { key: 'build-7' }, null])
    expect((await ci('POST', GATE, { ...LESS, revises })).status).toBe(400);
  expect((await ai.runs.requests()).items).toEqual([]);
});

test('without a comment, or with fields of other decisions, it is refused, and nothing is recorded', async () => {
  const { boss, asked, ai } = await opened();
  for (const decision of [
    { type: 'revise' },
    { type: 'revise', comment: ' ' },
    { type: 'revise', comment: 'x'.repeat(2_001) },
    { type: 'revise', reason: 'Less.' },
    { ...REVISE, edit: {} },
  ])
    expect((await decideOn(boss, asked.id, decision)).status).toBe(400);
  expect(await ai.runs.request(asked.id)).toMatchObject({ settlement: null });
});

test('a person who may not decide, and a token that only reads, cannot ask for changes', async () => {
  const { as, asked, ai } = await opened();
  expect((await decideOn(await as('mallory'), asked.id, REVISE)).status).toBe(404);
  expect((await decideOn(await as('boss', { reach: 'all', scopes: ['read'] }), asked.id, REVISE)).status).toBe(403);
  expect(await ai.runs.request(asked.id)).toMatchObject({ settlement: null });
});

test('the client asks for changes', async () => {
  const { url, tokenFor, asked } = await opened();
  const client = createClient(url, { token: await tokenFor('boss', { reach: 'all' }) });
  expect(await client.requests.decide(asked.id, { decision: { type: 'revise', comment: COMMENT } })).toMatchObject({
    decision: REVISE,
  });
});
