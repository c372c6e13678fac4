// The chat of the page `/`, in a real browser against the built app.
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { alive, atRest, button, cards, conversation, decided, openSite, type Site, say } from './site.ts';

vi.setConfig({ testTimeout: 60_000 });

let site: Site;
const pages: Page[] = [];

beforeAll(async () => {
  site = await openSite();
}, 300_000);
afterAll(() => site?.close());

afterEach(async () => {
  await Promise.all(pages.splice(0).map((page) => page.context().close()));
  expect(site.complaints()).toEqual([]);
});

async function open(path?: string): Promise<Page> {
  const page = await site.open(path);
  pages.push(page);
  return page;
}

/** A chat with a payment that waits. */
async function payment(receiver: string, amount = 30): Promise<Page> {
  const page = await open();
  await say(page, `Pay "${receiver}" ${amount}`);
  await cards(page).waitFor();
  await atRest(page);
  return page;
}

test('approve: the payment is made once, and the answer continues', async () => {
  const page = await payment('Yes Ltd');
  expect(site.transfersTo('Yes Ltd')).toEqual([]);
  await button(page, 'Approve').click();
  await page.getByText('Paid 30.00 EUR to Yes Ltd').waitFor();
  expect(await decided(page).innerText()).toMatch(/^Approved by you .*\d:\d\d/);
  expect(await cards(page).count()).toBe(0);
  expect(site.transfersTo('Yes Ltd')).toHaveLength(1);
});

test('no: nothing is paid, and the model hears why', async () => {
  const page = await payment('No Ltd');
  await button(page, 'Reject').click();
  await page.getByLabel('Reason (optional)').fill('Not this month');
  await button(page, 'Reject').click();
  await page.getByText('I have not paid No Ltd (Not this month).').waitFor();
  expect(await decided(page).innerText()).toContain('Rejected by you');
  expect(site.transfersTo('No Ltd')).toEqual([]);
});

test('edit: the edited input runs, and the card shows the change', async () => {
  const page = await payment('Edit Ltd', 80);
  await button(page, 'Edit').click();
  await page.getByLabel('amount').fill('20000');
  await button(page, 'Approve with these changes').click();
  await page.getByText('At most 10000.').first().waitFor();
  await page.getByLabel('amount').fill('75');
  expect(await page.locator('[data-countersign="diff"]').innerText()).toBe('amount changed from 80 to 75');
  await button(page, 'Approve with these changes').click();
  await page.getByText('Paid 75.00 EUR to Edit Ltd').waitFor();
  expect(site.transfersTo('Edit Ltd')).toMatchObject([{ amount: 75 }]);
  await decided(page).locator('summary').click();
  expect(await decided(page).innerText()).toMatch(/Approved with changes by you[\s\S]*changed from 80 to 75/);
});

test('a question takes a free answer, and the next card uses it', async () => {
  const page = await open();
  await button(page, 'Plan the team lunch A question first, then a mail').click();
  await page.getByLabel('Another answer').fill('Monday');
  await button(page, 'Send this answer').click();
  await page.getByRole('heading', { name: /^Send “Team lunch: Monday” to / }).waitFor();
  expect(await cards(page).innerText()).toContain('Team lunch: Monday');
  await button(page, 'Approve').click();
  await page.getByText('Your mail “Team lunch: Monday” is on its way').waitFor();
  expect(await conversation(page)).toMatch(/Answered by you .*\d:\d\d/);
});

test('a question takes one of its choices', async () => {
  const page = await open();
  await say(page, 'Ask me something');
  await button(page, 'With milk').click();
  await page.getByText('Noted: With milk.').waitFor();
});

test.each([
  { first: 0, left: 'the second' },
  { first: 1, left: 'the first' },
])('two cards: card $first is decided, $left still waits and is decided after it', async ({ first }) => {
  const before = ['Northwind Paper', 'Contoso Hosting'].map((name) => site.transfersTo(name).length);
  const page = await open();
  await say(page, 'Pay the two invoices');
  await cards(page).nth(1).waitFor();
  await atRest(page);
  await button(cards(page).nth(first), 'Approve').click();
  await decided(page).waitFor();
  await expect.poll(() => cards(page).count()).toBe(1);
  expect(await cards(page).innerText()).toContain(first === 0 ? 'Contoso Hosting' : 'Northwind Paper');
  await button(page, 'Reject').click();
  await button(page, 'Reject').click();
  await page.getByText('I have not paid').waitFor();
  const paid = ['Northwind Paper', 'Contoso Hosting'].map((name) => site.transfersTo(name).length);
  expect(paid.map((count, index) => count - (before[index] ?? 0))).toEqual(first === 0 ? [1, 0] : [0, 1]);
});

