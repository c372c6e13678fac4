import { createServer, type Socket } from 'node:net';
import { type WebhookOptions, webhook } from '@countersign/server';
import type { Notice } from 'countersign';
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { WebhookEventShape } from '../../../src/schemas/webhook.ts';
import { type NoticedRequest, noticedRequest } from '../notice.ts';
import { startReceiver } from './receiver.ts';

const SECRET = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`;
const NEW_SECRET = `whsec_${Buffer.from('fedcba9876543210fedcba9876543210').toString('base64')}`;

let request: NoticedRequest;
let opened: Notice;
beforeAll(async () => {
  request = await noticedRequest();
  opened = await request.notice();
});
afterEach(() => void vi.useRealTimers());

const signal = new AbortController().signal;
const channel = (url: string, options: Partial<WebhookOptions> = {}) =>
  webhook({ url, secret: SECRET, allow: ['127.0.0.1'], ...options });
const deliver = (url: string, options: Partial<WebhookOptions> = {}, notice = opened) =>
  channel(url, options).deliver(notice, { signal });

describe('what is posted', () => {
  test('verifies with the library of the receiver, and has the key of the notice as its id', async () => {
    const { url, received } = await startReceiver();
    await deliver(url);
    const [{ headers, body, path }] = received as [(typeof received)[0]];
    expect(path).toBe('/hook');
    expect(headers['content-type']).toBe('application/json');
    expect(headers['webhook-id']).toBe(opened.key);
    const event = new Webhook(SECRET).verify(body, headers);
    expect(event).toMatchObject({ type: 'request.opened', version: 1, data: { key: opened.key, withheld: null } });
    expect(() => new Webhook(NEW_SECRET).verify(body, headers)).toThrow('No matching signature');
    expect(() => new Webhook(SECRET).verify(body.replace('950', '9'), headers)).toThrow('No matching signature');
  });

  test('has the published shape, shows the whole request, and no contact, decision link or schema', async () => {
    const links = {
      request: 'https://approvals.example.com/requests/1',
      decide: 'https://approvals.example.com/decide/T',
    };
    const { url, received } = await startReceiver();
    await deliver(url, {}, { ...opened, links });
    const event = JSON.parse(received[0]?.body ?? '');
    expect(WebhookEventShape.strict().parse(event)).toEqual(event);
    expect(event.data).toMatchObject({
      title: 'Pay 950 to bob',
      to: [{ person: 'ann', why: 'decider', onBehalfOf: null }],
      links: { request: links.request },
      request: {
        input: { to: 'bob', amount: 950 },
        preview: { value: [{ account: 'bob', isNew: false }] },
        startedBy: 'carl',
      },
      decision: null,
    });
    expect(event.data.request.digest).toBe(opened.card?.digest);
    expect(received[0]?.body).not.toMatch(/ann@example|\/decide\/|inputSchema/);
  });

  test('says how the request was decided', async () => {
    const { ai, card, notice } = await noticedRequest();
    const { id, digest } = await card();
    await ai.runs.decide(
      id,
      { type: 'approve', edit: { to: 'bob', amount: 900 } },
      { by: 'ann', digest, channel: 'inbox' },
    );
    const { url, received } = await startReceiver();
    await deliver(url, {}, await notice('decided'));
    await deliver(url, {}, await notice('decided', { card: null }));
    const [whole, titleOnly] = received.map(({ body }) => WebhookEventShape.parse(JSON.parse(body)));
    expect(whole?.type).toBe('request.decided');
    expect(whole?.data.decision).toMatchObject({ type: 'approve', by: 'ann', channel: 'inbox', edit: { amount: 900 } });
    expect(titleOnly?.data).toMatchObject({ request: null, withheld: 'by-tool' });
    expect(titleOnly?.data.decision).toEqual({ type: 'approve', by: 'ann', channel: 'inbox', at: expect.any(Number) });
  });

  test('leaves out a request that is too large, and never shortens it', async () => {
    const { url, received } = await startReceiver();
    const { notice } = await noticedRequest(`ask ${'x'.repeat(300_000)}`);
    await deliver(url, {}, await notice());
    const event = WebhookEventShape.parse(JSON.parse(received[0]?.body ?? ''));
    expect(event.data).toMatchObject({ request: null, withheld: 'too-large', links: { request: expect.any(String) } });
  });

  test('is signed by the old and the new secret while one replaces the other', async () => {
    const { url, received } = await startReceiver();
    await deliver(url, { secret: [NEW_SECRET, SECRET] });
    const { body = '', headers = {} } = received[0] ?? {};
    for (const secret of [SECRET, NEW_SECRET]) expect(new Webhook(secret).verify(body, headers)).toBeTruthy();
  });

  test('is dated at each attempt: an old copy is refused, a retry with the same id is not', async () => {
    const { url, received } = await startReceiver();
    vi.useFakeTimers({ toFake: ['Date'] });
    await deliver(url);
    vi.setSystemTime(Date.now() + 6 * 60_000);
    await deliver(url);
    const [first, again] = received as [(typeof received)[0], (typeof received)[0]];
    expect(() => new Webhook(SECRET).verify(first.body, first.headers)).toThrow('too old');
    expect(new Webhook(SECRET).verify(again.body, again.headers)).toBeTruthy();
    expect(again.headers['webhook-id']).toBe(first.headers['webhook-id']);
    expect(again.body).toBe(first.body);
  });

  test('has an id that fits a header, whatever the key is', async () => {
    const { url, received } = await startReceiver();
    for (let attempt = 0; attempt < 2; attempt++) await deliver(url, {}, { ...opened, key: 'run.1\n|zoë|opened' });
    const [id, same] = received.map(({ headers }) => headers['webhook-id']);
    expect(id).toMatch(/^[\w-]{43}$/);
    expect(same).toBe(id);
  });

  test('has the headers of the options, which cannot replace its own', async () => {
    const { url, received } = await startReceiver();
    await deliver(url, { headers: { authorization: 'Bearer x' } });
    expect(received[0]?.headers.authorization).toBe('Bearer x');
    for (const headers of [{ 'Webhook-Id': '1' }, { host: 'x' }, { 'a b': 'x' }, { a: 'x\ny' }])
      expect(() => channel(url, { headers: headers as never })).toThrow('`headers` of webhook');
  });

  test('is what `transform` returns, without a secret if there is none; undefined is not posted', async () => {
    const { url, received } = await startReceiver();
    const transform = ({ type, title }: Notice) => (type === 'opened' ? { text: title } : undefined);
    const { deliver } = webhook({ url, allow: 'private', transform });
    await deliver(opened, { signal });
    await deliver(await request.notice('reminded'), { signal });
    expect(received.map(({ body }) => JSON.parse(body))).toEqual([{ text: 'Pay 950 to bob' }]);
    expect(received[0]?.headers['webhook-signature']).toBeUndefined();
  });
});

describe('the answer', () => {
  test.each([200, 202, 204, 299])('%i counts, whatever the body says', async (status) => {
    const { url } = await startReceiver((response) =>
      response.writeHead(status).end(status === 204 ? '' : '<h1>No!</h1>'),
    );
    await expect(deliver(url)).resolves.toBeUndefined();
  });

  test.each([400, 401, 404, 500, 503])('%i is tried again, and says what the receiver said', async (status) => {
    const { url, port } = await startReceiver((response) => response.writeHead(status).end('{"why":"bad\u202E"}'));
    await expect(deliver(url)).rejects.toMatchObject({
      message: `127.0.0.1:${port} answered ${status}: {"why":"bad<U+202E>"}`,
      retryable: true,
    });
  });

  test('410 is not tried again', async () => {
    const { url } = await startReceiver((response) => response.writeHead(410).end());
    await expect(deliver(url)).rejects.toMatchObject({ retryable: false });
  });

  test.each([
    [429, '7', 7_000],
    [503, '0', 0],
    [503, '9999999999', 86_400_000],
    [429, new Date('2030-01-01T00:00:30Z').toUTCString(), 30_000],
    [429, new Date('2029-12-31T00:00:00Z').toUTCString(), 0],
    [429, 'soon', undefined],
  ])('%i with Retry-After: %s', async (status, header, retryAfterMs) => {
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2030-01-01T00:00:00Z') });
    const { url } = await startReceiver((response) => response.writeHead(status, { 'retry-after': header }).end());
    const error = await Promise.resolve(deliver(url)).catch((thrown: unknown) => thrown);
    expect((error as { retryAfterMs?: number }).retryAfterMs).toBe(retryAfterMs);
  });

  test('may be followed by a body without end, of which the beginning is read', async () => {
    const closed = Promise.withResolvers<void>();
    const { url } = await startReceiver((response, { path }) => {
      response.on('close', closed.resolve);
      response.writeHead(path === '/hook' ? 200 : 500);
      const write = (): void =>
        void (response.destroyed || response.write('x'.repeat(1_000), () => setImmediate(write)));
      write();
    });
    await deliver(url);
    await closed.promise;
    const failed = await Promise.resolve(deliver(`${url}/500`)).catch((error: Error) => error);
    expect((failed as Error).message.length).toBeLessThan(300);
  });

  test('counts even if the connection breaks after it', async () => {
    const { url } = await startReceiver((response) => {
      response.writeHead(200, { 'content-length': '100' });
      // A reset that overtakes the status would hide it from the sender.
      response.write('x', () => setTimeout(() => response.socket?.resetAndDestroy(), 50));
    });
    await deliver(url);
  });

  test('that is not HTTP is a failure', async () => {
    const port = await listening((socket) => socket.end('hello\n'));
    await expect(deliver(`http://127.0.0.1:${port}/`)).rejects.toThrow('could not be reached: HPE_INVALID_CONSTANT');
  });

  test('that breaks off before the status is a failure', async () => {
    const port = await listening((socket) => socket.once('data', () => socket.resetAndDestroy()));
    await expect(deliver(`http://127.0.0.1:${port}/`)).rejects.toThrow('could not be reached: ECONNRESET');
  });

  test('must come in time', async () => {
    const { url, port } = await startReceiver(() => undefined);
    const message = `127.0.0.1:${port} did not answer within 0.1 s.`;
    await expect(deliver(url, { timeoutMs: 100 })).rejects.toMatchObject({ message, retryable: true });
  });

  test('is not waited for when the process stops', async () => {
    const stop = new AbortController();
    const { url } = await startReceiver(() => stop.abort());
    await expect(channel(url).deliver(opened, stop)).rejects.toThrow('could not be reached: ABORT_ERR');
  });

  test('does not come from a receiver that is down', async () => {
    const { promise, resolve } = Promise.withResolvers<number>();
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
    const secretPath = `http://127.0.0.1:${await promise}/secret-path`;
    const error = (await Promise.resolve(deliver(secretPath)).catch((thrown: unknown) => thrown)) as Error;
    expect(error.message).toMatch(/^127\.0\.0\.1:\d+ could not be reached: ECONNREFUSED\.$/);
  });
});

