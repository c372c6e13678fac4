// The gate over HTTP: asked once per key, decided by people, started once, reported with the token.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiError, createClient } from '@countersign/server/client';
import { sqliteStore } from 'countersign/sqlite';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type Ask, startServer, type TestServer } from './server.ts';

const DEPLOY = { tool: 'deploy', input: { to: 'production' }, key: 'build-7' };
const GATE = '/api/v1/gate';

async function approve(server: TestServer, id: string, decision: object = { type: 'approve' }): Promise<void> {
  const decide = await server.as('boss', { reach: 'all' });
  expect((await decide('POST', `/api/v1/requests/${encodeURIComponent(id)}/decide`, { decision })).status).toBe(200);
}

/** A call that the CI has asked for and the boss has approved. */
async function approvedCall(server: TestServer, ci: Ask, key = 'build-7'): Promise<string> {
  const { body } = await ci('POST', GATE, { ...DEPLOY, key });
  await approve(server, body.id);
  return body.runId;
}

test('a program asks once per key, starts once, and reports', async () => {
  const server = await startServer();
  const ci = await server.as('ci', { scopes: ['start'] });
  const asked = { ...DEPLOY, title: 'Deploy build 7', risk: 'high', labels: ['ops'], reversibility: 'reversible' };
  const first = await ci('POST', GATE, asked);
  expect(first).toMatchObject({ status: 200, body: { status: 'pending', id: expect.stringMatching(/^gate\./) } });
  expect(first.body.url).toBe(`${server.url}/requests/${encodeURIComponent(first.body.id)}`);
  expect((await ci('POST', GATE, asked)).body).toEqual(first.body);
  const { runId, id } = first.body;
  expect((await ci('POST', `${GATE}/${runId}/started`)).body).toMatchObject({
    code: 'start-refused',
    status: 409,
    gate: { status: 'pending', id },
  });
  const card = await server.ai.runs.request(id);
  expect(card).toMatchObject({ tool: 'deploy', risk: 'high', labels: ['ops'], startedBy: 'ci' });

  const waiting = ci('GET', `${GATE}/${encodeURIComponent(id)}?wait=30`);
  await approve(server, id, { type: 'approve', edit: { to: 'staging' } });
  expect((await waiting).body).toMatchObject({ status: 'approved', input: { to: 'staging' } });

  const starts = await Promise.all([1, 2, 3].map(() => ci('POST', `${GATE}/${runId}/started`, { lease: 60 })));
  expect(starts.map(({ status }) => status).toSorted()).toEqual([200, 409, 409]);
  const { token, input } = starts.find(({ status }) => status === 200)?.body ?? {};
  expect(input).toEqual({ to: 'staging' });
  expect((await ci('GET', `${GATE}/${runId}`)).body).toMatchObject({ status: 'started' });
  const again = await ci('POST', `${GATE}/${runId}/started`, { token });
  expect(again).toMatchObject({ status: 200, body: { token } });
  const guessed = { token: 'guessed-token', output: 1 };
  expect((await ci('POST', `${GATE}/${runId}/result`, guessed)).body).toMatchObject({ code: 'not-granted' });
  const done = await ci('POST', `${GATE}/${runId}/result`, { token, output: 0 });
  expect(done.body).toMatchObject({ status: 'done', output: 0, runId });
  expect((await ci('POST', `${GATE}/${runId}/result`, { token, output: 0 })).body).toEqual(done.body);
  expect((await ci('POST', GATE, { ...asked, wait: 60 })).body).toEqual(done.body);
  expect((await ci('POST', `${GATE}/${runId}/started`)).body).toMatchObject({ gate: { status: 'done' } });
});