test('two cards that are decided right after each other are both decided', async () => {
  const page = await open();
  await say(page, 'Pay the two invoices');
  await cards(page).nth(1).waitFor();
  await atRest(page);
  // Both at once: a decided card disappears, and the second would become the first.
  const both = [cards(page).nth(0), cards(page).nth(1)].map((card) => button(card, 'Approve').elementHandle());
  await page.evaluate(
    (buttons) => {
      for (const each of buttons) (each as HTMLElement).click();
    },
    await Promise.all(both),
  );
  await page.getByText('to Contoso Hosting; the receipt').waitFor();
  expect(await decided(page).count()).toBe(2);
});

test('a reload shows the card again, and it can be decided', async () => {
  const page = await payment('Reload Ltd');
  await page.reload();
  await alive(page);
  await button(page, 'Approve').click();
  await page.getByText('Paid 30.00 EUR to Reload Ltd').waitFor();
  await page.reload();
  await alive(page);
  await decided(page).waitFor();
  expect(await cards(page).count()).toBe(0);
  expect(await conversation(page)).toContain('Paid 30.00 EUR to Reload Ltd');
  expect(site.transfersTo('Reload Ltd')).toHaveLength(1);
});

test('a second tab shows the card, and learns that it was decided', async () => {
  const first = await payment('Tabs Ltd');
  const second = await open(first.url());
  await cards(second).waitFor();
  await button(first, 'Approve').click();
  await second.getByText('Paid 30.00 EUR to Tabs Ltd').waitFor();
  expect(await cards(second).count()).toBe(0);
  expect(await decided(second).innerText()).toContain('Approved by you');
  expect(site.transfersTo('Tabs Ltd')).toHaveLength(1);
});

test('two tabs that decide differently at once agree on one decision', async () => {
  const first = await payment('Race Ltd');
  const second = await open(first.url());
  await button(second, 'Reject').click();
  // The second click may find the card gone, and then does nothing.
  const buttons = await Promise.all([
    button(first, 'Approve').elementHandle(),
    button(second, 'Reject').elementHandle(),
  ]);
  await Promise.all(buttons.map((each) => each?.evaluate((element) => (element as HTMLElement).click())));
  await Promise.all(
    [first, second].map((page) => page.getByText(/Paid 30.00 EUR to Race|I have not paid Race/).waitFor()),
  );
  const said = await Promise.all([first, second].map((page) => decided(page).innerText()));
  expect(said[0]).toBe(said[1]);
  expect(site.transfersTo('Race Ltd')).toHaveLength(said[0]?.includes('Approved') ? 1 : 0);
});

test('a second tab shows messages sent in the first', async () => {
  const first = await payment('Third Ltd');
  const second = await open(first.url());
  await say(first, 'How is the weather in Lisbon?');
  await second.getByText(/It is \w+ in Lisbon/).waitFor();
  expect(await second.getByText('How is the weather in Lisbon?').count()).toBe(1);
  expect(await cards(second).count()).toBe(0);
});

test('a double click decides once', async () => {
  const page = await payment('Double Ltd');
  const posts: string[] = [];
  page.on('request', (request) => request.method() === 'POST' && posts.push(request.postData() ?? ''));
  await button(page, 'Approve').dblclick();
  await page.getByText('Paid 30.00 EUR to Double Ltd').waitFor();
  expect(posts).toHaveLength(1);
  expect(site.transfersTo('Double Ltd')).toHaveLength(1);
});

test('the page warns that a message cancels the pending question, and it does', async () => {
  const page = await payment('Withdrawn Ltd');
  await page.getByText('Sending a message cancels the pending requests above.').waitFor();
  await say(page, 'How is the weather in Lisbon?');
  await page.getByText(/It is \w+ in Lisbon/).waitFor();
  expect(await cards(page).count()).toBe(0);
  expect(await decided(page).first().innerText()).toContain('Cancelled');
  await page.reload();
  await alive(page);
  expect(await decided(page).first().innerText()).toContain('Cancelled by you');
  expect(await cards(page).count()).toBe(0);
  expect(site.transfersTo('Withdrawn Ltd')).toEqual([]);
});

test('a new chat has its own URL', async () => {
  const page = await payment('Other Ltd');
  const before = page.url();
  await page.getByRole('link', { name: 'New chat' }).click();
  await page.getByText('It asks before it acts').waitFor();
  await say(page, 'How is the weather in Lisbon?');
  await page.getByText(/It is \w+ in Lisbon/).waitFor();
  expect(page.url()).toMatch(/\?chat=[\w-]+$/);
  expect(page.url()).not.toBe(before);
});
