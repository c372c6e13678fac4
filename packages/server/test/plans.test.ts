// Plans over HTTP: asked for as one call of the gate, with what came of each step.
import { createClient } from '@countersign/server/client';
import { expect, test } from 'vitest';
import { startServer } from './server.ts';

const GATE = '/api/v1/gate';
const tools = [
  { name: 'deploy', schema: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] } },
];
const steps = [{ tool: 'deploy', input: { to: 'staging' } }];

test('a program proposes a plan, and its calls start without another request, each once', async () => {
  const server = await startServer();
  const ci = await server.as('ci', { scopes: ['start', 'read'] });
  const asked = await ci('POST', GATE, { tool: 'plan', tools, input: { steps }, key: 'plan-7' });
  expect(asked).toMatchObject({ status: 200, body: { status: 'pending' } });
  const { id, runId } = asked.body;
  const plan = `/api/v1/requests/${encodeURIComponent(id)}/plan`;
  expect((await ci('GET', plan)).body).toMatchObject({ steps: [{ tool: 'deploy', status: 'proposed', calls: [] }] });
  const boss = await server.as('boss', { reach: 'all' });
  const decided = await boss('POST', `/api/v1/requests/${encodeURIComponent(id)}/decide`, {
    decision: { type: 'approve' },
  });
  expect(decided.status).toBe(200);
  expect((await ci('GET', `${GATE}/${runId}?wait=30`)).body).toMatchObject({ status: 'done' });
  const call = { tool: 'deploy', input: { to: 'staging' } };
  const first = (await ci('POST', GATE, { ...call, key: 'one' })).body;
  expect(first).toMatchObject({ status: 'approved' });
  expect((await ci('POST', `${GATE}/${first.runId}/started`)).status).toBe(200);
  expect((await ci('POST', GATE, { ...call, key: 'two' })).body).toMatchObject({ status: 'pending' });
  expect((await ci('GET', plan)).body).toMatchObject({
    steps: [{ status: 'used-up', left: 0, calls: [{ runId: first.runId }] }],
  });
  const other = await server.as('eve', { scopes: ['start', 'read'] });
  expect((await other('GET', plan)).status).toBe(404);
  expect((await ci('GET', `/api/v1/requests/${encodeURIComponent(`${id}x`)}/plan`)).status).toBe(404);
});

test('a step that does not fit its tool asks nobody', async () => {
  const server = await startServer();
  const ci = await server.as('ci', { scopes: ['start'] });
  const body = { tool: 'plan', tools, input: { steps: [{ tool: 'deploy', input: {} }] }, key: 'plan-8' };
  expect((await ci('POST', GATE, body)).body).toMatchObject({ status: 400, code: 'invalid-request' });
});

test('the client has a name for it', () => {
  expect(createClient('http://127.0.0.1:1').gate.plan).toBeTypeOf('function');
});
