// Servers that are stopped or killed: accepted work is finished or handed over.
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { serve } from '@countersign/server';
import { countersign, memoryStore, z } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { scriptedModel } from 'countersign/testing';
import { expect, onTestFinished, test } from 'vitest';
import { startServer } from './server.ts';

test('a clean stop lets the running tool finish and leaves the rest to the next worker', async () => {
  const store = memoryStore();
  const paid: string[] = [];
  const started = Promise.withResolvers<void>();
  const mayGoOn = Promise.withResolvers<void>();
  const open = () => {
    const model = scriptedModel(({ messages }) =>
      messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: 'pay', input: {} }] },
    );
    const ai = countersign({ model, store });
    const pay = ai.defineTool({ name: 'pay', description: '', inputSchema: z.object({}) }, async () => {
      started.resolve();
      await mayGoOn.promise;
      paid.push('once');
      return 'paid';
    });
    ai.defineAgent({ name: 'payer', tools: [pay] });
    return ai;
  };
  const ai = open();
  const first = await serve(ai, { port: 0, inboxDir: false, graceMs: 100 });
  await ai.agents.get('payer')?.start('pay', { runId: 'run-1' });
  await started.promise;
  const closing = first.close();
  mayGoOn.resolve();
  await closing;
  expect(paid).toEqual(['once']);
  // Nothing was lost and nothing runs twice: the next server continues from the record.
  const next = open();
  const second = await serve(next, { port: 0, inboxDir: false });
  onTestFinished(async () => void (await second.close()));
  const view = await next.runs.wait('run-1', { until: 'end' });
  expect(view.status).toBe('done');
  expect(paid).toEqual(['once']);
});

test.each([
  ['its store is away', { dev: true }, 'store-failed'],
  ['its worker has a misspelt option', { worker: { concurency: 2 } as never }, 'invalid-options'],
])('a server that cannot start because %s leaves the port free and nothing running', async (_why, options, code) => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-serve-'));
  const store = sqliteStore(join(folder, 'later', 'runs.db'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const ai = countersign({ model: scriptedModel(['Hello.']), store });
  const { port, close } = await serve(ai, { port: 0, inboxDir: false });
  await close();
  await expect(serve(ai, { port, inboxDir: false, ...options })).rejects.toMatchObject({ code });
  await expect(fetch(`http://127.0.0.1:${port}/healthz`)).rejects.toThrow();
  mkdirSync(join(folder, 'later'));
  const lines: string[] = [];
  const log = ({ event }: { readonly event: string }) => lines.push(event);
  const server = await serve(ai, { port, inboxDir: false, dev: true, log });
  expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
  await ai.defineAgent({ name: 'greeter' }).start('Hi.', { runId: 'run' });
  expect((await ai.runs.wait('run', { until: 'end' })).status).toBe('done');
  await server.close();
  await store.close();
  expect(lines.filter((event) => event === 'started')).toHaveLength(1);
});

test('while it stops, a server reports it, ends its streams, and accepts no connections', async () => {
  const server = await startServer();
  const token = await server.tokenFor('ann');
  const stream = await fetch(`${server.url}/api/v1/changes`, { headers: { authorization: `Bearer ${token}` } });
  server.server.app.retire();
  const ready = await fetch(`${server.url}/readyz`);
  expect([ready.status, await ready.json()]).toEqual([503, { status: 'stopping' }]);
  const closing = server.server.close();
  // The server ends the stream, so that its client connects elsewhere.
  expect(await stream.text()).toContain(': connected');
  await closing;
  await expect(fetch(`${server.url}/healthz`)).rejects.toThrow();
  // A second call stops nothing again.
  await server.server.close();
});

test('once the app is closed, requests that change something get 503 and change nothing', async () => {
  const server = await startServer();
  const ask = await server.as('ann');
  server.server.app.close();
  expect((await ask('GET', '/api/v1/runs')).status).toBe(200);
  const start = await ask('POST', '/api/v1/runs', { agent: 'parrot', prompt: 'hello' });
  expect(start).toMatchObject({ status: 503, body: { code: 'server-stopping' } });
  expect(start.headers.get('connection')).toBe('close');
  expect(start.headers.get('retry-after')).toBe('1');
  const chat = { id: 'chat-1', messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'hello' }] }] };
  for (const [path, body] of [
    ['/api/v1/chat/parrot', chat],
    ['/api/v1/requests/some/decide', { decision: { type: 'approve' } }],
    ['/api/v1/runs/some/drive', {}],
  ] as const)
    expect((await ask('POST', path, body)).body).toMatchObject({ status: 503, code: 'server-stopping' });
  expect((await server.ai.runs.list()).items).toEqual([]);
});

test('a run that is started while the server stops is kept for the next one', async () => {
  const store = memoryStore();
  const server = await startServer({ store });
  const stopping = server.ai.runs.stop();
  const { id } = (await server.ai.agents.get('parrot')?.start('hello', { by: 'ann' })) ?? { id: '' };
  await stopping;
  expect((await server.ai.runs.get(id)).status).toBe('running');
});

test('kill -9 during load loses nothing and pays nothing twice', async () => {
  const script = fileURLToPath(new URL('../../../scripts/load.mjs', import.meta.url));
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, [
    script,
    '--json',
    '--runs',
    '24',
    '--at-once',
    '10',
    '--kills',
    '2',
    '--stops',
    '1',
  ]);
  const counted = JSON.parse(stdout);
  expect(counted).toMatchObject({ runs: 24, ended: 24, paid: 24, doubled: 0, unpaid: 0 });
  expect(counted).toMatchObject({ kills: 2, stops: 1 });
}, 120_000);
