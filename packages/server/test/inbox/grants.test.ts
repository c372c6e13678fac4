// Approve, and allow the next ones: a grant is given on the card, listed, inspected and revoked.
import { expect, test } from 'vitest';
import { browse, card, cardPath, openDesk, PHONE, withBrowser } from './desk.ts';

withBrowser();

test('a grant is given with the arguments at hand, used by the next call, and revoked', async () => {
  const desk = await openDesk();
  const first = await desk.start([['pay', { to: 'Northwind', amount: 500 }]]);
  const [id = ''] = await desk.waiting(first);
  const page = await browse(desk, 'ada');
  await page.goto(`${desk.url}${cardPath(id)}`);
  await card(page).getByRole('button', { name: 'Allow the next ones too…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('No earlier requests to compare with.').waitFor();
  await dialog.getByLabel('Most for amount').fill('x');
  await dialog.getByLabel('Most for amount').press('Enter');
  await dialog.getByText('Enter whole numbers of calls').waitFor();
  await dialog.getByLabel('Most for amount').fill('600');
  await dialog.getByLabel('Number of calls').fill('2');
  await dialog.getByLabel('To this total').fill('1000');
  await dialog.getByRole('button', { name: 'Approve and allow' }).click();
  await page.locator('[data-toast="approved"]').waitFor();
  await desk.ai.runs.wait(first, { until: 'end' });

  const second = await desk.start([['pay', { to: 'Northwind', amount: 600 }]]);
  expect((await desk.ai.runs.wait(second)).status).toBe('done');
  await page.goto(`${desk.url}/runs/${second}`);
  await page.getByText('Allowed by a grant').first().waitFor({ state: 'attached' });

  await page.goto(`${desk.url}/grants`);
  await page.getByText('1 of 2 calls left · 400 of 1000').click();
  await page.getByText('to is Northwind').waitFor();
  await page.getByText('amount at least 0 and at most 600').waitFor();
  await page.getByText('Ran', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('Revoked', { exact: true }).first().waitFor();
  const third = await desk.start([['pay', { to: 'Northwind', amount: 200 }]]);
  expect(await desk.waiting(third)).toHaveLength(1);
});

test('the figures warn of requests that people had rejected, and a click takes the suggestion, also on a phone', async () => {
  const desk = await openDesk();
  const ask = desk.as('ada');
  for (const [type, amount] of [
    ['approve', 300],
    ['approve', 500],
    ['reject', 300],
  ] as const) {
    const [id = ''] = await desk.waiting(await desk.start([['pay', { to: 'Birch', amount }]]));
    await ask('POST', `/api/v1/requests/${encodeURIComponent(id)}/decide`, { decision: { type } });
  }
  const [id = ''] = await desk.waiting(await desk.start([['pay', { to: 'Birch', amount: 400 }]]));
  const page = await browse(desk, 'ada', '/', { viewport: PHONE });
  await page.goto(`${desk.url}${cardPath(id)}`);
  await card(page).getByRole('button', { name: 'Allow the next ones too…' }).click();
  await page.getByText('2 of the last 3 requests match these limits. Of these, people had rejected 1.').waitFor();
  await page.getByText('to: Birch, amount: at most 500; 2 calls, amount 800 in all, for 7 days').waitFor();
  await page.getByRole('button', { name: 'Use suggestion' }).click();
  await page.getByText('3 of the last 3 requests match these limits. Of these, people had rejected 1.').waitFor();
  expect(await page.getByLabel('Number of calls').inputValue()).toBe('2');
  expect(await page.getByLabel('To this total').inputValue()).toBe('800');
  const isWide = await page.evaluate('document.documentElement.scrollWidth > window.innerWidth');
  expect(isWide).toBe(false);
});
