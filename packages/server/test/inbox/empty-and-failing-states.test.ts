// Empty and failing states: loading, empty, server unreachable, signed out.
import { expect, test } from 'vitest';
import { account, browse, card, cardPath, list, openDesk, PATIENT, PHONE, withBrowser } from './desk.ts';

withBrowser();

test('every page says so when it is empty', async () => {
  const desk = await openDesk({ identify: () => ({ id: 'ada', reach: 'all', roles: ['desk'] }) });
  const page = await browse(desk, 'ada');
  for (const [path, text] of [
    ['/', "You're all caught up"],
    ['/history', 'No decisions yet'],
    ['/runs', 'No runs yet'],
    ['/grants', 'No grants yet'],
    ['/dashboard', 'No data yet'],
    ['/chat', 'Chat with an agent'],
  ] as const) {
    await page.goto(`${desk.url}${path}`);
    await page.getByText(text).waitFor();
  }
});

test('a person without rights reads what they cannot see or do, instead of that there is nothing', async () => {
  const desk = await openDesk({
    identify: () => ({ id: 'eve', scopes: ['read'] }),
    mayRead: undefined,
    maySteer: undefined,
  } as never);
  await desk.ai.agents.get('clerk')?.start('[["pay", {"to":"Northwind","amount":500}]]', { by: 'ada' });
  const page = await browse(desk, 'eve');
  for (const [path, ...texts] of [
    ['/', 'You can read, but not decide'],
    ['/history', 'No decisions that you can see', 'Decided requests of your runs'],
    ['/runs', 'No runs that you can see'],
    ['/grants', 'No grants that you can see', 'your sign-in has no right to decide'],
    ['/dashboard', 'No numbers for you'],
    ['/notices', 'Channels and their deliveries are shown to people who can see all runs.'],
  ] as const) {
    await page.goto(`${desk.url}${path}`);
    for (const text of texts) await page.getByText(text).waitFor();
    if (path !== '/notices') expect(await page.getByRole('link', { name: 'Start a chat' }).count()).toBe(0);
  }
});

test('a loading list keeps its place', async () => {
  const desk = await openDesk();
  await desk.start([['pay', { to: 'Northwind', amount: 500 }]]);
  const page = await browse(desk, 'ada');
  let letGo: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  await page.route('**/api/v1/requests?*', async (route) => {
    await held;
    await route.continue();
  });
  await page.reload();
  await list(page).getByText('Loading the list…').waitFor({ state: 'attached' });
  letGo();
  await list(page)
    .getByRole('link', { name: /Pay 500/ })
    .waitFor();
});

test('an unreachable server is reported, with a retry button', async () => {
  const desk = await openDesk();
  await desk.start([['pay', { to: 'Northwind', amount: 500 }]]);
  const page = await browse(desk, 'ada');
  let isBack = false;
  // The live stream stays away: it would load the list again by itself.
  await page.route('**/api/v1/**', (route) =>
    isBack && route.request().url().includes('/requests') ? route.continue() : route.abort(),
  );
  for (const [path, what] of [
    ['/', 'The list'],
    ['/runs', 'The runs'],
    ['/dashboard', 'The dashboard'],
    ['/chat', 'The agents'],
  ] as const) {
    await page.goto(`${desk.url}${path}`);
    await page.getByRole('alert').getByText(`${what} could not be loaded`).waitFor();
    expect(await page.getByText('All clear').count()).toBe(0);
  }
  await page.goto(`${desk.url}/`);
  await page.getByRole('alert').waitFor();
  isBack = true;
  await page.getByRole('button', { name: 'Try again' }).click();
  await list(page)
    .getByRole('link', { name: /Pay 500/ })
    .waitFor();
});

test('a browser that goes offline shows the banner until it is online again', async () => {
  const desk = await openDesk();
  const page = await browse(desk, 'ada');
  await page.getByText('Live', { exact: true }).waitFor();
  await page.context().setOffline(true);
  await page.getByRole('status', { name: 'Connection' }).getByText('Connection lost').waitFor();
  await page.context().setOffline(false);
  await page.getByText('Live', { exact: true }).waitFor();
});

test('an app that did not load completely says what to do, and works after a reload', async () => {
  const desk = await openDesk();
  const page = await browse(desk, '');
  await page.route('**/assets/index-*.js', (route) => route.abort());
  await page.goto(desk.url);
  await page.getByText('If nothing else appears here, load the page again.').waitFor();
  await page.unroute('**/assets/index-*.js');
  await page.reload();
  await page.getByRole('heading').first().waitFor();
  expect(await page.getByText('If nothing else appears').count()).toBe(0);
});

