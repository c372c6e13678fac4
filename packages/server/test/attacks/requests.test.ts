// Requests that are too large, too deep, too slow, or mislabelled.

import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { raw, startServer } from '../server.ts';

test('a body that is too large is refused before it is read', async () => {
  const { as, server, tokenFor } = await startServer({ maxBodyBytes: 10_000 });
  const ask = await as('ann');
  const large = await ask('POST', '/api/v1/runs', { agent: 'parrot', prompt: 'x'.repeat(20_000) });
  expect([large.status, large.body.code]).toEqual([413, 'too-large']);
  // The length is wrong or missing: no more than the limit is read.
  const socket = connect(server.port, '127.0.0.1');
  const token = await tokenFor('ann');
  socket.write(
    `POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
  );
  const chunk = `${(5_000).toString(16)}\r\n${'x'.repeat(5_000)}\r\n`;
  for (let sent = 0; sent < 5; sent++) socket.write(chunk);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 413 /);
  socket.destroy();
});

test('a body that is nested too deeply, or has too many values, is refused by every route with a body', async () => {
  const { as } = await startServer();
  const ask = await as('ann');
  const deep = `{"agent":"parrot","prompt":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
  const many = `{"agent":"parrot","prompt":[${'1,'.repeat(250_000)}1]}`;
  for (const path of [
    '/api/v1/runs',
    '/api/v1/runs/x/cancel',
    '/api/v1/requests/x:y/decide',
    '/api/v1/requests/x:y/assignee',
    '/api/v1/chat/parrot',
  ]) {
    for (const large of [deep, many]) {
      const { status, body } = await ask('POST', path, large);
      expect([status, body.code], path).toEqual([413, 'too-large']);
    }
  }
});

test('a body that is not JSON, not UTF-8, or invalid is refused with the place of the fault', async () => {
  const { as, server, tokenFor } = await startServer();
  const ask = await as('ann');
  for (const body of [
    '{',
    '',
    'null',
    '[]',
    '"x"',
    '1',
    '{"agent":1}',
    '{"agent":"parrot"}',
    '{"agent":"parrot","prompt":""}',
    '{"agent":"parrot","prompt":"  "}',
    '{"agent":"parrot","prompt":"x","more":1}',
    '{"__proto__":{"agent":"parrot"},"prompt":"x"}',
  ]) {
    const answer = await ask('POST', '/api/v1/runs', body, { 'content-type': 'application/json' });
    expect([answer.status, answer.body.code], body).toEqual([400, 'invalid-request']);
  }
  const where = await ask('POST', '/api/v1/runs', { agent: 5, prompt: [] });
  expect(where.body.problems.map(({ path }: any) => path[0])).toEqual(expect.arrayContaining(['agent', 'prompt']));
  const [before, after] = ['{"agent":"parrot","prompt":"', '"}'].map((text) => Buffer.from(text)) as [Buffer, Buffer];
  // An invalid byte, an overlong sequence, half of a surrogate pair, a truncated sequence.
  for (const bytes of [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xe2, 0x82]]) {
    const broken = await raw(server.port, {
      method: 'POST',
      path: '/api/v1/runs',
      headers: { authorization: `Bearer ${await tokenFor('ann')}`, 'content-type': 'application/json' },
      body: Buffer.concat([before, Buffer.from(bytes), after]),
    });
    expect([broken.status, JSON.parse(broken.body).detail], String(bytes)).toEqual([400, 'The body is not UTF-8.']);
  }
});

test('keys such as __proto__ change no prototype', async () => {
  const { as, ai, paid } = await startServer();
  const ask = await as('ann');
  const { body } = await ask('POST', '/api/v1/runs', { agent: 'teller', prompt: 'pay bob 500' });
  const view = await ai.runs.wait(body.id);
  const edit =
    '{"decision":{"type":"approve","edit":{"to":"bob","amount":5,"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}}}';
  const { status } = await ask('POST', `/api/v1/requests/${view.pending[0]}/decide`, edit);
  expect([200, 422]).toContain(status);
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  await ai.runs.settled();
  expect(paid.every((input) => !('polluted' in input))).toBe(true);
});

test('other methods are refused with the allowed ones', async () => {
  const { as, server } = await startServer();
  const ask = await as('ann');
  for (const [method, path, allow] of [
    ['PUT', '/api/v1/runs', 'POST, GET'],
    ['DELETE', '/api/v1/runs/x', 'GET'],
    ['PATCH', '/api/v1/requests/x:y/decide', 'POST'],
    ['GET', '/api/v1/requests/x:y/decide', 'POST'],
    ['GET', '/api/v1/runs/x/cancel', 'POST'],
    ['POST', '/api/v1/changes', 'GET'],
    ['POST', '/api/v1/openapi.json', 'GET'],
  ] as const) {
    const { status, headers, body } = await ask(method, path, method === 'GET' ? undefined : {});
    expect([status, body.code, headers.get('allow')], `${method} ${path}`).toEqual([405, 'method-not-allowed', allow]);
  }
  const head = await ask('HEAD', '/api/v1/changes');
  expect(head.status).toBe(405);
  for (const method of ['PUT', 'DELETE', 'POST']) expect((await ask(method, '/')).status, method).toBe(405);
  // A method override header is ignored.
  const before = await ask('POST', '/api/v1/runs', { agent: 'teller', prompt: 'pay bob 500' });
  for (const header of ['x-http-method-override', 'x-method-override', 'x-http-method'])
    await ask('GET', `/api/v1/runs/${before.body.id}/cancel?_method=POST`, undefined, { [header]: 'POST' });
  expect((await ask('GET', `/api/v1/runs/${before.body.id}`)).body.status).not.toBe('cancelled');
  for (const method of ['TRACE', 'FOO']) {
    const answer = await raw(server.port, { method, path: '/api/v1/me' }).catch(() => ({ status: 400 }));
    expect([400, 405], method).toContain(answer.status);
  }
});

test('header values with line breaks never reach a response', async () => {
  const { as, server } = await startServer({ dev: true });
  const ask = await as('ann');
  const { pathname, search } = new URL(server.loginUrl ?? '');
  const answer = await raw(server.port, { path: `${pathname}${search}&to=/x%0d%0aset-cookie:%20evil=1` });
  expect(answer.status).toBe(303);
  expect(answer.headers.get('location')).toBe('/');
  expect(answer.headers.get('set-cookie')).not.toContain('evil');
  for (const [name, value] of [
    ['x-request-id', 'a b\tc;d=e'],
    ['x-request-id', 'x'.repeat(500)],
  ] as const) {
    const { headers } = await ask('GET', '/api/v1/me', undefined, { [name]: value });
    expect(headers.get('x-request-id')).toMatch(/^[\w-]{12}$/);
  }
  expect(
    (await ask('GET', '/api/v1/me', undefined, { 'x-request-id': 'abc-12345678' })).headers.get('x-request-id'),
  ).toBe('abc-12345678');
  const decide = (headers: Record<string, string>) =>
    ask('POST', '/api/v1/requests/x:y/decide', { decision: { type: 'approve' } }, headers);
  expect((await decide({ 'x-countersign-channel': 'root' })).status).toBe(400);
  expect((await decide({ 'idempotency-key': 'x'.repeat(300) })).status).toBe(400);
  expect((await ask('GET', '/api/v1/runs/x/events', undefined, { 'last-event-id': '1;drop' })).status).toBe(400);
  const { body } = await ask('POST', '/api/v1/runs', { agent: 'parrot', prompt: 'x' });
  expect((await ask('GET', `/api/v1/runs/${body.id}/events`, undefined, { 'last-event-id': '1;drop' })).status).toBe(
    400,
  );
});

test('a body that arrives too slowly is refused', async () => {
  const { server, tokenFor } = await startServer({ bodyTimeoutMs: 150 });
  const token = await tokenFor('ann');
  const socket = connect(server.port, '127.0.0.1');
  socket.write(
    `POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"agent"`,
  );
  const drip = setInterval(() => socket.write(' '), 20);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  clearInterval(drip);
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 408 /);
  socket.destroy();
});

test('headers that arrive too slowly are refused, and other requests are served meanwhile', async () => {
  const { server, url } = await startServer();
  const sockets = Array.from({ length: 100 }, () => connect(server.port, '127.0.0.1'));
  for (const socket of sockets) {
    socket.on('error', () => undefined);
    socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ');
  }
  const drip = setInterval(() => {
    for (const socket of sockets) if (socket.writable) socket.write('x');
  }, 500);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  await Promise.all(
    sockets.map((socket) => socket.closed || new Promise<void>((resolve) => socket.once('close', () => resolve()))),
  );
  clearInterval(drip);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
});
