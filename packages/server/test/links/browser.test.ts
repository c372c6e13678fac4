// Decision links in Chromium on a phone, without JavaScript.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { z } from 'countersign';
import { expect, onTestFinished, test } from 'vitest';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { openBrowser } from '../../../../scripts/test-browser.mjs';
import { linkedRequest } from './linked-request.ts';

const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, javaScriptEnabled: false };

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe finds, in light and dark. */
async function faultsOf(page: Awaited<ReturnType<typeof phone>>): Promise<unknown> {
  await page.evaluate(axe);
  const found: unknown[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    found.push(
      await page.evaluate('axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html]))'),
    );
  }
  return found.flat();
}

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
  await page.getByText('Done').waitFor();
});

test('on a phone the decisions are on the first screen, times are local, and back and reload are harmless', async () => {
  const server = await linkedRequest({
    title: 'Pay €1,250.50 to ACME',
    message: 'Invoice 2026-117, due on Friday. '.repeat(20),
    inputSchema: z.object({
      to: z.string().meta({ title: 'Payee' }),
      amount: z.number().meta({ title: 'Amount in EUR' }),
      ...Object.fromEntries(Array.from({ length: 20 }, (_, line) => [`line${line}`, z.string()])),
    }),
    input: {
      to: 'ACME',
      amount: 1250.5,
      ...Object.fromEntries(Array.from({ length: 20 }, (_, line) => [`line${line}`, `Position ${line}`])),
    },
    policy: { quorum: [{ of: { people: ['ann'] }, count: 1, when: [{ field: 'amount', above: 1000 }] }] },
  });
  const url = String(await server.link());
  const page = await phone({ javaScriptEnabled: true, locale: 'en-GB', timezoneId: 'Asia/Tokyo' });
  await page.goto(url);
  for (const name of ['Approve', 'Reject …']) {
    const place = await page.getByRole('button', { name, exact: true }).boundingBox();
    expect((place?.y ?? 900) + (place?.height ?? 0)).toBeLessThanOrEqual(844);
  }
  expect(await page.locator('dt', { hasText: 'Payee' }).isVisible()).toBe(true);
  expect(await page.getByText('carl asks, through treasurer').isVisible()).toBe(true);
  expect(await page.getByText('1 of ann must agree, if Amount in EUR is above 1000.').isVisible()).toBe(true);
  await page.getByText('More about this request').tap();
  expect(await page.locator('time').first().textContent()).toMatch(/GMT\+9|JST/);
  expect(await faultsOf(page)).toEqual([]);
  await page.getByRole('button', { name: 'Reject …' }).tap();
  await page.getByLabel('Reason').fill('Too expensive.');
  await page.getByRole('button', { name: 'Yes, reject' }).tap();
  await page.getByRole('heading', { name: 'Rejected' }).waitFor();
  const before = await server.request();
  expect(before.settlement).toMatchObject({ by: 'ann', decision: { type: 'reject', reason: 'Too expensive.' } });
  expect(await faultsOf(page)).toEqual([]);
  await page.reload();
  await page.getByRole('heading', { name: 'Rejected' }).waitFor();
  for (let time = 0; time < 2; time += 1) {
    await page.goBack();
    await page.getByRole('heading', { name: 'Rejected' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Rejected' }).waitFor();
  }
  expect(await server.request()).toEqual(before);
});

test('the page of a used link shows what came of the call', async () => {
  const bank = Promise.withResolvers<void>();
  const server = await linkedRequest({ title: 'Pay ACME', onPay: () => bank.promise });
  const page = await phone({ javaScriptEnabled: true });
  await page.goto(String(await server.link()));
  await page.getByRole('button', { name: 'Approve', exact: true }).tap();
  await page.getByRole('button', { name: 'Yes, approve' }).tap();
  await page.getByText('Running').waitFor();
  bank.reject(new Error('The bank refused.'));
  // The page looks again by itself.
  await page.getByRole('heading', { name: 'Failed' }).waitFor();
  await page.getByText('Failed: The bank refused. It may have taken effect.').waitFor();
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
