// Deciding several requests together in the inbox: groups, selecting, the table of what differs, and each outcome.
import { tool, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import { browse, card, type Desk, list, openDesk, PATIENT, PHONE, withBrowser } from './desk.ts';

withBrowser();

async function payments(desk: Desk, count: number) {
  await Promise.all(
    Array.from({ length: count }, (_, index) => desk.start([['pay', { to: `Shop ${index}`, amount: 200 + index }]])),
  );
}
const waiting = async (desk: Desk) => (await desk.ai.runs.requests({ limit: 200 })).items;

test('similar requests are compared and approved together; one that somebody else decided says so', async () => {
  const desk = await openDesk();
  await payments(desk, 4);
  await desk.start([['publish', { text: 'Hello' }]]);
  const page = await browse(desk, 'ada');
  await list(page).getByRole('button', { name: '4 similar: Pay' }).waitFor();
  await list(page).getByRole('button', { name: 'Decide together' }).click();
  await card(page).getByRole('heading', { name: '4 requests selected' }).waitFor();
  const table = card(page).getByRole('table');
  expect(await table.getByRole('columnheader').allTextContents()).toEqual([
    'Selected',
    'Request',
    'to',
    'amount',
    'message',
  ]);
  expect(await table.textContent()).toContain('Shop 3');
  await card(page).getByText('The same in all 4').waitFor();
  const totals = card(page).getByLabel('Totals');
  expect(await totals.innerText()).toMatch(/Requests\s+4\s+Sum of amount\s+806\s+Largest: 203\s+Payees\s+4/);

  // Meanwhile somebody else rejects one.
  const taken = (await waiting(desk)).find(({ input }) => (input as { to: string }).to === 'Shop 1');
  const path = `/api/v1/requests/${encodeURIComponent(taken?.id ?? '')}/decide`;
  await desk.as('ben')('POST', path, { decision: { type: 'reject', reason: 'no' } });
  await table.getByRole('checkbox').nth(3).click();
  await card(page).getByLabel('Reason for all').fill('Checked');
  await card(page).getByRole('button', { name: 'Approve 3' }).click();
  // Payments have a high risk: nothing is sent before the second step, which has the number and the sum again.
  await card(page).getByText('Approve 3 requests?').waitFor();
  await card(page).getByText('3 requests, sum of amount 603, 3 payees').waitFor();
  await card(page).getByText('All of them have a high risk.').waitFor();
  await page.keyboard.press('Escape');
  expect(await card(page).getByLabel('Reason for all').inputValue()).toBe('Checked');
  await card(page).getByRole('button', { name: 'Approve 3' }).click();
  await card(page).getByRole('button', { name: 'Yes, approve 3' }).click();
  await card(page).getByText('2 decided, 1 decided by someone else.').waitFor();
  expect(await table.getByText('Approved').count()).toBe(2);
  await table.getByText(/ben already rejected this/).waitFor();
  await expect.poll(() => desk.done.length).toBe(2);
  const [settled] = (await desk.ai.runs.requests({ settled: true, outcome: 'approved' })).items;
  expect(settled?.settlement).toMatchObject({ by: 'ada', channel: 'inbox', note: 'Checked' });
  await card(page).getByRole('button', { name: 'Done' }).click();
  await list(page).getByRole('link', { name: /Pay/ }).waitFor();
  expect(await waiting(desk)).toHaveLength(2);
});

test('rows are selected with the keyboard and with Shift, and rejected with one reason', async () => {
  const desk = await openDesk();
  await payments(desk, 5);
  const page = await browse(desk, 'ada');
  const boxes = list(page).getByRole('checkbox');
  await boxes.nth(4).waitFor();
  await page.keyboard.press('x');
  await card(page).getByRole('heading', { name: '1 request selected' }).waitFor();
  await boxes.nth(2).click({ modifiers: ['Shift'] });
  await card(page).getByRole('heading', { name: '3 requests selected' }).waitFor();
  // A card is opened in between; the selection stays.
  await list(page).getByRole('link').nth(4).click();
  await list(page).getByText('3 selected').waitFor();
  await list(page).getByRole('button', { name: 'Compare and decide' }).click();
  await card(page).getByLabel('Reason for all').fill('Too many');
  await card(page).getByRole('button', { name: 'Reject 3' }).click();
  await card(page).getByText('3 decided.').waitFor();
  expect((await desk.ai.runs.requests({ settled: true })).items[0]?.settlement).toMatchObject({
    decision: { type: 'reject', reason: 'Too many' },
  });
  expect(desk.done).toEqual([]);
});

test('on a phone, 200 requests are decided together', async () => {
  const desk = await openDesk();
  await Promise.all(
    Array.from({ length: 20 }, (_, run) =>
      desk.start(Array.from({ length: 10 }, (_, call) => ['pay', { to: `Shop ${run}-${call}`, amount: 200 + call }])),
    ),
  );
  const page = await browse(desk, 'ada', '/', { viewport: PHONE, hasTouch: true });
  await list(page).getByRole('button', { name: 'Similar: Pay' }).waitFor();
  await list(page).getByRole('button', { name: 'Decide together' }).click();
  await card(page).getByRole('heading', { name: '200 requests selected' }).waitFor();
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.width);
  await card(page).getByRole('button', { name: 'Approve 200' }).click();
  await card(page).getByText('200 requests, sum of amount 40,900, 200 payees').waitFor();
  await card(page).getByRole('button', { name: 'Yes, approve 200' }).click();
  await card(page).getByText('200 decided.').waitFor({ timeout: 90_000 });
  await expect.poll(() => desk.done.length, PATIENT).toBe(200);
  expect(new Set(desk.done.map(({ input }) => (input as { to: string }).to)).size).toBe(200);
});

