// Pushes to a receiver that checks who sends, and decrypts like a browser.
import { createDecipheriv, createECDH, createPublicKey, hkdfSync, randomBytes, verify } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createApp, createToken, webPush } from '@countersign/server';
import { expect, onTestFinished, test } from 'vitest';
import library from 'web-push';
import { noticedRequest } from '../notice.ts';

const vapid = { ...library.generateVAPIDKeys(), subject: 'mailto:ops@example.com' };
const signal = new AbortController().signal;

type Push = { readonly headers: IncomingHttpHeaders; readonly body: Buffer };

/** A push service, which answers with `status`. */
async function pushService() {
  const pushes: Push[] = [];
  const service = { url: '', status: 201, pushes };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    pushes.push({ headers: request.headers, body: Buffer.concat(chunks) });
    response.writeHead(service.status).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  service.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return service;
}

/** A browser: its subscription, and what it reads. */
function browser(endpoint: string) {
  const pair = createECDH('prime256v1');
  pair.generateKeys();
  const [own, auth] = [pair.getPublicKey(), randomBytes(16)];
  const keys = { p256dh: own.toString('base64url'), auth: auth.toString('base64url') };
  /** As RFC 8291 and RFC 8188 say. */
  const read = (body: Buffer): unknown => {
    const [salt, sender, sealed] = [body.subarray(0, 16), body.subarray(21, 86), body.subarray(86)];
    const info = Buffer.concat([Buffer.from('WebPush: info\0'), own, sender]);
    const secret = Buffer.from(hkdfSync('sha256', pair.computeSecret(sender), auth, info, 32));
    const part = (name: string, size: number) =>
      Buffer.from(hkdfSync('sha256', secret, salt, `Content-Encoding: ${name}\0`, size));
    const decipher = createDecipheriv('aes-128-gcm', part('aes128gcm', 16), part('nonce', 12));
    decipher.setAuthTag(sealed.subarray(-16));
    const text = Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]);
    return JSON.parse(text.subarray(0, text.lastIndexOf(2)).toString('utf8'));
  };
  return { subscription: { endpoint, keys }, read };
}

/** Returns the claims of the token, if its signature is valid. */
function claimsOf(authorization = ''): unknown {
  const [, token = '', key = ''] = /^vapid t=(\S+), k=(\S+)$/.exec(authorization) ?? [];
  expect(key).toBe(vapid.publicKey);
  const [head, claims = '', signature = ''] = token.split('.');
  const point = Buffer.from(key, 'base64url');
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString('base64url'));
  const publicKey = createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y } as never, format: 'jwk' });
  const signed = Buffer.from(`${head}.${claims}`);
  const isValid = verify(
    'sha256',
    signed,
    { key: publicKey, dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  );
  expect(isValid).toBe(true);
  return JSON.parse(Buffer.from(claims, 'base64url').toString('utf8'));
}

