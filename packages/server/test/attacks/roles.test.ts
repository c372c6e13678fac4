// Roles come from the sign-in: a client cannot give itself one by a header, a body, a token or a claim that nobody signed.
import { headerIdentity, type Identified, jwtIdentity } from '@countersign/server';
import { SignJWT } from 'jose';
import { expect, test } from 'vitest';
import { asking, startServer } from '../server.ts';

const ROLES_SENT = {
  'x-roles': 'finance',
  'x-forwarded-groups': 'finance',
  roles: 'finance',
  'x-countersign-roles': 'finance',
};
const rolesOf = async (ask: ReturnType<typeof asking>, headers: Record<string, string> = {}) =>
  (await ask('GET', '/api/v1/me', undefined, headers)).body.roles;

test('a token has the roles that it was made with, whatever headers and bodies say', async () => {
  const { as, ai } = await startServer();
  const [finance, plain] = [await as('ann', { roles: ['finance', 'finance'] }), await as('eve')];
  expect(await rolesOf(finance)).toEqual(['finance']);
  expect(await rolesOf(plain, ROLES_SENT)).toEqual([]);
  const { body: run } = await plain('POST', '/api/v1/runs', { agent: 'teller', prompt: 'pay eve 500' });
  await ai.runs.wait(run.id);
  const { pending } = await ai.runs.get(run.id);
  const decide = { decision: { type: 'approve' } };
  for (const forged of [
    { ...decide, roles: ['finance'] },
    { decision: { type: 'approve', roles: ['finance'] } },
    { ...decide, by: 'ann' },
  ])
    expect((await plain('POST', `/api/v1/requests/${pending[0]}/decide`, forged)).status).toBe(400);
});

test('a token of an earlier version has no roles, and roles that are no names are refused', async () => {
  const { as, ai } = await startServer();
  const ask = await as('ann', { roles: ['finance'] });
  const { items } = await ai.runs.notes.list('tokens', { limit: 1 });
  const { key = '', value, version = 0 } = items[0] ?? {};
  const { roles: _roles, ...earlier } = value as { [field: string]: never };
  await ai.runs.notes.put('tokens', key, earlier, { version });
  expect(await rolesOf(ask)).toEqual([]);
  for (const roles of ['finance', [''], ['a,b'], [7], [' finance'], ['a\nb'], Array(201).fill('a')])
    await expect(as('ann', { roles } as never), JSON.stringify(roles)).rejects.toThrow('`roles` of createToken must');
});

test('a session keeps the roles of its link', async () => {
  const { server, url } = await startServer();
  const path = await server.app.loginPath({ id: 'ann', roles: ['finance'] });
  const response = await fetch(`${url}${path}`, { redirect: 'manual' });
  const cookie = (response.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  const ask = asking(url, { cookie, origin: url });
  expect(await rolesOf(ask, { 'x-roles': 'cfo' })).toEqual(['finance']);
});

test('a header gives roles only if it is configured and comes from the proxy', async () => {
  const sent = { 'x-user': 'ann', ...ROLES_SENT };
  const options = { header: 'x-user', trustedProxies: ['127.0.0.0/8'] };
  const plain = await startServer({ identify: headerIdentity(options) });
  expect(await rolesOf(asking(plain.url, sent))).toEqual([]);
  const grouped = await startServer({ identify: headerIdentity({ ...options, rolesHeader: 'x-forwarded-groups' }) });
  const groups = { ...sent, 'x-forwarded-groups': 'finance, cfo,, finance' };
  expect(await rolesOf(asking(grouped.url, groups))).toEqual(['finance', 'cfo']);
  const { body } = await asking(grouped.url, { 'x-user': 'ann' })('GET', '/api/v1/me');
  expect(body).toMatchObject({ id: 'ann', roles: [] });
  const wary = await startServer({
    identify: headerIdentity({ ...options, trustedProxies: ['10.0.0.1'], rolesHeader: 'x-roles' }),
  });
  expect((await asking(wary.url, sent)('GET', '/api/v1/me')).status).toBe(401);
  expect(() => headerIdentity({ ...options, rolesHeader: '' })).toThrow('`rolesHeader` of headerIdentity must be');
});

test('a JWT gives the roles of the claim that is named, and only if it is signed', async () => {
  const secret = 'a secret of more than thirty-two bytes';
  const given = { secret, issuer: 'login', audience: 'approvals' } as const;
  const { url } = await startServer({ identify: jwtIdentity({ ...given, rolesClaim: ['realm_access', 'roles'] }) });
  const flat = await startServer({ identify: jwtIdentity({ ...given, rolesClaim: 'https://example.com/groups' }) });
  const none = await startServer({ identify: jwtIdentity(given) });
  const signed = (claims: object, key = secret) =>
    new SignJWT({ ...claims })
      .setProtectedHeader({ alg: 'HS256' })
      .setSubject('ann')
      .setIssuer('login')
      .setAudience('approvals')
      .setExpirationTime('5m')
      .sign(new TextEncoder().encode(key));
  const ask = (at: string, token: string) => asking(at, { authorization: `Bearer ${token}` });
  const roles = async (claims: object, at = url) => rolesOf(ask(at, await signed(claims)), ROLES_SENT);
  expect(await roles({ realm_access: { roles: ['finance', 'cfo'] } })).toEqual(['finance', 'cfo']);
  expect(await roles({ realm_access: { roles: 'finance' } })).toEqual(['finance']);
  expect(await roles({ 'https://example.com/groups': ['finance'] }, flat.url)).toEqual(['finance']);
  for (const other of [
    { roles: ['finance'] },
    { realm_access: 'finance' },
    { realm_access: { roles: { finance: true } } },
  ])
    expect(await roles(other), JSON.stringify(other)).toEqual([]);
  expect(await roles({ realm_access: { roles: [7, null, 'a,b', 'finance'] } })).toEqual(['finance']);
  expect(await roles({ roles: ['finance'], groups: ['finance'] }, none.url)).toEqual([]);
  // Signed by another, changed after it was signed, and without a signature.
  const claims = { realm_access: { roles: ['finance'] } };
  const [head, , signature] = (await signed({})).split('.');
  const [, payload] = (await signed(claims)).split('.');
  const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.`;
  for (const forged of [await signed(claims, 'x'.repeat(40)), `${head}.${payload}.${signature}`, unsigned])
    expect((await ask(url, forged)('GET', '/api/v1/me')).status).toBe(401);
});

test('roles of an `identify` hook are checked', async () => {
  let person: Identified = { id: 'ann', roles: ['finance'] };
  const { url } = await startServer({ identify: () => person });
  expect(await rolesOf(asking(url))).toEqual(['finance']);
  person = { id: 'ann', roles: 'finance' as never };
  expect((await asking(url)('GET', '/api/v1/me')).status).toBe(500);
});