test('columns sort, numbers stand to the right, and each currency has its own sum', async () => {
  const desk = await openDesk();
  const wire = tool(
    {
      name: 'wire',
      description: 'Wires.',
      inputSchema: z.object({ payee: z.string(), amount: z.number(), currency: z.string() }),
      needsApproval: true,
    },
    () => 'wired',
  );
  const inputs = [
    { payee: 'Birch', amount: 9.1, currency: 'EUR' },
    { payee: 'ACME', amount: 100, currency: 'USD' },
    { payee: 'Birch', amount: 20.2, currency: 'EUR' },
  ];
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: inputs.map((input) => ({ name: 'wire', input })) },
  );
  const run = await desk.ai.defineAgent({ name: 'bank', model, tools: [wire] }).start('wire', { by: 'ada' });
  await desk.ai.runs.wait(run.id);
  const page = await browse(desk, 'ada');
  await list(page).getByRole('button', { name: 'Decide together' }).click();
  const totals = card(page).getByLabel('Totals');
  expect(await totals.innerText()).toMatch(
    /Sum of amount, 2 of 3\s+€29\.30\s+Largest: €20\.20\s+Sum of amount, 1 of 3\s+\$100\.00\s+Payees\s+2/,
  );
  const table = card(page).getByRole('table');
  const amounts = async () =>
    (await table.getByRole('row').allInnerTexts()).slice(1).map((text) => /\b(9\.1|20\.2|100)\b/.exec(text)?.[0]);
  expect(await amounts()).toEqual(['9.1', '100', '20.2']);
  const head = table.getByRole('columnheader', { name: 'amount' });
  await head.getByRole('button').click();
  expect(await amounts()).toEqual(['9.1', '20.2', '100']);
  expect(await head.getAttribute('aria-sort')).toBe('ascending');
  await head.getByRole('button').click();
  expect(await amounts()).toEqual(['100', '20.2', '9.1']);
  expect(await head.evaluate((cell) => cell.ownerDocument.defaultView?.getComputedStyle(cell).textAlign)).toBe('right');
  // Nothing in it is risky: one step is enough.
  await card(page).getByRole('button', { name: 'Approve 3', exact: true }).click();
  await card(page).getByText('3 decided.').waitFor();
});
