// Signing in by a link and out: the pages, and the fresh links of a development server.
import { headerIdentity, type ServeOptions } from '@countersign/server';
import { memoryStore } from 'countersign';
import { expect, test } from 'vitest';
import { startServer } from './server.ts';

const HTML = { accept: 'text/html,application/xhtml+xml' };

/** A server, and a browser that keeps its cookie. */
async function open(options: ServeOptions & { readonly store?: ReturnType<typeof memoryStore> } = {}) {
  const printed: string[] = [];
  const started = await startServer({ onLoginUrl: (url) => printed.push(url), ...options });
  const { url, server } = started;
  let cookie = '';
  const go = async (path: string, init: RequestInit = {}) => {
    const headers = { ...HTML, cookie, ...(init.method === 'POST' && { origin: url }), ...init.headers };
    const response = await fetch(`${url}${path}`, { redirect: 'manual', ...init, headers });
    cookie = response.headers.get('set-cookie')?.split(';')[0] ?? cookie;
    const { status } = response;
    return {
      status,
      headers: response.headers,
      location: response.headers.get('location'),
      text: await response.text(),
    };
  };
  const pathOf = (link: string) => `${new URL(link).pathname}${new URL(link).search}`;
  return { ...started, printed, go, pathOf, link: server.loginUrl ? pathOf(server.loginUrl) : '' };
}

const EXPIRED = 'This sign-in link no longer works';

test('a spent link leads to the app while signed in', async () => {
  const { go, link, printed } = await open({ dev: true });
  for (const _time of [1, 2, 3]) expect(await go(link)).toMatchObject({ status: 303, location: '/' });
  expect((await go('/api/v1/me')).status).toBe(200);
  expect(await go('/login')).toMatchObject({ status: 303, location: '/' });
  expect(printed).toEqual([]);
});

test('a link of another person replaces the session only after a question', async () => {
  const { go, link, server, url } = await open({ dev: true });
  const idOf = async () => JSON.parse((await go('/api/v1/me')).text).id;
  await go(link);
  const other = await server.app.loginPath({ id: 'ann', name: '<b>Ann' });
  const page = await go(other);
  expect(page).toMatchObject({ status: 200, text: expect.stringContaining('<bdi>&lt;b&gt;Ann</bdi>') });
  expect(page.text).toContain('You are signed in as <bdi>Developer</bdi>');
  expect(page.headers.get('set-cookie')).toBeNull();
  expect((await go(other, { method: 'POST', headers: { origin: 'https://evil.example' } })).status).toBe(403);
  expect(await idOf()).toBe('dev');
  expect(page.text).toContain(`action="${other}"`);
  expect(await go(other, { method: 'POST', headers: { origin: url } })).toMatchObject({ status: 303, location: '/' });
  expect(await idOf()).toBe('ann');
  expect(await go(await server.app.loginPath({ id: 'ann' }))).toMatchObject({ status: 303, location: '/' });
});

test('a link on a page of another site asks first, because the browser does not send the session cookie', async () => {
  const { go, server } = await open();
  const link = await server.app.loginPath({ id: 'ann' });
  for (const site of ['cross-site', 'same-site']) {
    const page = await go(link, { headers: { 'sec-fetch-site': site } });
    expect(page).toMatchObject({ status: 200, text: expect.stringContaining('signs you in as <bdi>ann</bdi>') });
    expect(page.headers.get('set-cookie')).toBeNull();
  }
  expect(await go(link, { headers: { 'sec-fetch-site': 'none' } })).toMatchObject({ status: 303, location: '/' });
});

test('a spent link leads to the app for people whom `identify` knows', async () => {
  const identify = headerIdentity({ header: 'x-user', trustedProxies: ['127.0.0.0/8'] });
  const { go } = await open({ identify });
  const headers = { 'x-user': 'ann' };
  expect(await go('/login?token=spent', { headers })).toMatchObject({ status: 303, location: '/' });
  const page = await go('/logout', { headers });
  expect(page.text).toContain('Your organisation signs you in');
  expect(page.text).not.toContain('<form');
});

test('in dev a spent link prints a fresh one, which works, and the page does not contain it', async () => {
  const { go, link, printed, pathOf, url } = await open({ dev: true });
  await go(link);
  expect(await go('/logout', { method: 'POST' })).toMatchObject({ status: 303, location: '/logout' });
  expect(printed).toHaveLength(1);
  const page = await go(link);
  expect(page).toMatchObject({ status: 401, text: expect.stringContaining(EXPIRED) });
  expect(page.text).toContain('The terminal that runs this server shows a new sign-in link');
  expect(page.text).not.toContain('token');
  const [fresh = ''] = printed;
  expect(fresh.startsWith(url.replace('127.0.0.1', 'localhost'))).toBe(true);
  expect(await go(pathOf(fresh))).toMatchObject({ status: 303, location: '/' });
  expect((await go('/api/v1/me')).status).toBe(200);
});