test('the same key with another input is a conflict, and keys of people are their own', async () => {
  const server = await startServer();
  const [ci, eve] = [await server.as('ci'), await server.as('eve')];
  const { body: own } = await ci('POST', GATE, DEPLOY);
  const other = await ci('POST', GATE, { ...DEPLOY, input: { to: 'test' } });
  expect(other).toMatchObject({
    status: 409,
    body: { code: 'gate-conflict', detail: expect.stringContaining('"build-7"') },
  });
  const { body: hers } = await eve('POST', GATE, { ...DEPLOY, input: { to: 'test' } });
  expect(hers.runId).not.toBe(own.runId);
  for (const [method, path] of [
    ['GET', ''],
    ['POST', '/started'],
    ['POST', '/withdraw'],
  ] as const)
    expect((await eve(method, `${GATE}/${own.runId}${path}`)).body).toMatchObject({ code: 'unknown-run', status: 404 });
  expect((await ci('GET', `${GATE}/${own.runId}`)).body).toMatchObject({ status: 'pending' });
});

test('a key that looks like the id of a call is a key of its own', async () => {
  const server = await startServer();
  const ci = await server.as('ci');
  const runId = await approvedCall(server, ci);
  const { body } = await ci('POST', GATE, { ...DEPLOY, key: runId });
  expect(body).toMatchObject({ status: 'pending' });
  expect(body.runId).not.toBe(runId);
  expect((await ci('GET', `${GATE}/build-7`)).body).toMatchObject({ code: 'unknown-run', status: 404 });
});

test('people who may decide a call cannot start it, and asking needs the scope start', async () => {
  const policy = { quorum: [{ of: { people: ['boss'] }, count: 1 }] };
  const server = await startServer({ instance: { rules: [{ tool: 'deploy', policy }] } });
  const [ci, boss] = [await server.as('ci'), await server.as('boss')];
  const { body } = await ci('POST', GATE, DEPLOY);
  const decision = { decision: { type: 'approve' } };
  expect((await ci('POST', `/api/v1/requests/${body.id}/decide`, decision)).status).toBe(403);
  expect((await boss('POST', `/api/v1/requests/${body.id}/decide`, decision)).status).toBe(200);
  expect((await boss('GET', `${GATE}/${body.runId}`)).body).toMatchObject({ status: 'approved' });
  expect((await boss('POST', `${GATE}/${body.runId}/started`)).body).toMatchObject({ code: 'not-allowed' });
  const reader = await server.as('ci', { scopes: ['read', 'decide'] });
  expect((await reader('POST', GATE, DEPLOY)).body).toMatchObject({ code: 'not-allowed', status: 403 });
});

test('a rejected or withdrawn call never starts, and a failure is recorded', async () => {
  const server = await startServer();
  const ci = await server.as('ci');
  const { body: rejected } = await ci('POST', GATE, { ...DEPLOY, key: 'a' });
  await approve(server, rejected.id, { type: 'reject', reason: 'Not on Friday.' });
  expect((await ci('GET', `${GATE}/${rejected.runId}`)).body).toMatchObject({
    status: 'rejected',
    reason: 'Not on Friday.',
  });
  expect((await ci('POST', `${GATE}/${rejected.runId}/started`)).status).toBe(409);

  const withdrawn = await approvedCall(server, ci, 'b');
  const answer = await ci('POST', `${GATE}/${withdrawn}/withdraw`, { reason: 'The build is broken.' });
  expect(answer.body).toMatchObject({ status: 'rejected', reason: expect.stringContaining('The build is broken.') });
  expect((await ci('POST', `${GATE}/${withdrawn}/started`)).status).toBe(409);

  for (const [key, report, mayHaveActed] of [
    ['c', { error: 'timeout' }, true],
    ['d', { error: 'no disk', notPerformed: true }, false],
  ] as const) {
    const runId = await approvedCall(server, ci, key);
    const token = `token-of-${key}`;
    await ci('POST', `${GATE}/${runId}/started`, { token });
    const failed = await ci('POST', `${GATE}/${runId}/result`, { token, ...report });
    expect(failed.body).toMatchObject({ status: 'failed', mayHaveActed, error: expect.stringContaining(report.error) });
  }
});

