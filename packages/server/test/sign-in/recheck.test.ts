// The issuer is asked again about people who are signed in: what it took away counts here no longer, without a new sign-in.
import { expect, onTestFinished, test, vi } from 'vitest';
import { begin } from '../server.ts';
import { confirmDevice, openBrowserOf, openCompany } from './company.ts';

const MINUTE = 60_000;
const FINANCE = { roles: { Payments: 'finance' } };
const policyFor = () => ({ deciders: { roles: ['finance'] } });

/** A company whose time the test moves. */
async function openOffice(options: Parameters<typeof openCompany>[0] = {}) {
  let now = Date.now();
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => now);
  onTestFinished(() => clock.mockRestore());
  const office = await openCompany({ company: FINANCE, instance: { policyFor }, clock: () => now, ...options });
  const [paul, ann] = [await office.as('paul'), openBrowserOf()];
  await ann.signIn(office.url, 'ann');
  const leave = () => office.accounts.set('ann', { ...office.accounts.get('ann'), groups: [] });
  const vote = async () => {
    const [{ id, digest }] = (await begin(paul, office.ai, 'pay bob 500')).requests;
    const path = `/api/v1/requests/${encodeURIComponent(id)}/decide`;
    return (await ann.api(office.url, 'POST', path, { decision: { type: 'approve' }, digest })).status;
  };
  const me = () => ann.me(office.url);
  const pass = (ms: number) => {
    now += ms;
  };
  const asked = () => office.state.grants.filter((type) => type === 'refresh_token').length;
  return { ...office, ann, paul, vote, me, leave, pass, asked };
}

test('a role that was removed votes no longer, without a new sign-in', async () => {
  const { vote, me, leave, pass } = await openOffice();
  expect(await vote()).toBe(200);
  leave();
  pass(5 * MINUTE);
  expect(await vote()).toBe(404);
  expect(await me()).toMatchObject({ id: 'ann@example.com', roles: [] });
});

test('a role that was given counts, and so does the reach', async () => {
  const { me, accounts, pass } = await openOffice({ company: { ...FINANCE, all: ['Leads'] } });
  accounts.set('ann', { ...accounts.get('ann'), groups: ['Payments', 'Leads'] });
  expect(await me()).toMatchObject({ reach: 'own' });
  pass(5 * MINUTE);
  expect(await me()).toMatchObject({ roles: ['finance'], reach: 'all' });
});

test('the issuer is asked once in `recheckMs`, however many requests come', async () => {
  const { me, pass, asked } = await openOffice({ company: { ...FINANCE, recheckMs: MINUTE } });
  pass(MINUTE - 1);
  await me();
  expect(asked()).toBe(0);
  pass(1);
  // It ends everything if a refresh token comes twice.
  for (const person of await Promise.all(Array.from({ length: 8 }, me)))
    expect(person).toMatchObject({ name: 'Ann Meier' });
  expect(asked()).toBe(1);
  pass(MINUTE);
  expect(await me()).toMatchObject({ roles: ['finance'] });
  expect(asked()).toBe(2);
});

test('a request waits for the answer that another server asks for', async () => {
  const { me, leave, pass, ai, asked } = await openOffice();
  pass(5 * MINUTE);
  leave();
  const { notes } = ai.runs;
  const [note] = (await notes.list('sessions', { limit: 1 })).items as [any];
  const confirmation = { ...note.value.confirmation, askingUntil: Date.now() + MINUTE };
  await notes.put('sessions', note.key, { ...note.value, confirmation }, { expiresAt: note.expiresAt });
  const reads = vi.spyOn(notes, 'get');
  const answer = me();
  const times = () => reads.mock.calls.filter(([collection]) => collection === 'sessions').length;
  await vi.waitFor(() => expect(times()).toBeGreaterThan(2), 10_000);
  expect(asked()).toBe(0);
  // That server is dead: this one asks.
  pass(MINUTE);
  expect(await answer).toMatchObject({ roles: [] });
  expect(asked()).toBe(1);
});

test.each<[what: string, end: (office: Awaited<ReturnType<typeof openOffice>>) => unknown]>([
  ['whose account is gone', ({ accounts }) => accounts.delete('ann')],
  ['whose consent is gone', ({ state }) => state.consent?.destroy()],
  [
    'whose mail address is another',
    ({ accounts }) => accounts.set('ann', { ...accounts.get('ann'), email: 'other@example.com' }),
  ],
  [
    'whose mail address is verified no longer',
    ({ accounts }) => accounts.set('ann', { ...accounts.get('ann'), email_verified: false }),
  ],
])('a person %s is signed out', async (_what, end) => {
  const office = await openOffice();
  await end(office);
  expect(await office.me()).toMatchObject({ id: 'ann@example.com' });
  office.pass(5 * MINUTE);
  expect(await office.me()).toBe(401);
  expect((await office.ai.runs.notes.list('sessions', { limit: 9 })).items).toEqual([]);
});

