// The badge, notifications while the page is open, and what an installed app needs.
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { account, browse, cardPath, type Desk, openDesk, PATIENT, toast, withBrowser } from './desk.ts';

withBrowser();

const pay = (to: string) => [['pay', { to, amount: 500 }]] as const;
const shown = (page: Page) => page.evaluate<readonly { readonly tag: string }[]>('shown');
const isLive = (page: Page) => page.getByRole('status').getByText('Live').waitFor({ state: 'attached' });

/** What a headless browser does not have: notifications, and the badge of an app. It keeps what it was asked to show. */
const STAND_IN = `
  window.badges = [];
  navigator.setAppBadge = async (count) => void badges.push(count);
  navigator.clearAppBadge = async () => void badges.push(null);
  window.shown = [];
  let permission = 'default';
  Object.defineProperty(Notification, 'permission', { get: () => permission });
  Notification.requestPermission = async () => (permission = 'granted');
  ServiceWorkerRegistration.prototype.showNotification = async (title, { body, tag, data }) => {
    window.shown = [...shown.filter((one) => one.tag !== tag), { title, body, tag, data }];
  };
  ServiceWorkerRegistration.prototype.getNotifications = async () =>
    shown.map((one) => ({ ...one, close: () => (window.shown = shown.filter(({ tag }) => tag !== one.tag)) }));
`;

async function withStandIn(desk: Desk): Promise<Page> {
  const page = await browse(desk, 'ada', '/', { ownContext: true });
  await page.addInitScript(STAND_IN);
  await page.reload();
  await isLive(page);
  return page;
}
const badge = (page: Page) => page.evaluate('badges.at(-1)');

test('the title and the badge of the app show how many wait', async () => {
  const desk = await openDesk();
  await desk.start(pay('Northwind'));
  const page = await withStandIn(desk);
  await expect.poll(() => page.title(), PATIENT).toBe('(1) Inbox · Countersign');
  await expect.poll(() => badge(page), PATIENT).toBe(1);
  const [id = ''] = (await desk.ai.runs.requests({ settled: false })).items.map((item) => item.id);
  await desk.ai.runs.decide(id, 'reject', { by: 'grace', roles: ['desk'] });
  await expect.poll(() => page.title(), PATIENT).toBe('Inbox · Countersign');
  await expect.poll(() => badge(page), PATIENT).toBe(null);
});

test('a person who asked for notifications gets one for each new request, without its input, until it is decided', async () => {
  const desk = await openDesk();
  await desk.start(pay('Before'));
  const page = await withStandIn(desk);
  await desk.start(pay('Unwanted'));
  await expect.poll(() => page.title(), PATIENT).toContain('(2)');
  expect(await shown(page)).toEqual([]);

  await Promise.all([page.waitForResponse(/order=newest/), account(page, 'Notifications here')]);
  const run = await desk.start(pay('Northwind'));
  const [id = ''] = await desk.waiting(run);
  await expect
    .poll(() => shown(page), PATIENT)
    .toEqual([
      { title: 'pay', body: 'Waits for your decision.', tag: id, data: { link: `${desk.url}${cardPath(id)}` } },
    ]);

  // The click, as the browser reports it to the service worker.
  const [worker] = page.context().serviceWorkers();
  await worker?.evaluate(`{
    const notification = { close: () => {}, data: { link: '${desk.url}${cardPath(id)}' } };
    const event = { notification, waitUntil: (work) => work.catch(() => {}) };
    self.dispatchEvent(Object.assign(new Event('notificationclick'), event));
  }`);
  await page.waitForURL(`${desk.url}${cardPath(id)}`);

  const [next = ''] = await desk.waiting(await desk.start(pay('Contoso')));
  await expect.poll(async () => (await shown(page)).map(({ tag }) => tag), PATIENT).toEqual([id, next]);
  await desk.ai.runs.decide(next, 'reject', { by: 'grace', roles: ['desk'] });
  await expect.poll(async () => (await shown(page)).map(({ tag }) => tag), PATIENT).toEqual([id]);
});

test('a browser that refuses is told about, and the switch stays off', async () => {
  const desk = await openDesk();
  const page = await browse(desk, 'ada', '/', { ownContext: true });
  await isLive(page);
  await account(page, 'Notifications here');
  await toast(page, 'trouble', /blocks notifications/).waitFor();
});

test('the app can be installed, and its service worker keeps nothing', async () => {
  const desk = await openDesk();
  const page = await browse(desk, 'ada', '/', { ownContext: true });
  const href = await page.locator('link[rel=manifest]').getAttribute('href');
  const answer = await fetch(new URL(href ?? '', desk.url));
  expect(answer.headers.get('content-type')).toContain('application/manifest+json');
  const { start_url, icons } = (await answer.json()) as {
    start_url: string;
    icons: { src: string; purpose?: string }[];
  };
  expect(new URL(start_url, answer.url).href).toBe(`${desk.url}/`);
  for (const { src } of icons) expect((await fetch(new URL(src, answer.url))).status).toBe(200);
  expect(icons.filter(({ purpose }) => purpose === 'maskable')).toHaveLength(1);
  const scope = await page.evaluate('navigator.serviceWorker.ready.then(({ scope }) => scope)');
  expect(scope).toBe(`${desk.url}/`);
  await page.reload();
  await isLive(page);
  expect(await page.evaluate('caches.keys()')).toEqual([]);
  const text = await (await fetch(`${desk.url}/service-worker.js`)).text();
  expect(text).not.toMatch(/'fetch'|caches|indexedDB/);
});
