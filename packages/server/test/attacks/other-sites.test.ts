// A page of another site, open in the browser of a signed-in person.
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { asking, begin, raw, startServer, type TestServer } from '../server.ts';

/** The cookie of a person who used the one-time link. */
async function signIn({ server, url }: TestServer): Promise<string> {
  const response = await fetch(
    `${url}${new URL(server.loginUrl ?? '').pathname}${new URL(server.loginUrl ?? '').search}`,
    {
      redirect: 'manual',
    },
  );
  expect(response.status).toBe(303);
  return (response.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
}

const FOREIGN = [
  { origin: 'https://evil.example' },
  { origin: 'null' },
  { origin: 'http://127.0.0.1:1' },
  { origin: 'http://localhost' },
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site' },
  { 'sec-fetch-site': 'none' },
  {},
];

test('a decision with a session cookie from another origin is refused', async () => {
  const target = await startServer({ dev: true });
  const cookie = await signIn(target);
  const own = asking(target.url, { cookie, origin: target.url });
  const run = await begin(own, target.ai, 'pay bob 500');
  const path = `/api/v1/requests/${run.requests[0].id}/decide`;
  for (const headers of FOREIGN) {
    const foreign = asking(target.url, { cookie });
    for (const [method, address, body] of [
      ['POST', path, { decision: { type: 'approve' } }],
      ['POST', '/api/v1/runs', { agent: 'parrot', prompt: 'x' }],
      ['POST', `/api/v1/runs/${run.id}/cancel`, {}],
      ['POST', `/api/v1/runs/${run.id}/drive`, undefined],
      ['POST', `/api/v1/requests/${run.requests[0].id}/assignee`, { forMs: 5_000 }],
      ['DELETE', `/api/v1/requests/${run.requests[0].id}/assignee`, undefined],
      [
        'POST',
        '/api/v1/chat/teller',
        { id: run.id, decisions: [{ requestId: run.requests[0].id, decision: { type: 'approve' } }] },
      ],
      ['POST', '/api/v1/gate', { tool: 'deploy', input: {}, key: 'k' }],
      ['POST', '/api/v1/agui/teller', { threadId: run.id, runId: 'r', messages: [] }],
      ['POST', '/logout', undefined],
    ] as const) {
      const { status } = await foreign(method, address, body, headers as Record<string, string>);
      expect(status, `${method} ${address} ${JSON.stringify(headers)}`).toBe(403);
    }
  }
  expect(target.paid).toEqual([]);
  expect((await own('GET', `/api/v1/runs/${run.id}`)).body.status).toBe('waiting');
  expect((await own('POST', path, { decision: { type: 'approve' } })).status).toBe(200);
});

test('a decision from another origin is refused for people identified by a hook too', async () => {
  const target = await startServer({ identify: () => ({ id: 'ann' }) });
  const ask = asking(target.url, {});
  const begins = (headers: Record<string, string>) =>
    ask('POST', '/api/v1/runs', { agent: 'parrot', prompt: 'x' }, headers);
  for (const headers of FOREIGN) {
    // Requests without an origin, or typed by the user, do not come from a page.
    const isTold = 'origin' in headers || /-site$/.test(headers['sec-fetch-site'] ?? '');
    const { status } = await begins(headers as Record<string, string>);
    expect(status, JSON.stringify(headers)).toBe(isTold ? 403 : 201);
  }
  expect((await begins({ origin: target.url })).status).toBe(201);
});

test('a form of another site cannot post, even without an origin: it cannot send JSON', async () => {
  const target = await startServer();
  const token = await target.tokenFor('ann');
  const ask = asking(target.url, { authorization: `Bearer ${token}` });
  for (const type of [
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'text/plain',
    'text/json',
    'application/json+form',
    'application/jsonp',
    'application/json-patch+json',
    'application/json, text/plain',
    'application/json; charset=utf-16',
    'application/json; charset=utf-8; charset=utf-16',
  ]) {
    const { status } = await ask('POST', '/api/v1/runs', '{"agent":"parrot","prompt":"x"}', { 'content-type': type });
    expect(status, type).toBe(415);
  }
  const packed = { 'content-encoding': 'gzip' };
  expect((await ask('POST', '/api/v1/runs', { agent: 'parrot', prompt: 'x' }, packed)).status).toBe(415);
  for (const type of ['application/json', 'Application/JSON ; Charset="UTF-8"', 'application/json;charset=utf-8'])
    expect((await ask('POST', '/api/v1/runs', { agent: 'parrot', prompt: 'x' }, { 'content-type': type })).status).toBe(
      201,
    );
});

test('other origins cannot read responses: CORS is off', async () => {
  const target = await startServer();
  const ask = await target.as('ann');
  const { headers } = await ask('GET', '/api/v1/me', undefined, { origin: 'https://evil.example' });
  expect(headers.get('access-control-allow-origin')).toBeNull();
  expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
  const preflight = await ask('OPTIONS', '/api/v1/runs', undefined, {
    origin: 'https://evil.example',
    'access-control-request-method': 'POST',
  });
  expect(preflight.status).toBe(405);
  expect(preflight.headers.get('access-control-allow-origin')).toBeNull();
});

test('a foreign host name that points to this machine is refused', async () => {
  const { server } = await startServer();
  for (const host of [
    'evil.example',
    `evil.example:${server.port}`,
    'localhost.evil.example',
    '127.0.0.1.evil.example',
  ]) {
    const { status, body } = await raw(server.port, { path: '/healthz', headers: { host } });
    expect([status, JSON.parse(body).code], host).toEqual([421, 'not-allowed']);
  }
  for (const host of ['localhost', `localhost:${server.port}`, '127.0.0.1', '[::1]'])
    expect((await raw(server.port, { path: '/healthz', headers: { host } })).status, host).toBe(200);
  // Two names: a proxy may have used the other one.
  for (const hosts of [
    ['localhost', 'evil.example'],
    ['evil.example', 'localhost'],
  ]) {
    const socket = connect(server.port, '127.0.0.1');
    socket.write(`GET /healthz HTTP/1.1\r\n${hosts.map((host) => `Host: ${host}\r\n`).join('')}\r\n`);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString(), String(hosts)).toMatch(/^HTTP\/1\.1 400 /);
    socket.destroy();
  }
  for (const host of ['evil.example@localhost', 'local host', 'localhost/../x', 'localhost#']) {
    const { status } = await raw(server.port, { path: '/healthz', headers: { host } });
    expect(status, JSON.stringify(host)).toBe(400);
  }
});