describe('redirects', () => {
  test('that keep the method are followed within the origin', async () => {
    const { url, received } = await startReceiver((response, { path }) =>
      path === '/hook' ? response.writeHead(307, { location: '/moved' }).end() : response.writeHead(204).end(),
    );
    await deliver(url);
    expect(received.map(({ path }) => path)).toEqual(['/hook', '/moved']);
    const { body = '', headers = {} } = received[1] ?? {};
    expect(new Webhook(SECRET).verify(body, headers)).toBeTruthy();
  });

  test('to another origin get nothing, private or public, allowed or not', async () => {
    const other = await startReceiver();
    for (const location of [other.url, 'http://169.254.169.254/latest', 'https://example.com/', '//localhost/'])
      for (const status of [307, 308]) {
        const { url } = await startReceiver((response) => response.writeHead(status, { location }).end());
        await expect(deliver(url, { allow: ['127.0.0.1', '169.254.169.254'] })).rejects.toThrow(/redirects to https?:/);
      }
    expect(other.received).toEqual([]);
  });

  test('that do not end, lose the body or lead nowhere are failures', async () => {
    const { url } = await startReceiver((response, { path }) => {
      if (path === '/hook') return response.writeHead(308, { location: '/hook' }).end();
      return response.writeHead(path === '/302' ? 302 : 307, path === '/302' ? { location: '/x' } : {}).end();
    });
    await expect(deliver(url)).rejects.toThrow('redirected more than 3 times');
    await expect(deliver(new URL('/302', url).href)).rejects.toThrow(
      'answered 302, a redirect that would lose the body',
    );
    await expect(deliver(new URL('/307', url).href)).rejects.toThrow('answered 307');
  });
});