test('an issuer that cannot be reached keeps people signed in for `unconfirmedMs`', async () => {
  const { me, leave, pass, state } = await openOffice({ company: { ...FINANCE, unconfirmedMs: 20 * MINUTE } });
  state.isDown = true;
  leave();
  pass(19 * MINUTE);
  expect(await me()).toMatchObject({ roles: ['finance'] });
  state.isDown = false;
  // Not at each request.
  expect(await me()).toMatchObject({ roles: ['finance'] });
  pass(MINUTE / 2);
  expect(await me()).toMatchObject({ roles: [] });
  state.isDown = true;
  pass(20 * MINUTE);
  expect(await me()).toBe(401);
  state.isDown = false;
  expect(await me()).toBe(401);
});

test('a refresh token that came before the issuer failed is not lost', async () => {
  const { me, pass, provider, asked } = await openOffice();
  let isBroken = true;
  provider.use(async (context, next) => {
    if (isBroken && context.path === '/me') context.status = 500;
    else await next();
  });
  pass(5 * MINUTE);
  expect(await me()).toMatchObject({ roles: ['finance'] });
  isBroken = false;
  pass(5 * MINUTE);
  expect(await me()).toMatchObject({ roles: ['finance'] });
  expect(asked()).toBe(2);
});

test('without a refresh token, the person signs in again after `unconfirmedMs`', async () => {
  const client = { grant_types: ['authorization_code'], devices: false };
  const { me, pass } = await openOffice({ client });
  pass(60 * MINUTE - 1);
  expect(await me()).toMatchObject({ roles: ['finance'] });
  pass(1);
  expect(await me()).toBe(401);
});

test('a server without this issuer knows nobody whom it has signed in', async () => {
  const { me, ai } = await openOffice();
  const { notes } = ai.runs;
  const [note] = (await notes.list('sessions', { limit: 1 })).items as [any];
  const put = (value: object) => notes.put('sessions', note.key, value as never, { expiresAt: note.expiresAt });
  const confirmation = { ...note.value.confirmation, via: 'other' };
  await put({ ...note.value, confirmation });
  expect(await me()).toBe(401);
  // As sessions were before issuers were asked again.
  const { confirmation: _confirmation, ...old } = note.value;
  await put(old);
  expect(await me()).toBe(401);
});

test('the store has no token of the issuer that can be read', async () => {
  const { url, ai, provider } = await openOffice();
  const given: string[] = [];
  provider.on('refresh_token.saved', ({ jti }: { readonly jti: string }) => given.push(jti));
  await openBrowserOf().signIn(url, 'ben');
  const [token = ''] = given;
  expect(await provider.RefreshToken.find(token)).toBeDefined();
  const stored = JSON.stringify((await ai.runs.notes.list('sessions', { limit: 9 })).items);
  expect(stored).toContain('"refreshToken":"');
  expect(stored).not.toContain(token);
});

test('a stream ends when the person has lost a role', async () => {
  const { url, ann, leave, pass } = await openOffice({ streamCheckMs: 20 });
  const cookie = ann
    .cookies()
    .map(({ name, value }) => `${name}=${value}`)
    .join('; ');
  const response = await fetch(`${url}/api/v1/changes`, { headers: { cookie } });
  expect(response.status).toBe(200);
  leave();
  pass(5 * MINUTE);
  // It ends, or this never does.
  await response.text();
});

test('a token of `countersign login` loses a role and an account in the same way', async () => {
  const { url, ai, pass, leave, accounts } = await openOffice();
  const post = async (path: string, body: object): Promise<any> => {
    const headers = { 'content-type': 'application/json' };
    return (await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).json();
  };
  const begun = await post('/login/device', {});
  await confirmDevice({ address: begun.verification_uri, code: begun.user_code }, 'ann');
  const { token, roles } = await post('/login/device/token', { deviceCode: begun.device_code });
  expect(roles).toEqual(['finance']);
  const me = async () => {
    const response = await fetch(`${url}/api/v1/me`, { headers: { authorization: `Bearer ${token}` } });
    return response.ok ? ((await response.json()) as any).roles : response.status;
  };
  leave();
  expect(await me()).toEqual(['finance']);
  pass(5 * MINUTE);
  expect(await me()).toEqual([]);
  accounts.delete('ann');
  pass(5 * MINUTE);
  expect(await me()).toBe(401);
  expect((await ai.runs.notes.list('tokens', { limit: 9 })).items.map(({ value }: any) => value.person)).not.toContain(
    'ann@example.com',
  );
});
