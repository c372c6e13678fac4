// Signing in with the company's account: who the person is, which roles they have, and how sessions end.
import { expect, test, vi } from 'vitest';
import { begin } from '../server.ts';
import { openBrowserOf, openCompany } from './company.ts';

test('a person signs in at the company, and is named by their verified mail address', async () => {
  const { url } = await openCompany({ company: { roles: { Payments: 'finance' } } });
  const browser = openBrowserOf();
  const page = await browser.go(`${url}/login`);
  expect(page.text).toContain('href="/login/with/sso">Sign in with Example</a>');
  const last = await browser.signIn(url, 'ann');
  expect(last.url).toBe(`${url}/`);
  const me = { id: 'ann@example.com', name: 'Ann Meier', roles: ['finance'], reach: 'own' };
  expect(await browser.me(url)).toMatchObject(me);
  expect(browser.cookieNames()).not.toContain(expect.stringContaining('sign-in'));
});

test('a mail address that the company has not verified names nobody', async () => {
  const { url } = await openCompany();
  const browser = openBrowserOf();
  const page = await browser.signIn(url, 'eve');
  expect(page).toMatchObject({ status: 403, text: expect.stringContaining('has not verified the mail address') });
  expect(await browser.me(url)).toBe(401);
});

test('an account without a mail address is named by its issuer and subject', async () => {
  const { url, accounts, issuer } = await openCompany();
  accounts.set('robot', { name: 'Robot' });
  const browser = openBrowserOf();
  await browser.signIn(url, 'robot');
  expect(await browser.me(url)).toMatchObject({ id: `${issuer}#robot`, roles: [] });
});

test('an account whose mail address changes does not become a second person', async () => {
  const { url, accounts } = await openCompany();
  await openBrowserOf().signIn(url, 'ann');
  accounts.set('ann', { ...accounts.get('ann'), email: 'other@example.com' });
  const page = await openBrowserOf().signIn(url, 'ann');
  expect(page).toMatchObject({ status: 403, text: expect.stringContaining('countersign people restore') });
});

test('the domain of an address must be one that may sign in', async () => {
  const { url, accounts } = await openCompany({ company: { domains: ['example.com'] } });
  accounts.set('mallory', { email: 'ann@example.com.evil.org', email_verified: true });
  accounts.set('nobody', { name: 'No mail' });
  for (const account of ['mallory', 'nobody']) expect((await openBrowserOf().signIn(url, account)).status).toBe(403);
  expect((await openBrowserOf().signIn(url, 'ben')).url).toBe(`${url}/`);
});

test('roles decide, and a role that was removed votes no longer after the next sign-in', async () => {
  const { url, accounts, ai, as } = await openCompany({
    company: { roles: { Payments: 'finance' } },
    instance: { policyFor: () => ({ deciders: { roles: ['finance'] } }) },
  });
  const paul = await as('paul');
  const ann = openBrowserOf();
  const vote = async (): Promise<{ status: number; body: any }> => {
    const { requests } = await begin(paul, ai, 'pay bob 500');
    const [{ id, digest }] = requests;
    const path = `/api/v1/requests/${encodeURIComponent(id)}/decide`;
    return ann.api(url, 'POST', path, { decision: { type: 'approve' }, digest });
  };
  await ann.signIn(url, 'ann');
  expect(await vote()).toMatchObject({ status: 200 });
  accounts.set('ann', { ...accounts.get('ann'), groups: ['Other'] });
  await ann.signIn(url, 'ann');
  expect((await vote()).status).toBe(404);
  expect(await ann.me(url)).toMatchObject({ roles: [] });
});

test('groups can give the reach over all runs', async () => {
  const { url } = await openCompany({ company: { all: ['Payments'] } });
  const browser = openBrowserOf();
  await browser.signIn(url, 'ann');
  expect(await browser.me(url)).toMatchObject({ reach: 'all', roles: [] });
});

test('signing out also signs out at the company', async () => {
  const { url, issuer } = await openCompany();
  const browser = openBrowserOf();
  await browser.signIn(url, 'ann');
  const page = await browser.go(`${url}/logout`);
  expect(page.text).toContain('signs you out there, too');
  const asked = await browser.send(page);
  expect(asked).toMatchObject({ status: 200, text: expect.stringContaining('op.logoutForm') });
  expect(asked.url).toContain(`${issuer}/session/end?id_token_hint=`);
  // Here the session is over already.
  expect(await browser.me(url)).toBe(401);
  const last = await browser.send(asked, { logout: 'yes' });
  expect(last).toMatchObject({ url: `${url}/logout`, text: expect.stringContaining('You are signed out') });
  const again = await browser.go(`${url}/login/with/sso`);
  expect(again.text).toContain('Enter any login');
});

test('a session ends at its limit, and before if nobody uses it', async () => {
  const HOUR = 3_600_000;
  let now = Date.now();
  vi.spyOn(Date, 'now').mockImplementation(() => now);
  const company = { sessionMs: 3 * HOUR, idleMs: HOUR };
  const { url } = await openCompany({ company, clock: () => now });
  const [used, idle] = [openBrowserOf(), openBrowserOf()];
  await used.signIn(url, 'ann');
  await idle.signIn(url, 'ben');
  for (const _time of [1, 2, 3]) {
    now += 0.8 * HOUR;
    expect(await used.me(url)).toMatchObject({ id: 'ann@example.com' });
  }
  expect(await idle.me(url)).toBe(401);
  now += 0.7 * HOUR;
  expect(await used.me(url)).toBe(401);
  vi.restoreAllMocks();
});
