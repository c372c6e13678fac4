// The chat when the network fails: nothing is lost, and nothing happens twice.
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { faultsOf } from './faults.ts';
import { atRest, button, cards, conversation, decided, openSite, type Site, say } from './site.ts';
import { openWire, type Wire } from './wire.ts';

vi.setConfig({ testTimeout: 60_000 });

let site: Site;
let wire: Wire;
let page: Page;

beforeAll(async () => {
  site = await openSite();
}, 300_000);
afterAll(() => site?.close());

afterEach(async () => {
  await page.context().close();
  await wire.close();
  // Browsers log every failed request, and these tests make requests fail.
  expect(site.complaints().filter((text) => !/ERR_|Failed to load resource|fetch|network/i.test(text))).toEqual([]);
});

/** A chat over a wire that can be cut, with a payment that waits. */
async function payment(receiver: string, watch = true): Promise<void> {
  wire = await openWire(site.port);
  // The proxy cannot read compressed responses.
  const extraHTTPHeaders = { 'accept-encoding': 'identity' };
  page = await site.open('/', { port: wire.port, extraHTTPHeaders });
  // Before the first message, which begins the watch.
  if (!watch) await page.route('**/watch', (route) => route.abort());
  await say(page, `Pay "${receiver}" 30`);
  await cards(page).waitFor();
  await atRest(page);
}

test('the answer breaks off: who tries again gets the rest, and the payment is made once', async () => {
  // Without the watch, only the user retries.
  await payment('Cut Ltd', false);
  const cut = wire.cutAt('Paid ');
  await button(page, 'Approve').click();
  await cut;
  await page.getByText('Connection dropped.').waitFor();
  expect(await faultsOf(page)).toEqual([]);
  expect(site.transfersTo('Cut Ltd')).toHaveLength(1);
  wire.mend();
  await button(page, 'Try again').click();
  await page.getByText('Paid 30.00 EUR to Cut Ltd').waitFor();
  await atRest(page);
  expect(await page.getByText('Connection dropped.').count()).toBe(0);
  expect((await conversation(page)).match(/Paid 30\.00/g)).toHaveLength(1);
  expect(await decided(page).count()).toBe(1);
  expect(site.transfersTo('Cut Ltd')).toHaveLength(1);
});

test('the answer breaks off: the page finds the rest by itself when the network is back', async () => {
  await payment('Heal Ltd');
  const cut = wire.cutAt('Paid ');
  await button(page, 'Approve').click();
  await cut;
  await page.getByText('Connection dropped.').waitFor();
  wire.mend();
  await page.getByText('Paid 30.00 EUR to Heal Ltd').waitFor();
  await atRest(page);
  expect(await decided(page).count()).toBe(1);
  expect(site.transfersTo('Heal Ltd')).toHaveLength(1);
});

test('a decision that could not be sent says so, and can be made again', async () => {
  await payment('Unsent Ltd');
  wire.cut();
  await button(page, 'Approve').click();
  await page.getByText('Could not confirm your decision').waitFor();
  expect(await faultsOf(page)).toEqual([]);
  expect(site.transfersTo('Unsent Ltd')).toEqual([]);
  wire.mend();
  await button(page, 'Approve').click();
  await page.getByText('Paid 30.00 EUR to Unsent Ltd').waitFor();
  expect(site.transfersTo('Unsent Ltd')).toHaveLength(1);
});

test('words that could not be sent are said once when they are sent again', async () => {
  await payment('Words Ltd');
  wire.cut();
  await say(page, 'How is the weather in Lisbon?');
  await button(page, 'Try again').waitFor();
  wire.mend();
  await button(page, 'Try again').click();
  await page.getByText(/It is \w+ in Lisbon/).waitFor();
  await page.reload();
  expect((await conversation(page)).match(/How is the weather in Lisbon\?/g)).toHaveLength(1);
  expect(site.transfersTo('Words Ltd')).toEqual([]);
});