test('a page that did not load leaves the other pages usable', async () => {
  const desk = await openDesk();
  await desk.start([['pay', { to: 'Northwind', amount: 500 }]]);
  const page = await browse(desk, 'ada');
  await page.route('**/assets/dashboard-page-*.js', (route) => route.abort());
  await page.getByRole('link', { name: 'Dashboard' }).click();
  await page.getByRole('alert').getByText('This page could not be loaded').waitFor();
  expect(await page.getByRole('alert').innerText()).toContain('Nothing is lost');
  await page.getByRole('link', { name: /^Inbox/ }).click();
  await list(page)
    .getByRole('link', { name: /Pay 500/ })
    .waitFor();
});

test.for(['before', 'after'])(
  'a message lost %s the server received it is reported and can be retried',
  async (where) => {
    const desk = await openDesk();
    const page = await browse(desk, 'ada', '/', { ownContext: true });
    await page.clock.install();
    await page.goto(`${desk.url}/chat/clerk/talk`);
    const swallowed = '**/api/v1/chat/clerk';
    await page.route(swallowed, async (route) => {
      if (where === 'after') await desk.as('ada')('POST', '/api/v1/chat/clerk', route.request().postDataJSON());
    });
    await page.getByLabel('Your message').fill('[["pay", {"to":"Northwind","amount":500}]]');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('Thinking…').waitFor();
    if (where === 'after') await expect.poll(() => desk.waiting('talk').catch(() => [])).toHaveLength(1);
    await page.clock.fastForward(61_000);
    await page.getByRole('alert').getByText('Connection dropped.').waitFor();
    await page.unroute(swallowed);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('button', { name: 'Approve' }).waitFor();

    // A decision too.
    await page.route(swallowed, async (route) => {
      if (where === 'after') await desk.as('ada')('POST', '/api/v1/chat/clerk', route.request().postDataJSON());
    });
    await page.getByRole('button', { name: 'Approve' }).click();
    if (where === 'after') await expect.poll(() => desk.done).toHaveLength(1);
    await page.clock.fastForward(61_000);
    await page.unroute(swallowed);
    if (where === 'before') await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('All done.').waitFor();
    expect(desk.done).toHaveLength(1);
    expect((await desk.ai.runs.get('talk')).messages.filter(({ role }) => role === 'user')).toHaveLength(1);
  },
);

test("a rejection in the chat is shown in the server's words, without a retry", async () => {
  const desk = await openDesk({ maySteer: () => false });
  const runId = await desk.start([['look', {}]]);
  const page = await browse(desk, 'bob', `/chat/clerk/${runId}`);
  await page.getByText('All done.').waitFor();
  await page.getByLabel('Your message').fill('And now?');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('alert').getByText('You can decide in this chat but not send messages.').waitFor();
  expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
});

test('a decision that did not reach the server can be made again once it is back', async () => {
  const desk = await openDesk();
  const runId = await desk.start([['pay', { to: 'Northwind', amount: 500 }]]);
  const [id = ''] = await desk.waiting(runId);
  const page = await browse(desk, 'ada', cardPath(id));
  await card(page).getByRole('button', { name: 'Approve' }).waitFor();
  await page.getByRole('status').getByText('Live').waitFor({ state: 'attached' });
  await desk.stop();
  const banner = page.getByRole('status', { name: 'Connection' });
  await banner.getByText('Connection lost.').waitFor();
  await banner.getByRole('button', { name: 'Retry now' }).click();
  await card(page).getByRole('button', { name: 'Approve' }).click();
  await card(page)
    .getByRole('alert')
    .getByText(/Could not confirm your decision/)
    .waitFor();
  expect(desk.done).toEqual([]);
  expect(await page.getByText(/failed to fetch/i).count()).toBe(0);
  await desk.comeBack();
  await banner.getByText('Connection lost.').waitFor({ state: 'hidden' });
  await card(page).getByRole('button', { name: 'Approve' }).click();
  await card(page)
    .getByText(/Approved by ada/)
    .waitFor();
  await expect.poll(() => desk.done.length, PATIENT).toBe(1);
});

test('a chat without a connection shows one card for a request, on a phone too', async () => {
  const desk = await openDesk();
  const runId = await desk.start([['pay', { to: 'Northwind', amount: 500 }]]);
  const page = await browse(desk, 'ada', `/chat/clerk/${runId}`, { viewport: PHONE });
  await page.getByRole('button', { name: 'Approve' }).waitFor();
  await desk.stop();
  await page.getByRole('status', { name: 'Connection' }).getByText('Connection lost.').waitFor();
  await page.getByLabel('Your message').fill('Never mind');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('button', { name: 'Send and withdraw' }).click();
  await page.getByRole('alert').getByText('Connection dropped.').waitFor();
  await page.getByRole('button', { name: 'Approve' }).waitFor();
  expect(await page.getByText('Cancelled').count()).toBe(0);
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.getByText('Could not confirm your decision. Try again.').waitFor();
  expect(await page.getByText(/failed to fetch/i).count()).toBe(0);
  await desk.comeBack();
});

