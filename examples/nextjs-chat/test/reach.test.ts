// Who can use the pages: with a keyboard alone, on a phone, with a screen reader, and against a hostile model.
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { faultsOf } from './faults.ts';
import { atRest, button, cards, decided, type OpenOptions, openSite, type Site, say } from './site.ts';

vi.setConfig({ testTimeout: 120_000 });

let site: Site;
let page: Page;

beforeAll(async () => {
  site = await openSite();
}, 300_000);
afterAll(() => site?.close());

afterEach(async () => {
  await page.context().close();
  expect(site.complaints()).toEqual([]);
});

test('a keyboard is enough, and the focus is never lost', async () => {
  page = await site.open();
  await tabTo('Pay the two invoices');
  await page.keyboard.press('Enter');
  await cards(page).nth(1).waitFor();
  await atRest(page);
  await tabTo('Edit');
  await page.keyboard.press('Enter');
  // The form has the focus; the amount is its second field.
  await page.keyboard.press('Tab');
  await page.keyboard.press('ControlOrMeta+A');
  await page.keyboard.type('400');
  await page.keyboard.press('Enter');
  await expect.poll(() => cards(page).count()).toBe(1);
  // The next card has it now: its heading, and the buttons after it.
  expect(await focused()).toMatch(/^Transfer [\d.]+ EUR to Contoso Hosting$/);
  await tabTo('Reject');
  await page.keyboard.press('Enter');
  await page.keyboard.type('Twice');
  await page.keyboard.press('Enter');
  await page.getByText('I have not paid Contoso Hosting (Twice).').waitFor();
  // Nothing is pending, so the user can write again.
  expect(await focused()).toBe('Your message');
  await page.keyboard.type('How is the weather in Lisbon?');
  await page.keyboard.press('Enter');
  await page.getByText(/It is \w+ in Lisbon/).waitFor();
});

test('model text is shown literally: no markup, nothing hidden', async () => {
  page = await site.open();
  const name = `<img src=x onerror="globalThis.hurt=1"><b>Bob</b>\u202Egro.live\u200B`.replaceAll('"', "'");
  await say(page, `Pay "${name}" 5`);
  await cards(page).waitFor();
  await atRest(page);
  const shown = await cards(page).innerText();
  expect(shown).toContain("<img src=x onerror='globalThis.hurt=1'><b>Bob</b>");
  expect(shown).toContain('⟦U+202E⟧gro.live⟦U+200B⟧');
  expect(await cards(page).locator('img, b, script').count()).toBe(0);
  await button(page, 'Approve').click();
  await page.getByText('the receipt is').waitFor();
  await decided(page).locator('summary').click();
  expect(await decided(page).innerText()).toContain('⟦U+202E⟧gro.live');
  expect(await page.locator('main img, main script').count()).toBe(0);
  expect(await page.evaluate(() => 'hurt' in globalThis)).toBe(false);
});

test.each([
  { screen: 'a desktop, light', options: { viewport: { width: 1280, height: 860 }, colorScheme: 'light' } },
  { screen: 'a phone, dark', options: { viewport: { width: 390, height: 844 }, colorScheme: 'dark', hasTouch: true } },
] satisfies { screen: string; options: OpenOptions }[])(
  'every state of the chat fits and is accessible on $screen',
  async ({ options }) => {
    page = await site.open('/', options);
    await check('empty');
    await say(page, 'Pay the two invoices');
    await cards(page).nth(1).waitFor();
    await atRest(page);
    await check('two cards');
    await button(cards(page).first(), 'Edit').click();
    await page.getByLabel('amount').fill('-1');
    await button(page, 'Approve with these changes').click();
    await check('an edit that does not fit');
    await page.getByLabel('amount').fill('400');
    await check('an edit');
    await button(page, 'Approve with these changes').click();
    await expect.poll(() => cards(page).count()).toBe(1);
    await atRest(page);
    await button(page, 'Reject').click();
    await check('a rejection');
    await page.getByLabel('Reason (optional)').fill('Too much');
    await button(page, 'Reject').click();
    await page.getByText('I have not paid').waitFor();
    await atRest(page);
    await decided(page).first().locator('summary').click();
    await check('decided');
    await say(page, 'Plan the team lunch');
    await button(page, 'Tuesday').waitFor();
    await atRest(page);
    await check('a question');
  },
);

test.each(['/low-level', '/use-chat-human-in-the-loop'])('%s fits and is accessible', async (path) => {
  page = await site.open(path, { viewport: { width: 390, height: 844 }, colorScheme: 'dark' });
  await check('empty');
  await say(page, 'How is the weather in Paris?');
  await button(page, 'Yes').waitFor();
  await check('a call that waits');
  await page.emulateMedia({ colorScheme: 'light' });
  await check('a call that waits, light');
});

/** Presses Tab until what has the focus is called so. */
async function tabTo(name: string): Promise<void> {
  for (let presses = 0; presses < 40; presses += 1) {
    await page.keyboard.press('Tab');
    if ((await focused()).startsWith(name)) return;
  }
  throw new Error(`Tab does not lead to ${name}.`);
}

const focused = (): Promise<string> =>
  page.evaluate(() => {
    const element = document.activeElement as HTMLElement | null;
    return element?.getAttribute('aria-label') ?? element?.innerText ?? '';
  });

async function check(state: string): Promise<void> {
  expect.soft(await faultsOf(page), state).toEqual([]);
}
