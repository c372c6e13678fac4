// Attacks on decision links, over HTTP against a real server.
import { memoryStore, z } from 'countersign';
import { expect, test } from 'vitest';
import { raw } from '../server.ts';
import { decide, digestIn, linkedRequest, open, send } from './linked-request.ts';

const DEAD = { status: 404, body: expect.stringContaining('This link does not work') };
/** A form that is sent after the decision. */
const LATE = { status: 409, body: expect.stringContaining('Nothing was recorded now.') };

test('a scanner that follows the link many times decides nothing, and the link still works', async () => {
  const { link, request, ran, settled } = await linkedRequest();
  const url = await link();
  const visits = [...Array(20)].map((_, index) => open(url, { 'user-agent': 'Scanner' }, index % 2 ? 'GET' : 'HEAD'));
  expect(new Set((await Promise.all(visits)).map(({ status }) => status))).toEqual(new Set([200]));
  expect((await request()).settlement).toBeNull();
  expect(await decide(url, { decision: 'approve' })).toMatchObject({
    status: 200,
    body: expect.stringContaining('Approved'),
  });
  await settled();
  expect(ran).toEqual([{ to: 'ACME', amount: 1250.5 }]);
});

test('a form that is sent once, as a scanner that presses buttons would, is shown to be confirmed and records nothing', async () => {
  const { link, request } = await linkedRequest();
  const url = await link();
  const digest = digestIn(await open(url));
  const answer = await send(url, { digest, decision: 'approve' });
  expect(answer).toMatchObject({ status: 200, body: expect.stringContaining('Approve this?') });
  expect(answer.body).toContain('1250.5');
  expect((await request()).settlement).toBeNull();
});

test('a forwarded link decides as the person it was sent to, and the record says how', async () => {
  const { link, request } = await linkedRequest();
  await decide(await link(), { decision: 'reject', reason: 'too expensive' });
  expect((await request()).settlement).toMatchObject({
    by: 'ann',
    channel: 'mail',
    decision: { type: 'reject', reason: 'too expensive' },
  });
});

test('where links ask for a sign-in, a forwarded link works for nobody else', async () => {
  const server = await linkedRequest({ links: { requireSignIn: true } });
  const url = await server.link();
  const bearer = async (person: string) => ({ authorization: `Bearer ${await server.tokenFor(person)}` });
  const [ann, eve] = [await bearer('ann'), await bearer('eve')];
  const unknown = await open(url);
  expect(unknown).toMatchObject({ status: 401, body: expect.not.stringContaining('ACME') });
  // Without a sign-in, a link that works and one that does not are answered in the same way.
  expect((await open(`${url}x`)).body).toBe(unknown.body);
  expect(await open(url, eve)).toMatchObject(DEAD);
  const digest = digestIn(await open(url, ann));
  expect(await send(url, { digest, decision: 'approve', confirmed: 'yes' }, eve)).toMatchObject(DEAD);
  expect(await send(url, { digest, decision: 'approve', confirmed: 'yes' })).toMatchObject({ status: 401 });
  // A page of another site that knows the link cannot use the sign-in of the person.
  const other = { ...ann, origin: 'https://evil.example' };
  expect(await send(url, { digest, decision: 'approve', confirmed: 'yes' }, other)).toMatchObject({ status: 403 });
  expect((await server.request()).settlement).toBeNull();
  expect(await decide(url, { decision: 'approve' }, ann)).toMatchObject({ status: 200 });
  expect((await server.request()).settlement).toMatchObject({ by: 'ann', channel: 'mail' });
});

test('guessed, altered, expired, used, foreign and outdated links give one answer, after the same time', async () => {
  const server = await linkedRequest({ policy: { deciders: { people: ['ann', 'ben'] } } });
  const good = String(await server.link());
  const [payload = '', signature = ''] = (good.split('/').at(-1) ?? '').split('.');
  const forged = Buffer.from(payload, 'base64url').toString().replace('"ann"', '"ben"');
  const links = {
    guessed: `${server.url}/decide/${'a'.repeat(80)}.${'b'.repeat(43)}`,
    short: `${server.url}/decide/x`,
    long: `${server.url}/decide/${'a'.repeat(6_000)}.${signature}`,
    alteredPayload: `${server.url}/decide/${Buffer.from(forged).toString('base64url')}.${signature}`,
    alteredSignature: `${good.slice(0, -2)}${good.endsWith('AA') ? 'BB' : 'AA'}`,
    otherServer: await server.signed({}, memoryStore().notes),
    expired: await server.signed({ expiresAt: Date.now() - 1 }),
    noLongerAllowed: await server.signed({ person: 'eve' }),
    otherRequest: await server.signed({ requestId: 'run_none:call' }),
    earlierVersion: await server.signed({ digest: '0'.repeat(64) }),
    invalidPerson: await server.signed({ person: '' }),
  };
  const answers = await Promise.all(
    Object.values(links).map(async (link) => {
      const startedAt = performance.now();
      const { status, body, headers } = await open(link);
      expect(performance.now() - startedAt).toBeGreaterThan(95);
      return JSON.stringify([status, body, headers.get('content-length'), headers.get('content-security-policy')]);
    }),
  );
  expect(new Set(answers).size).toBe(1);
  expect(JSON.parse(answers[0] ?? '')[0]).toBe(404);
  const digest = digestIn(await open(good));
  for (const link of Object.values(links))
    expect(await send(link, { digest, decision: 'approve', confirmed: 'yes' })).toMatchObject(DEAD);
  expect((await server.request()).settlement).toBeNull();
});