test('a decision whose response was lost can be repeated and stays one decision', async () => {
  const desk = await openDesk();
  const runId = await desk.start([['pay', { to: 'Northwind', amount: 500 }]]);
  const [id = ''] = await desk.waiting(runId);
  const page = await browse(desk, 'ada', cardPath(id));
  await card(page).getByRole('button', { name: 'Approve' }).waitFor();
  let isAway = false;
  await page.route('**/api/**', async (route) => {
    if (!isAway && !route.request().url().endsWith('/decide')) return route.continue();
    if (!isAway) await route.fetch();
    isAway = true;
    await route.abort('connectionreset');
  });
  await card(page).getByRole('button', { name: 'Approve' }).click();
  await expect.poll(() => desk.done.length, PATIENT).toBe(1);
  const told = card(page).getByRole('alert');
  await told.getByText('Could not confirm your decision. Try again.').waitFor();
  await page.unrouteAll({ behavior: 'wait' });
  await card(page).getByRole('button', { name: 'Approve' }).click();
  await card(page)
    .getByText(/Approved by ada/)
    .waitFor();
  expect(desk.done).toHaveLength(1);
});

test('a signed-out visitor sees the sign-in page on every path', async () => {
  const desk = await openDesk();
  const page = await browse(desk, '', '/runs/run_1');
  await page.getByRole('heading', { name: 'Sign in to Countersign' }).waitFor();
  await page.getByRole('link', { name: 'Sign in', exact: true }).click();
  await page.waitForURL(`${desk.url}/login`);
  await page.getByRole('heading', { name: 'Sign in to Countersign' }).waitFor();
  await page.getByRole('link', { name: 'Open the inbox' }).click();
  const retry = page.getByRole('button', { name: 'Try again' });
  await retry.waitFor();
  await page.setExtraHTTPHeaders({ 'x-user': 'ada' });
  await retry.click();
  await list(page).getByText("You're all caught up").waitFor();
});

test('a session that ends midway leads to the sign-in page', async () => {
  const desk = await openDesk();
  const page = await browse(desk, 'ada');
  await list(page).getByText("You're all caught up").waitFor();
  // By then the requests after the live connection have been sent.
  await page.getByRole('status').getByText('Live').waitFor({ state: 'attached' });
  await page.setExtraHTTPHeaders({ 'x-user': '' });
  // An earlier request may have noticed already; then the link is gone.
  const link = page.getByRole('link', { name: 'Dashboard' }).first();
  void link.click().catch(() => undefined);
  await page.getByRole('heading', { name: 'Sign in to Countersign' }).waitFor();
});

test('below a base path every page is found', async () => {
  const desk = await openDesk({ basePath: '/approvals' });
  const api = desk.as('ada');
  const { body } = await api('POST', '/approvals/api/v1/runs', {
    agent: 'clerk',
    prompt: JSON.stringify([['pay', { to: 'Northwind', amount: 500 }]]),
  });
  await desk.ai.runs.wait(body.id);
  const page = await browse(desk, 'ada', `/approvals/runs/${body.id}`);
  await page.getByRole('heading', { name: 'Timeline' }).waitFor();
  await page.getByRole('link', { name: /Pay 500/ }).click();
  await card(page).getByRole('button', { name: 'Approve' }).click();
  await card(page)
    .getByText(/Approved by ada/)
    .waitFor();
  expect(new URL(page.url()).pathname).toMatch(/^\/approvals\/requests\//);
  await page.getByRole('link', { name: 'Countersign' }).click();
  await list(page).getByText("You're all caught up").waitFor();
  expect(
    await page
      .locator('img')
      .first()
      .evaluate((image: { naturalWidth: number }) => image.naturalWidth),
  ).toBeGreaterThan(0);
});

test('a link signs in, works again while signed in, and signing out is confirmed', async () => {
  const desk = await openDesk();
  const page = await browse(desk, '');
  await page.getByRole('heading', { name: 'Sign in to Countersign' }).waitFor();
  const link = await desk.loginPath('ada');
  for (const _time of [1, 2]) {
    await page.goto(`${desk.url}${link}`);
    await list(page).getByText("You're all caught up").waitFor();
  }
  await account(page, 'Sign out');
  await page.getByRole('heading', { name: 'Sign out?' }).waitFor();
  await page.getByRole('link', { name: 'Stay signed in' }).click();
  await list(page).getByText("You're all caught up").waitFor();
  await account(page, 'Sign out');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
  await page.goto(`${desk.url}${link}`);
  await page.getByRole('heading', { name: 'This sign-in link no longer works' }).waitFor();
});

test('a user whom a proxy signs in is told to sign out there', async () => {
  const desk = await openDesk();
  const page = await browse(desk, 'ada');
  await account(page, 'Sign out');
  await page.getByText('Your organisation signs you in, so sign out there.').waitFor();
  await page.getByRole('link', { name: 'Back to the inbox' }).click();
  await list(page).getByText("You're all caught up").waitFor();
});
