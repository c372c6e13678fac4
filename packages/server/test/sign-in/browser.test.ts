// The sign-in page in Chromium: one button per issuer, through a real provider to the inbox, and out again.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { freePort } from '../../../../scripts/free-port.mjs';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { openBrowser } from '../../../../scripts/test-browser.mjs';
import { builtInbox } from '../inbox/built-inbox.ts';
import { startServer } from '../server.ts';
import { CLIENT, openProvider } from './company.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Where to write pictures of the pages, for people who look at them. */
const PICTURES = process.env.SIGN_IN_PICTURES;

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser?.close());

async function openTwo() {
  const port = await freePort();
  // Cookies belong to a host, so the server and the providers have different ones, as in life.
  const url = `http://localhost:${port}`;
  const [one, other] = [await openProvider(url, { name: 'one' }), await openProvider(url, { name: 'other' })];
  other.accounts.set('ann', { email: 'ann@example.org', email_verified: true, name: 'Ann of Org' });
  const common = { ...CLIENT, insecure: true };
  await startServer({
    port,
    publicUrl: url,
    inboxDir: await builtInbox(),
    signIn: [
      { ...common, issuer: one.issuer, name: 'one', label: 'Example Okta', domains: ['example.com'] },
      { ...common, issuer: other.issuer, name: 'other', label: 'Example Google', domains: ['example.org'] },
    ],
  });
  return { url, one, other };
}

async function openPage(look: Parameters<Browser['newContext']>[0] = {}): Promise<Page> {
  const context = await browser.newContext(look);
  onTestFinished(() => context.close());
  // The pages of the provider ask for fonts elsewhere.
  await context.route(/googleapis/, (route) => route.abort());
  return context.newPage();
}

async function through(page: Page, account: string): Promise<void> {
  await page.getByPlaceholder('Enter any login').fill(account);
  await page.getByPlaceholder('and password').fill('any');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
}

const idIn = (page: Page): Promise<unknown> =>
  page.evaluate(async () => ((await (await fetch('/api/v1/me')).json()) as { id?: string }).id);

test('a person signs in with the button of their company, and out at both places', async () => {
  const { url, one } = await openTwo();
  const page = await openPage();
  await page.goto(`${url}/login`);
  await page.getByRole('link', { name: 'Sign in with Example Okta' }).click();
  await page.waitForURL(`${one.issuer}/**`);
  await through(page, 'ann');
  await page.waitForURL(`${url}/`);
  await expect.poll(() => idIn(page)).toBe('ann@example.com');
  const cookies = await page.context().cookies(url);
  expect(cookies.map(({ httpOnly, sameSite }) => ({ httpOnly, sameSite }))).toEqual([
    { httpOnly: true, sameSite: 'Strict' },
  ]);

  await page.goto(`${url}/logout`);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL(`${one.issuer}/session/end**`);
  await page.getByRole('button', { name: 'Yes, sign me out' }).click();
  await page.waitForURL(`${url}/logout`);
  await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
  expect(await idIn(page)).toBeUndefined();
  await page.getByRole('link', { name: 'Sign in with Example Okta' }).click();
  await page.getByPlaceholder('Enter any login').waitFor();
});

test('two companies name two people', async () => {
  const { url, other } = await openTwo();
  const page = await openPage();
  await page.goto(`${url}/login/with/other`);
  await page.waitForURL(`${other.issuer}/**`);
  await through(page, 'ann');
  await page.waitForURL(`${url}/`);
  await expect.poll(() => idIn(page)).toBe('ann@example.org');
  const refused = await openPage();
  other.accounts.set('mallory', { email: 'ann@example.com', email_verified: true });
  await refused.goto(`${url}/login/with/other`);
  await through(refused, 'mallory');
  await refused.getByRole('heading', { name: 'You are not signed in' }).waitFor();
  await refused.getByRole('link', { name: 'Try again' }).click();
  await refused.getByRole('link', { name: 'Sign in with Example Google' }).waitFor();
});

const LOOKS = {
  'desktop-light': { viewport: { width: 1280, height: 800 }, colorScheme: 'light' },
  'desktop-dark': { viewport: { width: 1280, height: 800 }, colorScheme: 'dark' },
  'phone-light': { viewport: { width: 390, height: 844 }, colorScheme: 'light' },
  'phone-dark': { viewport: { width: 390, height: 844 }, colorScheme: 'dark' },
} as const;

test('the pages pass axe, and fit a phone', async () => {
  const { url } = await openTwo();
  for (const [name, look] of Object.entries(LOOKS)) {
    const page = await openPage(look);
    for (const [path, what] of [
      ['/login', 'sign-in'],
      ['/login/callback/one?code=x&state=y', 'refused'],
    ] as const) {
      await page.goto(`${url}${path}`);
      if (PICTURES !== undefined) await page.screenshot({ path: `${PICTURES}/${what}-${name}.png` });
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => (globalThis as any).axe.run());
      expect(violations.map(({ id }: { id: string }) => id)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    }
  }
});