test('a link that was used shows what was decided, and records nothing more', async () => {
  const { link, ran, settled, request } = await linkedRequest();
  const url = await link();
  const digest = digestIn(await open(url));
  expect(await decide(url, { decision: 'approve' })).toMatchObject({ status: 200 });
  await settled();
  const before = await request();
  const used = await open(url);
  expect(used).toMatchObject({ status: 200, body: expect.stringContaining('<h1>Approved</h1>') });
  expect(used.body).not.toContain('<form');
  for (const decision of ['approve', 'reject'])
    expect(await send(url, { digest, decision, confirmed: 'yes' })).toMatchObject(LATE);
  expect(ran).toHaveLength(1);
  expect(await request()).toEqual(before);
});

test('two devices at once make one decision', async () => {
  const { link, ran, settled, request } = await linkedRequest();
  const url = await link();
  const digest = digestIn(await open(url));
  const sent = [...Array(6)].map((_, index) =>
    send(url, { digest, decision: index % 2 ? 'approve' : 'reject', confirmed: 'yes' }),
  );
  const answers = await Promise.all(sent);
  await settled();
  const { decision } = (await request()).settlement ?? {};
  const { type } = decision as { readonly type: string };
  expect(ran).toHaveLength(type === 'approve' ? 1 : 0);
  const heading = { approve: 'Approved', reject: 'Rejected' }[type] ?? '';
  for (const { status, body } of answers)
    expect(status === 409 || body.includes(`<h1>${heading}</h1>`), body).toBe(true);
  expect(answers.some(({ status }) => status === 200)).toBe(true);
});

test('a request that is given to someone else no longer takes the link', async () => {
  const server = await linkedRequest({ policy: { deciders: { people: ['ann', 'ben'] } } });
  const [ann, ben] = [await server.link('ann'), await server.link('ben')];
  await server.ai.runs.assign(server.id, { to: 'ben', by: 'carl' });
  expect(await open(ann)).toMatchObject(DEAD);
  expect(await server.link('ann')).toBeUndefined();
  expect(await decide(ben, { decision: 'approve' })).toMatchObject({ status: 200 });
});

test('an edit by someone else kills the links to the earlier arguments', async () => {
  const server = await linkedRequest({ policy: { quorum: [{ of: { people: ['ann', 'ben'] }, count: 2 }] } });
  const [ann, ben] = [await server.link('ann'), await server.link('ben')];
  const digest = digestIn(await open(ann));
  const edited = await decide(ben, { decision: 'edit', f0: 'ACME', f1: '9' });
  expect(edited).toMatchObject({ status: 200, body: expect.stringContaining('You proposed changes') });
  expect(await open(ann)).toMatchObject({ status: 200, body: expect.stringContaining('</bdi> proposed changes') });
  expect(await send(ann, { digest, decision: 'approve', confirmed: 'yes' })).toMatchObject(LATE);
  expect(server.ran).toEqual([]);
});

test('a vote by a link counts once; the link of the next person settles the request', async () => {
  const server = await linkedRequest({ policy: { quorum: [{ of: { people: ['ann', 'ben'] }, count: 2 }] } });
  const [ann, ben] = [await server.link('ann'), await server.link('ben')];
  const digest = digestIn(await open(ann));
  expect((await decide(ann, { decision: 'approve' })).body).toContain('Waiting for more votes: 1 of ann or ben');
  expect(await open(ann)).toMatchObject({ status: 200, body: expect.stringContaining('Your vote is recorded') });
  expect(await send(ann, { digest, decision: 'reject', confirmed: 'yes' })).toMatchObject(LATE);
  expect((await open(ben)).body).toContain('ann: approved');
  await decide(ben, { decision: 'approve' });
  await server.settled();
  expect(server.ran).toHaveLength(1);
  const { settlement } = await server.request();
  expect(settlement).toMatchObject({
    votes: [
      { by: 'ann', channel: 'mail' },
      { by: 'ben', channel: 'mail' },
    ],
  });
});

