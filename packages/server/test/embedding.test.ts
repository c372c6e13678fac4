import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp, createToken } from '@countersign/server';
import { createClient } from '@countersign/server/client';
import { countersign, memoryStore } from 'countersign';
import { Hono } from 'hono';
import { expect, onTestFinished, test } from 'vitest';
import { defineTeller, obedientModel } from './server.ts';

async function embedded(options: Parameters<typeof createApp>[1]) {
  const ai = countersign({ model: obedientModel(), store: memoryStore() });
  defineTeller(ai);
  const app = createApp(ai, { inboxDir: false, ...options });
  onTestFinished(() => app.close());
  const { token } = await createToken(ai.runs.notes, { person: 'ann' });
  return { ai, app, token };
}

test('the app needs no socket: a request in, an answer out', async () => {
  const { app, token } = await embedded({});
  const client = createClient('http://approvals.test', {
    token,
    fetch: (input, init) => app.fetch(new Request(input, init)),
  });
  expect((await client.me()).id).toBe('ann');
  const run = await client.runs.start({ agent: 'parrot', prompt: 'hello' });
  const seen = [];
  for await (const event of client.runs.follow(run.id)) seen.push(event.type);
  expect(seen).toEqual(['user-spoke', 'model-replied']);
});

test('it is mounted below a path, by itself or in another app', async () => {
  const { app, token } = await embedded({ basePath: '/approvals' });
  const host = new Hono();
  host.get('/', (context) => context.text('the host'));
  host.all('/approvals/*', (context) => app.fetch(context.req.raw));
  const fetchHost: typeof fetch = async (input, init) => host.fetch(new Request(input, init));
  const client = createClient('http://host.test/approvals', { token, fetch: fetchHost });
  expect((await client.me()).id).toBe('ann');
  const document = (await (await fetchHost('http://host.test/approvals/api/v1/openapi.json')).json()) as any;
  expect(document.servers).toEqual([{ url: '/approvals/api/v1' }]);
  expect((await app.fetch(new Request('http://host.test/api/v1/me'))).status).toBe(404);
  expect((await app.fetch(new Request('http://host.test/approvalsx/api/v1/me'))).status).toBe(404);
  const { app: innerApp, token: innerToken } = await embedded({});
  const mounted = new Hono().route('/inner', innerApp.hono);
  expect((await mounted.fetch(new Request('http://host.test/inner/healthz'))).status).toBe(200);
  expect((await mounted.fetch(new Request('http://host.test/inner/api/v1/me'))).status).toBe(401);
  // Errors are the same as below any other path.
  const answer = async (method: string, path: string) => {
    const headers = { authorization: `Bearer ${innerToken}` };
    const response = await mounted.fetch(new Request(`http://host.test/inner/api${path}`, { method, headers }));
    return [response.status, response.headers.get('content-type'), response.headers.get('allow')];
  };
  const problem = 'application/problem+json';
  expect(await answer('GET', '/v1/nothing')).toEqual([404, problem, null]);
  expect(await answer('GET', '/v2/me')).toEqual([404, problem, null]);
  expect(await answer('PUT', '/v1/runs')).toEqual([405, problem, 'POST, GET']);
  expect(await answer('HEAD', '/v1/changes')).toEqual([405, problem, 'GET']);
});

test('its pages and their files are found wherever it is mounted, in either way', async () => {
  const inboxDir = mkdtempSync(join(tmpdir(), 'countersign-inbox-'));
  onTestFinished(() => rmSync(inboxDir, { recursive: true }));
  mkdirSync(join(inboxDir, 'assets'));
  writeFileSync(join(inboxDir, 'index.html'), '<!doctype html><script src="./assets/app-1.js"></script>INBOX');
  writeFileSync(join(inboxDir, 'assets', 'app-1.js'), 'export const app = 1;');
  const { app } = await embedded({ basePath: '/approvals', inboxDir });
  const passedOn = new Hono().all('/approvals/*', (context) => app.fetch(context.req.raw));
  const mounted = new Hono().route('/approvals', app.hono);
  for (const host of [passedOn, mounted]) {
    const text = async (path: string) => (await host.fetch(new Request(`http://host.test/approvals${path}`))).text();
    expect(await text('/runs/run_1')).toContain('src="/approvals/assets/app-1.js"');
    expect(await text('/assets/app-1.js')).toBe('export const app = 1;');
  }
});

test('a server without a store is refused', () => {
  expect(() => createApp(countersign({ model: obedientModel() }))).toThrow(/store/);
  const ai = countersign({ model: obedientModel(), store: memoryStore() });
  expect(() => createApp(ai, { basePath: 'no/slash' })).toThrow(/basePath/);
});

test('the document describes every route, and the page shows every one of them', async () => {
  const { app } = await embedded({});
  const document = (await (await app.fetch(new Request('http://x.test/api/v1/openapi.json'))).json()) as any;
  expect(document.openapi).toBe('3.1.0');
  const posted = document.webhooks.request.post.requestBody.content['application/json'].schema;
  expect(posted).toEqual({ $ref: '#/components/schemas/WebhookEvent' });
  const page = await (await app.fetch(new Request('http://x.test/api/v1/docs'))).text();
  const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods as object).map((method) => [method, path]),
  );
  expect(routes.length).toBeGreaterThan(18);
  const atRoot = ['/healthz', '/readyz', '/metrics'];
  expect(routes.map(([, path]) => path)).toEqual(expect.arrayContaining(atRoot));
  for (const [, path = ''] of routes)
    expect(page).toContain(`<code>${atRoot.includes(path) ? '' : '/api/v1'}${path}</code>`);
  for (const name of Object.keys(document.components.schemas)) expect(page).toContain(`id="${name}"`);
  for (const [path, methods] of Object.entries(document.paths))
    for (const operation of Object.values(methods as Record<string, any>)) {
      expect(operation.summary).toBeTruthy();
      if (path !== '/healthz' && path !== '/readyz') expect(operation.responses['401'], path).toBeDefined();
      expect(operation.responses.default.content['application/problem+json'], path).toBeDefined();
      // A path names its parameters, each once, and they are required.
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const inPath = (operation.parameters ?? []).filter((parameter: any) => parameter.in === 'path');
      expect(inPath.map(({ name }: any) => name).toSorted(), path).toEqual(named.toSorted());
      expect(inPath.every(({ required }: any) => required === true)).toBe(true);
    }
});