test('withdrawals and starts at once on two servers: a granted start is reported, a withdrawn call never starts', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-gate-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const open = () => startServer({ store: sqliteStore(join(folder, 'calls.db')) });
  const [one, two] = [await open(), await open()];
  const [ci, other] = [await one.as('ci'), await two.as('ci')];
  for (let round = 0; round < 20; round++) {
    const runId = await approvedCall(one, ci, `build-${round}`);
    const start = () => ci('POST', `${GATE}/${runId}/started`, { token: `token-of-${round}` });
    const withdraw = () => other('POST', `${GATE}/${runId}/withdraw`);
    const cancel = () => other('POST', `/api/v1/runs/${runId}/cancel`, {});
    const [started] = await Promise.all([start(), withdraw(), cancel()]);
    const { body } = await other('POST', `${GATE}/${runId}/result`, { token: `token-of-${round}`, output: round });
    if (started.status === 200) expect(body).toMatchObject({ status: 'done', output: round });
    else expect([started.body.gate.status, body.code]).toEqual(['rejected', 'not-granted']);
    expect((await ci('GET', `${GATE}/${runId}`)).body.status).toBe(started.status === 200 ? 'done' : 'rejected');
  }
});

test('a start without a report becomes a doubt after its lease, and the program is told', async () => {
  const server = await startServer();
  const ci = await server.as('ci');
  const runId = await approvedCall(server, ci);
  const { body } = await ci('POST', `${GATE}/${runId}/started`, { lease: 1 });
  const doubt = await ci('GET', `${GATE}/${runId}?wait=30`);
  expect(doubt.body).toMatchObject({ status: 'doubt', id: expect.any(String) });
  expect((await ci('POST', GATE, { ...DEPLOY, wait: 60 })).body).toMatchObject({ status: 'doubt' });
  expect((await ci('POST', `${GATE}/${runId}/started`)).body).toMatchObject({ gate: { status: 'doubt' } });
  const late = await ci('POST', `${GATE}/${runId}/result`, { token: body.token, output: 'late' });
  expect(late.body).toMatchObject({ status: 'done', output: 'late' });
});

test('the program that was granted the start extends its lease while it works, and nobody else does', async () => {
  const server = await startServer();
  const ci = await server.as('ci');
  const { gate } = createClient(server.url, { token: await server.tokenFor('ci') });
  const runId = await approvedCall(server, ci);
  const { token, until } = await gate.start(runId, { lease: 2 });
  const renewed = await gate.renew(runId, { token, lease: 60 });
  expect(renewed).toMatchObject({ runId, token, input: DEPLOY.input });
  expect(renewed.until).toBeGreaterThan(until);
  expect(await gate.get(runId)).toMatchObject({ status: 'started', until: renewed.until });
  for (const [who, secret] of [
    ['ci', 'guessed-token'],
    ['boss', token],
  ] as const) {
    const other = await server.as(who);
    const { status } = await other('POST', `${GATE}/${runId}/renew`, { token: secret });
    expect(status).toBeGreaterThanOrEqual(400);
  }
  expect((await ci('POST', `${GATE}/${runId}/renew`, { lease: 60 })).status).toBe(400);
  expect((await ci('POST', `${GATE}/${runId}/renew`, { token, lease: 86_401 })).status).toBe(400);
  await gate.finish(runId, { token, output: 0 });
  const late = await ci('POST', `${GATE}/${runId}/renew`, { token });
  expect(late).toMatchObject({ status: 409, body: { code: 'start-refused', gate: { status: 'done', output: 0 } } });
});

test('a lease that has ended is not extended, and the answer says that the call is in doubt', async () => {
  const server = await startServer();
  const ci = await server.as('ci');
  const runId = await approvedCall(server, ci);
  const { body } = await ci('POST', `${GATE}/${runId}/started`, { lease: 1 });
  expect((await ci('GET', `${GATE}/${runId}?wait=30`)).body).toMatchObject({ status: 'doubt' });
  const late = await ci('POST', `${GATE}/${runId}/renew`, { token: body.token });
  expect(late.body).toMatchObject({ code: 'start-refused', gate: { status: 'doubt' } });
  expect(late.body.detail).toContain('Report what the program did');
});