test('behind a proxy the public URL is the own origin, and cookies are for https only', async () => {
  const target = await startServer({ dev: true, publicUrl: 'https://approvals.example.com' });
  const link = new URL(target.server.loginUrl ?? '');
  expect(link.origin).toBe('https://approvals.example.com');
  const { headers, status } = await raw(target.server.port, {
    path: `${link.pathname}${link.search}`,
    headers: { host: 'approvals.example.com' },
  });
  expect(status).toBe(303);
  const cookie = headers.get('set-cookie') ?? '';
  expect(cookie).toMatch(/^__Host-countersign=[\w-]{43}; Max-Age=\d+; Path=\/; HttpOnly; Secure; SameSite=Strict$/);
  expect(headers.get('strict-transport-security')).toContain('max-age=31536000');
  const start = (origin: string) =>
    raw(target.server.port, {
      method: 'POST',
      path: '/api/v1/runs',
      headers: {
        host: 'approvals.example.com',
        cookie: cookie.split(';')[0] ?? '',
        origin,
        'content-type': 'application/json',
      },
      body: '{"agent":"parrot","prompt":"x"}',
    });
  expect((await start('https://approvals.example.com')).status).toBe(201);
  expect((await start('http://approvals.example.com')).status).toBe(403);
  expect((await start('https://evil.example')).status).toBe(403);
});

test('local servers send no strict transport security, which would affect other servers on localhost', async () => {
  const { url } = await startServer();
  expect((await fetch(`${url}/healthz`)).headers.get('strict-transport-security')).toBeNull();
});
