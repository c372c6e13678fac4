// The page Notices: what a person wants to be told, and for administrators what the channels delivered.
import { expect, test } from 'vitest';
import { account, browse, openDesk, PHONE, withBrowser } from './desk.ts';

withBrowser();

test('a person sets what they are told, and an administrator tries a failed notice again', async () => {
  let isDown = true;
  const delivered: string[] = [];
  const desk = await openDesk({
    identify: () => ({ id: 'ada', reach: 'all' }),
    channels: [
      {
        name: 'pigeon',
        async deliver({ title }) {
          if (isDown) throw Object.assign(new Error('the roof is closed'), { retryable: false });
          delivered.push(title);
        },
      },
    ],
  });
  await desk.waiting(await desk.start([['pay', { to: 'Northwind', amount: 500 }]]));
  const page = await browse(desk, 'ada', '/', { viewport: PHONE });
  await account(page, 'Notices');
  await page.getByRole('region', { name: 'Channels' }).getByText('pigeon').first().waitFor();
  await page.getByText('the roof is closed').first().waitFor();
  await page.goto(`${desk.url}/dashboard`);
  await page.getByText('1 notice could not be delivered by pigeon.').waitFor();
  await page.getByRole('link', { name: 'Show', exact: true }).click();
  isDown = false;
  await page.getByRole('button', { name: 'Try again' }).first().click();
  await expect.poll(() => delivered.length).toBeGreaterThan(0);

  await page.getByLabel('Requests of low risk together, once an hour').check();
  await page.getByLabel('Notices wait, unless the risk is high').check();
  await page.getByLabel('Quiet from').fill('22:30');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  expect(await desk.ai.notices.preferencesOf('ada')).toMatchObject({
    digest: 'low-risk',
    quiet: { from: '22:30', until: '07:00' },
  });
});
