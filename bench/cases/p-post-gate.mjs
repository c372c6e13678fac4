import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { openApproving } from '../lib/approving.mjs';
import { BESIDE, beside } from '../lib/beside.mjs';

// Client and server are one process, so the CPU time is that of both. The bare endpoints keep what they get in a Map.
export default {
  ...BESIDE,
  id: 'P',
  title:
    '`POST /gate` over loopback HTTP, from asking to the report (4 requests), beside endpoints of Hono that keep the same in a Map',
  variants: [{ key: 'SQLite in memory' }, { key: 'SQLite on disk', file: 'runs.db' }],
  async open(_adapter, { file }) {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'countersign-bench-gate-'));
    const gate = openApproving(file && { file: path.join(folder, file) });
    const { createToken, serve } = await import('@countersign/server');
    const server = await serve(gate.ai, { port: 0, inboxDir: false, worker: false });
    const tokenOf = async (person) => (await createToken(gate.ai.runs.notes, { person, reach: 'all' })).token;
    const [program, boss] = [await tokenOf('ci'), await tokenOf('boss')];
    const bare = await bareServer();
    const at = (port, token) => (url, body) => post(`http://127.0.0.1:${port}/api/v1/${url}`, body, token);
    let calls = 0;
    return {
      ours: () => call(at(server.port, program), at(server.port, boss), ++calls),
      bare: () => call(at(bare.port, program), at(bare.port, boss), ++calls),
      async close() {
        await server.close();
        bare.close();
        await gate.close();
        fs.rmSync(folder, { recursive: true, force: true });
      },
    };
  },
  round: ({ ours, bare }, _variant, env) => beside({ ours, bare }, env),
  close: (c) => c?.close(),
};

async function call(ask, decide, number) {
  const { runId, id } = await ask('gate', { tool: 'deploy', input: { to: 'production' }, key: `build-${number}` });
  await decide(`requests/${encodeURIComponent(id)}/decide`, { decision: { type: 'approve' } });
  const { token, input } = await ask(`gate/${runId}/started`, {});
  assert.equal(input.to, 'production');
  const { status } = await ask(`gate/${runId}/result`, { token, output: 'deployed' });
  assert.equal(status, 'done');
}

async function post(url, body, token) {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  const answer = await response.json();
  assert.equal(response.status, 200, JSON.stringify(answer));
  return answer;
}

async function bareServer() {
  const { serve } = await import('@hono/node-server');
  const { Hono } = await import('hono');
  const calls = new Map();
  const app = new Hono().basePath('/api/v1');
  const change = async (c, to) => {
    const id = decodeURIComponent(c.req.param('id'));
    const known = { ...calls.get(id), ...to, ...(await c.req.json()) };
    calls.set(id, known);
    return c.json(known);
  };
  app.post('/gate', async (c) => {
    const { key, input } = await c.req.json();
    const known = { runId: key, id: key, input, status: 'pending' };
    calls.set(key, known);
    return c.json(known);
  });
  app.post('/requests/:id/decide', (c) => change(c, { status: 'approved' }));
  app.post('/gate/:id/started', (c) => change(c, { status: 'started', token: 'token' }));
  app.post('/gate/:id/result', (c) => change(c, { status: 'done' }));
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' });
  await new Promise((resolve) => server.once('listening', resolve));
  return { port: server.address().port, close: () => server.close() };
}