test('in dev an expired link prints a fresh one', async () => {
  let now = Date.now();
  const { go, link, printed } = await open({ dev: true, store: memoryStore({ now: () => now }) });
  now += 11 * 60_000;
  expect((await go(link)).status).toBe(401);
  expect(printed).toHaveLength(1);
});

/** Opens every page that could print a link, many times. */
function strike(url: string): Promise<unknown> {
  const paths = ['/login', '/login?token=', `/login?token=${'x'.repeat(43)}`, '/logout'];
  const signOut = () => fetch(`${url}/logout`, { method: 'POST', headers: { origin: url } });
  const visits = Array.from({ length: 40 }, (_, index) => fetch(`${url}${paths[index % paths.length]}`));
  return Promise.all([...visits, signOut(), signOut()]);
}

test('requests of a stranger print no second link while the first works', async () => {
  const { url, printed, ai } = await open({ dev: true });
  await strike(url);
  await strike(url);
  expect(printed).toHaveLength(1);
  // As if all links had expired.
  const links = await ai.runs.notes.list('login-links', { limit: 10 });
  for (const { key } of links.items) await ai.runs.notes.remove('login-links', key);
  await strike(url);
  expect(printed).toHaveLength(2);
});

test('even if every link has expired at once, as with a wrong clock, only ten are printed', async () => {
  const { url, printed, go } = await open({ dev: true, store: memoryStore({ now: () => Date.now() + 11 * 60_000 }) });
  await strike(url);
  expect(printed).toHaveLength(10);
  expect((await go('/login')).text).toContain('too many sign-in links');
});

test('a fresh link that could not be stored is tried again', async () => {
  const store = memoryStore();
  const { go, link, printed } = await open({ dev: true, store });
  const put = store.notes.put.bind(store.notes);
  Object.assign(store.notes, { put: () => Promise.reject(new Error('No notes.')) });
  expect((await go('/login?token=x')).status).toBe(500);
  Object.assign(store.notes, { put });
  expect((await go('/login?token=x')).status).toBe(401);
  expect(printed).toHaveLength(1);
  expect(await go(link)).toMatchObject({ status: 303 });
});

test('without dev, the page says how to get a link or a token', async () => {
  const { go, server, printed } = await open();
  const link = await server.app.loginPath({ id: 'ann' });
  await go(link);
  await go('/logout', { method: 'POST' });
  const page = await go(link);
  expect(page).toMatchObject({ status: 401, text: expect.stringContaining(EXPIRED) });
  expect(page.text).toContain('countersign link &lt;name&gt;');
  expect(page.text).toContain('countersign tokens create');
  expect(page.headers.get('cache-control')).toBe('no-store');
  expect(printed).toEqual([]);
});

test('signing out is confirmed on a page, and only a POST from this server does it', async () => {
  const { go, server } = await open();
  await go(await server.app.loginPath({ id: 'eve', name: '<script>alert(1)</script>' }));
  const page = await go('/logout');
  expect(page.text).toContain('<form method="post" action="/logout">');
  expect(page.text).toContain('&lt;script&gt;');
  expect(page.text).not.toContain('<script');
  for (const origin of ['https://evil.example', 'null'])
    expect((await go('/logout', { method: 'POST', headers: { origin } })).status).toBe(403);
  expect((await go('/api/v1/me')).status).toBe(200);
  expect(await go('/logout', { method: 'POST' })).toMatchObject({ status: 303, location: '/logout' });
  expect((await go('/logout')).text).toContain('You are signed out');
  expect((await go('/api/v1/me')).status).toBe(401);
});

test('the pages work below a base path, without scripts and inline styles', async () => {
  const { go, url } = await open({ basePath: '/approvals', dev: true });
  const { text, headers } = await go('/approvals/login?token=x');
  expect(text).not.toMatch(/<script|<style| style=| on\w+=/);
  expect(headers.get('content-security-policy')).toContain("style-src 'self'");
  const [, href] = /<link rel="stylesheet" href="([^"]+)">/.exec(text) ?? [];
  expect(href).toBe('/approvals/pages.css');
  const style = await fetch(`${url}${href}`);
  expect([style.status, style.headers.get('content-type')]).toEqual([200, 'text/css; charset=utf-8']);
  expect(await style.text()).toContain('color-scheme: light dark');
});