test('a form without the digest of the page, or with another one, records nothing', async () => {
  const { link, request } = await linkedRequest();
  const url = await link();
  for (const digest of [{}, { digest: '' }, { digest: 'f'.repeat(64) }]) {
    const answer = await send(url, { ...digest, decision: 'approve', confirmed: 'yes' });
    expect(answer).toMatchObject({ status: 409, body: expect.stringContaining('nothing was recorded') });
  }
  const digest = digestIn(await open(url));
  for (const decision of ['', 'respond', 'restart', 'cancel'])
    expect(await send(url, { digest, decision, confirmed: 'yes' })).toMatchObject({ status: 422 });
  expect((await request()).settlement).toBeNull();
});

test('a policy that asks for passkeys is decided in the inbox only', async () => {
  const { link, signed, request } = await linkedRequest({
    policy: { deciders: { people: ['ann'] }, signed: 'passkey' },
  });
  expect(await link()).toBeUndefined();
  const url = await signed();
  const page = await open(url);
  expect(page.body).toContain('decided with a passkey');
  expect(page.body).toContain('/requests/');
  expect(digestIn(page)).toBe('');
  const { digest } = await request();
  expect(await send(url, { digest, decision: 'approve', confirmed: 'yes' })).toMatchObject({ status: 422 });
  expect((await request()).settlement).toBeNull();
});

test('what is too large for the page is not shown in part, and cannot be approved there', async () => {
  const { link, request } = await linkedRequest({ input: { to: `START${'x'.repeat(60_000)}`, amount: 1 } });
  const url = await link();
  const page = await open(url);
  expect(page.body).toContain('too large for this page');
  expect(page.body).not.toContain('START');
  const { digest } = await request();
  expect(await send(url, { digest, decision: 'approve', confirmed: 'yes' })).toMatchObject({ status: 422 });
  expect((await request()).settlement).toBeNull();
});

test('HTML and hidden characters in a request are text', async () => {
  const evil = '</p><script>alert(1)</script><form action="https://evil.example">\u202egnp.exe';
  const { link } = await linkedRequest({ title: evil, message: evil, input: { to: evil, amount: 1 } });
  const url = await link();
  const page = await open(url);
  const confirm = await send(url, { digest: digestIn(page), decision: 'reject', reason: `"><script>${evil}` });
  for (const { body } of [page, confirm]) {
    expect(body.match(/<script/g)).toEqual(['<script']);
    expect(body).toContain('<script type="module" src="/decide.js"></script>');
    expect(body).not.toContain('evil.example">');
    expect(body).toContain('&lt;script&gt;');
    expect(body).toContain('&lt;U+202E&gt;');
  }
});

test('no page of a link can be framed, kept or indexed, or run a script but its own, and none sends its address to others', async () => {
  const { link } = await linkedRequest();
  const url = await link();
  const pages = [await open(url), await open(`${url}x`), await send(url, { digest: '', decision: 'approve' })];
  for (const { headers, body } of pages) {
    expect(Object.fromEntries(headers)).toMatchObject({
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-robots-tag': 'noindex, nofollow',
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    });
    expect(body).toContain('<meta name="referrer" content="no-referrer">');
    expect(body).not.toMatch(/(?:href|action|src)="https?:/);
  }
});

test('a body that is too large is refused, and other methods decide nothing', async () => {
  const { link, server, request } = await linkedRequest({ maxBodyBytes: 1_000 });
  const url = await link();
  expect(await send(url, { digest: 'x'.repeat(2_000) })).toMatchObject({ status: 413 });
  for (const method of ['PUT', 'DELETE', 'OPTIONS'])
    expect((await raw(server.port, { method, path: new URL(String(url)).pathname })).status).not.toBe(200);
  expect((await request()).settlement).toBeNull();
});

test('a link never outlives its request, and `links: false` has no pages', async () => {
  const server = await linkedRequest({ links: { lifetimeMs: 1 } });
  const short = await server.link();
  await expect.poll(async () => (await open(short)).status).toBe(404);
  const none = await linkedRequest({ links: false });
  expect(await open(await none.signed())).toMatchObject({ body: expect.not.stringContaining('ACME') });
  await expect(linkedRequest({ linkSecret: 'short' })).rejects.toThrow('at least 32 characters');
  await expect(linkedRequest({ links: { lifetime: 5 } as never })).rejects.toThrow('lifetimeMs');
});

test('with a new secret in front, links that were signed with the old one still work', async () => {
  const [older, newer] = ['o'.repeat(32), 'n'.repeat(32)];
  const store = memoryStore();
  const before = await linkedRequest({ store, linkSecret: older, asks: z.string() });
  const url = new URL(String(await before.link()));
  const rotated = await linkedRequest({ store, linkSecret: [newer, older] });
  expect(await open(`${rotated.url}${url.pathname}`)).toMatchObject({ status: 200 });
  const replaced = await linkedRequest({ store, linkSecret: newer });
  expect(await open(`${replaced.url}${url.pathname}`)).toMatchObject(DEAD);
});
