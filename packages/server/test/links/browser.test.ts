// Decision links in Chromium on a phone, without JavaScript.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { openBrowser } from '../../../../scripts/test-browser.mjs';
import { linkedRequest } from './linked-request.ts';

const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, javaScriptEnabled: false };

async function phone(options: object = {}) {
  const browser = await openBrowser();
  onTestFinished(() => browser.close());
  return (await browser.newContext({ ...PHONE, ...options })).newPage();
}

test('a person edits, confirms and approves a request without JavaScript, in light and dark', async () => {
  const server = await linkedRequest({ title: 'Pay €1,250.50 to ACME', message: 'Invoice 2026-117, due on Friday.' });
  const url = String(await server.link());
  const page = await phone({ locale: 'de-DE' });
  await page.goto(url);
  const looks = new Set<string>();
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    const picture = await page.screenshot({ fullPage: true });
    looks.add(picture.toString('base64'));
    // Nothing is wider than the phone.
    expect(picture.readUInt32BE(16) % 390).toBe(0);
  }
  expect(looks.size).toBe(2);
  await page.getByText('Edit …').tap();
  await page.getByLabel('amount').fill('0.5');
  await page.getByRole('button', { name: 'Approve with these changes' }).tap();
  await page.getByRole('heading', { name: 'Approve with these changes?' }).waitFor();
  expect(await page.getByText('(0,5)').isVisible()).toBe(true);
  await page.getByRole('link', { name: 'Go back' }).tap();
  await page.getByRole('button', { name: 'Approve', exact: true }).tap();
  await page.getByRole('button', { name: 'Yes, approve' }).tap();
  await page.getByRole('heading', { name: 'Approved' }).waitFor();
  await server.settled();
  expect(server.ran).toEqual([{ to: 'ACME', amount: 1250.5 }]);
  await page.goto(url);
  await page.getByRole('heading', { name: 'This link does not work' }).waitFor();
});

test('where links ask for a sign-in, a click in a mail of another site finds the session of the browser', async () => {
  const policy = { deciders: { people: ['dev'] } };
  const { link, server, request } = await linkedRequest({ policy, dev: true, links: { requireSignIn: true } });
  const url = String(await link('dev')).replace('127.0.0.1', 'localhost');
  const mail = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end(`<a href="${url}">Decide</a>`);
  });
  await new Promise<void>((resolve) => mail.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void mail.close());
  const page = await phone();
  await page.goto(server.loginUrl ?? '');
  await page.goto(`http://127.0.0.1:${(mail.address() as AddressInfo).port}/`);
  await page.getByRole('link', { name: 'Decide' }).tap();
  await page.getByRole('button', { name: 'Approve', exact: true }).tap();
  await page.getByRole('button', { name: 'Yes, approve' }).tap();
  await page.getByRole('heading', { name: 'Approved' }).waitFor();
  expect((await request()).settlement).toMatchObject({ by: 'dev', channel: 'mail' });
});