describe('private addresses', () => {
  test.each([
    'http://127.0.0.1/',
    'https://10.0.0.1/',
    'https://169.254.169.254/',
    'https://[::1]/',
    'https://0x7f.1/',
  ])('%s is refused at once', (url) => {
    const refused = '`url` of webhook(): ';
    expect(() => webhook({ url, secret: SECRET })).toThrow(refused);
    expect(() => webhook({ url, secret: SECRET, allow: ['example.com', '192.168.0.0/16'] })).toThrow(refused);
  });

  test('a name with a private address is refused when it is looked up, unless it is allowed', async () => {
    const { port, received } = await startReceiver();
    const url = `http://localhost:${port}/`;
    for (const allow of [[], ['example.com'], ['10.0.0.0/8']]) {
      await expect(deliver(url, { allow })).rejects.toThrow(/private or reserved address; name it in `allow`/);
      await expect(channel(url, { allow }).check?.()).rejects.toThrow(/private or reserved address/);
    }
    expect(received).toEqual([]);
    for (const allow of ['private', ['LOCALHOST'], ['127.0.0.0/8']] as const) await deliver(url, { allow });
    expect(received.length).toBe(3);
  });
});

describe('setting up', () => {
  test.each([
    [{ url: 'ftp://example.com' }, '`url` of webhook must be an address'],
    [{ secret: 'whsec_c2hvcnQ=' }, '24 to 64 bytes in base64'],
    [{ secret: 'not base64, but long enough to be a secret' }, '24 to 64 bytes in base64'],
    [{ secret: [] }, 'needs a `secret`'],
    [{ secret: undefined }, 'needs a `secret`'],
    [{ allow: ['10.0.0.0/40'] }, 'takes host names, addresses and ranges'],
    [{ allow: ['http://x'] }, 'takes host names, addresses and ranges'],
    [{ timeoutMs: 0 }, '`timeoutMs` of webhook must be'],
    [{ name: 'a_b' }, '`name` of webhook must be'],
    [{ secrets: [SECRET] }, 'has no option secrets'],
  ])('%o is refused', (options, message) => {
    expect(() => webhook({ url: 'https://example.com/', secret: SECRET, ...(options as object) })).toThrow(message);
  });

  test('`check` connects and posts nothing', async () => {
    const { url, received } = await startReceiver();
    await channel(url).check?.();
    expect(received).toEqual([]);
    const noTls = await listening((socket) => socket.once('data', () => socket.end('no TLS here')));
    await expect(channel(`https://127.0.0.1:${noTls}/`).check?.()).rejects.toThrow('could not be reached: ERR_SSL');
    const silent = await listening(() => undefined);
    await expect(channel(`https://127.0.0.1:${silent}/`, { timeoutMs: 50 }).check?.()).rejects.toThrow('within 0.05 s');
  });

  test('`sample` posts an event that nobody acts on, or opens and closes a sample', async () => {
    const { url, port, received } = await startReceiver();
    expect(await channel(url).sample?.('')).toBe(`Posted a sample to 127.0.0.1:${port}.`);
    await channel(url, { transform: ({ type }) => type }).sample?.('');
    expect(await channel(url, { transform: () => undefined }).sample?.('')).toContain('Posted nothing');
    expect(received.map(({ body }) => JSON.parse(body))).toEqual([
      { type: 'webhook.test', version: 1, timestamp: expect.any(String), data: {} },
      'opened',
      'withdrawn',
    ]);
    expect(new Webhook(SECRET).verify(received[0]?.body ?? '', received[0]?.headers ?? {})).toBeTruthy();
  });

  test('it wants every notice unless it says otherwise', () => {
    expect(channel('https://example.com/')).toMatchObject({ name: 'webhook', all: true });
    expect(channel('https://example.com/', { name: 'erp', all: false })).toMatchObject({ name: 'erp', all: false });
  });
});

/** A server that does not speak HTTP. */
function listening(connected: (socket: Socket) => void): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    connected(socket);
  }).listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return promise;
}
