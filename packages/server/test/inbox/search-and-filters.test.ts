// Finding a request among many: search, filters, pages.
import { expect, test } from 'vitest';
import { browse, card, choose, filterBy, list, openDesk, PATIENT, removeFilter, withBrowser } from './desk.ts';

withBrowser();

test('search and filters ask the server, and stay in the address', async () => {
  const desk = await openDesk();
  await desk.start([['pay', { to: 'Northwind', amount: 500 }]]);
  await desk.start([['pay', { to: 'Lantern', amount: 600 }]], 'grace');
  await desk.start([['publish', { title: 'Quarterly letter' }]]);
  await desk.start([['choose', { question: 'Which size?', choices: ['Small', 'Large'] }]]);
  const page = await browse(desk, 'ada');
  const rows = list(page).getByRole('link');
  const shows = (names: readonly RegExp[]) =>
    expect
      .poll(
        async () => (await rows.allTextContents()).map((text) => names.findIndex((name) => name.test(text))),
        PATIENT,
      )
      .toEqual(names.map((_, index) => index));
  await shows([/Pay 500/, /Pay 600/, /publish/, /Which size/]);

  await page.getByLabel('Search').fill('lant');
  await shows([/Pay 600/]);
  expect(new URL(page.url()).searchParams.get('search')).toBe('lant');
  await page.getByLabel('Search').fill('');
  await shows([/Pay 500/, /Pay 600/, /publish/, /Which size/]);

  await filterBy(page, 'Tool', 'pay');
  await shows([/Pay 500/, /Pay 600/]);
  await choose(page, /^Order/, 'Newest first');
  await shows([/Pay 600/, /Pay 500/]);
  await filterBy(page, 'Mine', 'Asked by me');
  await shows([/Pay 500/]);
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await filterBy(page, 'Risk', 'High');
  await shows([/Pay 600/, /Pay 500/]);
  // The chip of a filter opens its menu.
  await choose(page, 'Risk: High', 'Low');
  await shows([/publish/]);
  await removeFilter(page, 'Risk');
  await filterBy(page, 'Kind', 'Question');
  await shows([/Which size/]);
  await removeFilter(page, 'Kind');
  await filterBy(page, 'Label', 'press');
  await shows([/publish/]);
  await removeFilter(page, 'Label');
  await filterBy(page, 'Agent', 'assistant');
  await list(page).getByText('No matches').waitFor();
  await page.getByRole('button', { name: 'Clear filters' }).first().click();
  await filterBy(page, 'Age', 'Over an hour old');
  await list(page).getByText('No matches').waitFor();

  await page.goto(`${desk.url}/?tool=publish`);
  await shows([/publish/]);
  await rows.first().click();
  await card(page).getByRole('heading', { name: 'Publish' }).waitFor();
  expect(page.url()).toContain('tool=publish');
});

test('a long list loads page by page, and a change reloads only the first page', async () => {
  const desk = await openDesk();
  const many = (from: number, count: number) =>
    Array.from({ length: count }, (_, index) => ['pay', { to: `payee${from + index}`, amount: 500 }] as const);
  for (let from = 0; from < 120; from += 40) await desk.start(many(from, 40));
  const page = await browse(desk, 'ada');
  const rows = list(page).getByRole('link');
  // The count is exact, however many are loaded.
  await list(page).getByText('120 waiting').waitFor();
  expect(await page.title()).toContain('(120)');
  expect(await rows.count()).toBe(50);
  const all = page.getByRole('button', { name: 'Load more' });
  // A click is lost if the list changes under the pointer.
  await expect
    .poll(async () => {
      await page
        .getByRole('button', { name: 'Load more' })
        .click({ timeout: 1_000 })
        .catch(() => undefined);
      return all.isVisible();
    }, PATIENT)
    .toBe(false);

  await page.getByRole('status').getByText('Live').waitFor({ state: 'attached' });
  const asked: string[] = [];
  page.on('request', (request) => {
    if (new URL(request.url()).pathname === '/api/v1/requests') asked.push(request.url());
  });
  const { items } = (await desk.as('grace')('GET', '/api/v1/requests?limit=1')).body;
  await desk.as('grace')('POST', `/api/v1/requests/${encodeURIComponent(items[0].id)}/decide`, {
    decision: { type: 'reject' },
  });
  await list(page).getByText('119 waiting').waitFor();
  expect(asked.length).toBeGreaterThan(0);
  expect(asked.filter((url) => url.includes('cursor='))).toEqual([]);
});

test('typing after a space keeps the space in the search', async () => {
  const desk = await openDesk();
  await desk.start([['pay', { to: 'Northwind', amount: 500 }]]);
  const page = await browse(desk, 'ada');
  const search = page.getByLabel('Search', { exact: true });
  await search.pressSequentially('Pay ');
  await page.waitForURL(/search=Pay$/);
  await search.pressSequentially('500');
  expect(await search.inputValue()).toBe('Pay 500');
  await page.waitForURL(/search=Pay(\+|%20)500$/);
  await list(page)
    .getByRole('link', { name: /Northwind/ })
    .waitFor();
});

test('a decided request disappears from the list, even from a later page', async () => {
  const desk = await openDesk();
  const many = Array.from({ length: 60 }, (_, index) => ['pay', { to: `payee${index}`, amount: 500 }] as const);
  await desk.start(many);
  const page = await browse(desk, 'ada');
  await list(page).getByText('60 waiting').waitFor();
  await page.getByRole('button', { name: 'Load more' }).click();
  await list(page)
    .getByRole('link', { name: /payee58/ })
    .click();
  await card(page).getByRole('button', { name: 'Approve' }).click();
  await list(page).getByText('59 waiting').waitFor();
  expect(
    await list(page)
      .getByRole('link', { name: /payee58/ })
      .count(),
  ).toBe(0);
  // The next request opens in its place.
  await card(page).getByText('payee59').first().waitFor();

  // Another person decides the open request.
  const { items } = (await desk.as('grace')('GET', '/api/v1/requests?search=payee59')).body;
  await desk.as('grace')('POST', `/api/v1/requests/${encodeURIComponent(items[0].id)}/decide`, {
    decision: { type: 'reject' },
  });
  await list(page).getByText('58 waiting').waitFor();
});

test('the palette finds requests, runs and pages, and opens them with the keyboard', async () => {
  const desk = await openDesk();
  await desk.start([['pay', { to: 'Northwind', amount: 500 }]]);
  const runId = await desk.start([['choose', { question: 'Which size?', choices: ['Small', 'Large'] }]]);
  const page = await browse(desk, 'ada', '/dashboard');
  await page.getByRole('heading', { name: 'Dashboard' }).waitFor();
  const palette = page.getByRole('dialog', { name: 'Search' });
  const find = async (text: string, option: RegExp) => {
    await page.keyboard.press('Control+k');
    await palette.getByRole('combobox').fill(text);
    await expect.poll(() => palette.getByRole('option').first().textContent(), PATIENT).toMatch(option);
    await page.keyboard.press('Enter');
    await palette.waitFor({ state: 'hidden' });
  };
  await find('which siz', /Which size\?/);
  await card(page).getByRole('heading', { name: 'Which size?' }).waitFor();
  await find(runId, /choose/);
  await page.getByRole('heading', { name: 'Timeline' }).waitFor();
  await find('hist', /^History/);
  await page.getByRole('heading', { level: 1, name: 'History' }).waitFor();
});