test('a call in doubt is settled by a person', async () => {
  const server = await startServer();
  const ci = await server.as('ci');
  const runId = await approvedCall(server, ci);
  await ci('POST', `${GATE}/${runId}/started`, { lease: 1 });
  const { body } = await ci('GET', `${GATE}/${runId}?wait=30`);
  await approve(server, body.id, { type: 'respond', output: 'I looked: it is deployed.' });
  await expect.poll(async () => (await ci('GET', `${GATE}/${runId}`)).body.status).toBe('done');
});

test('a long poll ends at its time, counts as a stream, and ends when the server stops', async () => {
  const server = await startServer({ maxStreamsPerPerson: 1 });
  const ci = await server.as('ci');
  const { body } = await ci('POST', GATE, { ...DEPLOY, wait: 1 });
  expect(body).toMatchObject({ status: 'pending' });
  const waiting = ci('GET', `${GATE}/${body.runId}?wait=60`);
  await expect
    .poll(async () => (await ci('GET', `${GATE}/${body.runId}?wait=1`)).body)
    .toMatchObject({ code: 'too-many-streams', status: 429 });
  await server.server.close();
  expect((await waiting).body).toMatchObject({ status: 'pending' });
});

test.each([
  ['no key', { key: undefined }],
  ['no input', { input: undefined }],
  ['a key with a line break', { key: 'a\nb' }],
  ['a name with a space', { tool: 'de ploy' }],
  ['an unknown option', { onExpiry: 'approve' }],
  ['a wait of an hour', { wait: 3_600 }],
  ['a schema with a pattern', { schema: { type: 'object', properties: { to: { pattern: '(a+)+$' } } } }],
  ['a schema with a reference', { schema: { $ref: '#' } }],
  ['a schema with unique items', { schema: { uniqueItems: true } }],
  ['a schema of 100,000 characters', { schema: { description: 'a'.repeat(100_000) } }],
  ['a schema that the input does not fit', { schema: { type: 'object', required: ['from'] } }],
  ['no schema', { schema: { to: 'string' } }],
])('%s is refused, and nothing is asked', async (_name, change) => {
  const server = await startServer();
  const ci = await server.as('ci');
  expect((await ci('POST', GATE, { ...DEPLOY, ...change })).status).toBe(400);
  expect((await server.ai.runs.requests()).items).toEqual([]);
});

test('a property that is called pattern is no pattern', async () => {
  const server = await startServer();
  const ci = await server.as('ci');
  const schema = { type: 'object', properties: { to: {}, pattern: { type: 'string' } }, default: { $ref: 'x' } };
  expect((await ci('POST', GATE, { ...DEPLOY, schema })).body).toMatchObject({ status: 'pending' });
});

test('the typed client asks, waits, starts and reports', async () => {
  const server = await startServer();
  const { gate } = createClient(server.url, { token: await server.tokenFor('ci') });
  const asked = await gate.ask(DEPLOY);
  await expect(gate.start(asked.runId)).rejects.toThrow(ApiError);
  const waiting = gate.get(asked.runId, { wait: 30 });
  await approve(server, asked.status === 'pending' ? asked.id : '');
  expect(await waiting).toMatchObject({ status: 'approved' });
  const { token } = await gate.start(asked.runId, { lease: 60 });
  expect(await gate.finish(asked.runId, { token, output: null })).toMatchObject({ status: 'done', output: null });
  const other = await gate.ask({ ...DEPLOY, key: 'build-8' });
  expect(await gate.withdraw(other.runId, { reason: 'old' })).toMatchObject({ status: 'rejected' });
});

test('the longest wait is answered before the server ends a connection that is silent for a minute', async () => {
  const server = await startServer();
  const ci = await server.as('ci', { scopes: ['start'] });
  const { timeout } = AbortSignal;
  const waits: number[] = [];
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
    waits.push(ms);
    return timeout.call(AbortSignal, Math.min(ms, 1));
  });
  expect((await ci('POST', GATE, { ...DEPLOY, wait: 60 })).body).toMatchObject({ status: 'pending' });
  expect(Math.max(...waits)).toBe(55_000);
});