async function pushing() {
  const { ai, notice, card } = await noticedRequest();
  const channel = webPush({ vapid, allow: ['127.0.0.1'] });
  const app = createApp(ai, {
    channels: [channel],
    publicUrl: 'https://approvals.example.com',
    identify: (request) => ({ id: request.headers.get('x-user') ?? 'ann' }),
  });
  onTestFinished(() => app.close());
  const ask = async (
    method: string,
    { user = 'ann', body, query = '' }: { user?: string; body?: unknown; query?: string } = {},
  ) => {
    const response = await app.fetch(
      new Request(`https://approvals.example.com/api/v1/me/push${query}`, {
        method,
        headers: { 'x-user': user, origin: 'https://approvals.example.com', 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    );
    return { status: response.status, body: (await response.json()) as unknown };
  };
  return { channel, notice, card, ask };
}

test('a browser that subscribed gets the title and a link, encrypted and signed, and nothing else', async () => {
  const { channel, notice, card, ask } = await pushing();
  const service = await pushService();
  const { subscription, read } = browser(`${service.url}/ann`);
  expect(await ask('GET')).toEqual({ status: 200, body: { publicKey: vapid.publicKey } });
  expect((await ask('POST', { body: subscription })).status).toBe(200);
  await channel.deliver(await notice(), { signal });
  const [push] = service.pushes;
  expect(claimsOf(push?.headers.authorization)).toMatchObject({ aud: service.url, sub: vapid.subject });
  expect(push?.headers).toMatchObject({ 'content-encoding': 'aes128gcm', topic: expect.stringMatching(/^[\w-]{32}$/) });
  const { id, title, tool } = await card();
  expect(read(push?.body ?? Buffer.alloc(0))).toEqual({
    title: title ?? tool,
    body: 'Waits for your decision.',
    tag: id,
    link: `https://approvals.example.com/requests/${encodeURIComponent(id)}`,
  });
});

test('several requests are one notification, which opens the inbox', async () => {
  const { channel, notice, ask } = await pushing();
  const service = await pushService();
  const { subscription, read } = browser(`${service.url}/ann`);
  await ask('POST', { body: subscription });
  const first = await notice();
  await channel.digest?.([first, first, first], { signal });
  expect(service.pushes).toHaveLength(1);
  expect(read(service.pushes[0]?.body ?? Buffer.alloc(0))).toMatchObject({
    title: `3 requests: ${first.title}`,
    link: 'https://approvals.example.com/',
  });
});

test('a browser that is gone is forgotten, and so is one that unsubscribed or changed hands', async () => {
  const { channel, notice, ask } = await pushing();
  const service = await pushService();
  const [phone, desk] = [browser(`${service.url}/phone`), browser(`${service.url}/desk`)];
  for (const { subscription } of [phone, desk]) await ask('POST', { body: subscription });
  const devices = async (person: string) => (await channel.subscriptions().of(person)).map(({ endpoint }) => endpoint);
  expect(await devices('ann')).toEqual([`${service.url}/phone`, `${service.url}/desk`]);
  await ask('POST', { user: 'ben', body: desk.subscription });
  expect([await devices('ann'), await devices('ben')]).toEqual([[`${service.url}/phone`], [`${service.url}/desk`]]);
  service.status = 410;
  await channel.deliver(await notice(), { signal });
  expect([await devices('ann'), service.pushes.length]).toEqual([[], 1]);
  await ask('DELETE', { user: 'ben', query: `?endpoint=${encodeURIComponent(desk.subscription.endpoint)}` });
  expect(await devices('ben')).toEqual([]);
});

test('a subscription ends with its session, and an API token leaves none behind', async () => {
  const { ai } = await noticedRequest();
  const channel = webPush({ vapid, allow: ['127.0.0.1'] });
  const origin = 'https://approvals.example.com';
  const app = createApp(ai, { channels: [channel], publicUrl: origin });
  onTestFinished(() => app.close());
  const { subscription } = browser('https://127.0.0.1/ann');
  const send = (method: string, path: string, headers: Record<string, string> = {}, body?: object) =>
    app.fetch(
      new Request(`${origin}${path}`, {
        method,
        headers: { origin, 'content-type': 'application/json', ...headers },
        ...(body && { body: JSON.stringify(body) }),
      }),
    );
  const devices = async () => (await channel.subscriptions().of('ann')).map(({ endpoint }) => endpoint);
  const { token } = await createToken(ai.runs.notes, { person: 'ann' });
  const byToken = await send('POST', '/api/v1/me/push', { authorization: `Bearer ${token}` }, subscription);
  expect([byToken.status, await devices()]).toEqual([403, []]);
  const signedIn = await send('GET', await app.loginPath({ id: 'ann' }));
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
  expect((await send('POST', '/api/v1/me/push', { cookie }, subscription)).status).toBe(200);
  expect(await devices()).toEqual([subscription.endpoint]);
  expect((await send('POST', '/logout', { cookie })).status).toBe(204);
  expect(await devices()).toEqual([]);
});

test('a push service that fails is tried again, and private addresses are refused', async () => {
  const { channel, notice, ask } = await pushing();
  const service = await pushService();
  await ask('POST', { body: browser(`${service.url}/ann`).subscription });
  service.status = 503;
  await expect(channel.deliver(await notice(), { signal })).rejects.toThrow('answered 503');
  for (const endpoint of ['https://10.0.0.1/push', 'http://push.example.com/a', 'https://[::1]/a', 'nowhere'])
    expect((await ask('POST', { body: browser(endpoint).subscription })).status).toBe(400);
});
