// Finding a request among many: search, filters, pages.
import { expect, test } from 'vitest';
import { browse, card, list, openDesk, PATIENT, withBrowser } from './desk.ts';

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

  await page.getByRole('button', { name: 'Filter' }).click();
  await page.getByLabel('Tool').selectOption('pay');
  await shows([/Pay 500/, /Pay 600/]);
  await page.getByLabel('Order').selectOption('newest');
  await shows([/Pay 600/, /Pay 500/]);
  await page.getByLabel('Only mine').check();
  await shows([/Pay 500/]);
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await page.getByLabel('Risk').selectOption('low');
  await shows([/publish/]);
  await page.getByLabel('Risk').selectOption('');
  await page.getByLabel('Kind').selectOption('question');
  await shows([/Which size/]);
  await page.getByLabel('Kind').selectOption('');
  await page.getByLabel('Label').fill('press');
  await shows([/publish/]);
  await page.getByLabel('Label').fill('');
  await page.getByLabel('Agent').selectOption('assistant');
  await list(page).getByText('No matches').waitFor();
  await page.getByRole('button', { name: 'Clear filters' }).first().click();
  await page.getByLabel('Age', { exact: true }).selectOption('1h');
  await list(page).getByText('No matches').waitFor();

  await page.goto(`${desk.url}/?tool=publish`);
  await shows([/publish/]);
  await rows.first().click();
  await card(page)
    .getByRole('heading', { name: /publish/ })
    .waitFor();
  expect(page.url()).toContain('tool=publish');
});

test('a long list loads page by page, and a change reloads only the first page', async () => {
  const desk = await openDesk();
  const many = (from: number, count: number) =>
    Array.from({ length: count }, (_, index) => ['pay', { to: `payee${from + index}`, amount: 500 }] as const);
  for (let from = 0; from < 120; from += 40) await desk.start(many(from, 40));
  const page = await browse(desk, 'ada');
  const rows = list(page).getByRole('link');
  await list(page).getByText('50+ waiting').waitFor();
  expect(await rows.count()).toBe(50);
  await page.getByRole('button', { name: 'Load more' }).click();
  await list(page).getByText('100+ waiting').waitFor();
  await page.getByRole('button', { name: 'Load more' }).click();
  await list(page).getByText('120 waiting').waitFor();

  await page.getByRole('status').getByText('Live').waitFor({ state: 'attached' });
  const asked: string[] = [];
  page.on('request', (request) => {
    if (new URL(request.url()).pathname === '/api/v1/interrupts') asked.push(request.url());
  });
  const { items } = (await desk.as('grace')('GET', '/api/v1/interrupts?limit=1')).body;
  await desk.as('grace')('POST', `/api/v1/interrupts/${encodeURIComponent(items[0].id)}/decide`, {
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
  await page.getByRole('button', { name: 'Load more' }).click();
  await list(page).getByText('60 waiting').waitFor();
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
  // The next card took its place.
  await card(page).getByRole('button', { name: 'Next' }).click();
  await card(page).getByText('payee59').first().waitFor();

  // Another person decides the open request.
  const { items } = (await desk.as('grace')('GET', '/api/v1/interrupts?search=payee59')).body;
  await desk.as('grace')('POST', `/api/v1/interrupts/${encodeURIComponent(items[0].id)}/decide`, {
    decision: { type: 'reject' },
  });
  await list(page).getByText('58 waiting').waitFor();
});
