// The inbox without a mouse.
import { expect, test } from 'vitest';
import { APPROVED, browse, card, list, openDesk, PATIENT, toast, withBrowser } from './desk.ts';

withBrowser();

/** With animations, which may hold back the focus. */
const MOVING = { reducedMotion: 'no-preference' } as const;

test('three questions are decided with the keyboard alone', async () => {
  const desk = await openDesk();
  const first = await desk.start([['pay', { to: 'Northwind', amount: 500 }]]);
  const second = await desk.start([['pay', { to: 'Lantern', amount: 600 }]]);
  const third = await desk.start([['pay', { to: 'Birch', amount: 700 }]]);
  const page = await browse(desk, 'ada', '/', MOVING);
  await list(page).getByRole('link').nth(2).waitFor();
  const press = async (...keys: readonly string[]) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  const focused = () => page.evaluate<string>('document.activeElement.textContent');

  // The first request is open.
  await card(page).getByText('Pay 500?').waitFor();
  await press('j');
  await card(page).getByText('Pay 600?').waitFor();
  expect(await focused()).toContain('Pay 600?');
  await press('k');
  await card(page).getByText('Pay 500?').waitFor();
  await press('a');
  expect(await focused()).toBe('Approve');
  expect(await desk.waiting(first)).toHaveLength(1);
  await press('Enter');
  // After a decision the next one opens.
  await toast(page, 'approved', APPROVED).waitFor();
  await card(page).getByText('Pay 600?').waitFor();
  await press('r');
  await page.keyboard.type('jk: no');
  await press('Enter');
  await toast(page, 'rejected', 'Rejected: Pay').waitFor();
  await card(page).getByText('Pay 700?').waitFor();
  await press('e');
  await card(page).getByLabel('amount').focus();
  await press('Control+a');
  await page.keyboard.type('650');
  await press('Control+Enter');
  await card(page)
    .getByText(/Approved with changes by ada/)
    .waitFor();

  for (const runId of [first, second, third]) await desk.ai.runs.wait(runId, { until: 'end' });
  expect(desk.done).toEqual([
    { tool: 'pay', input: { to: 'Northwind', amount: 500 } },
    { tool: 'pay', input: { to: 'Birch', amount: 650 } },
  ]);
});

test('pressing Enter again after a decision decides nothing more', async () => {
  const desk = await openDesk();
  const runId = await desk.start([
    ['pay', { to: 'Northwind', amount: 500 }],
    ['pay', { to: 'Lantern', amount: 600 }],
  ]);
  const page = await browse(desk, 'ada', '/', MOVING);
  await list(page).getByRole('link').nth(1).waitFor();
  await card(page).getByRole('button', { name: 'Approve' }).waitFor();
  await page.keyboard.press('a');
  for (let press = 0; press < 4; press += 1) await page.keyboard.press('Enter');
  await toast(page, 'approved', APPROVED).waitFor();
  await card(page).getByText('Pay 600?').waitFor();
  for (let press = 0; press < 4; press += 1) await page.keyboard.press('Enter');
  expect(await desk.waiting(runId)).toHaveLength(1);
});

test('the keyboard reaches an answer, a hold, the search and the pages', async () => {
  const desk = await openDesk();
  const runId = await desk.start([['choose', { question: 'Which size?', choices: ['Small', 'Large'] }]]);
  const page = await browse(desk, 'ada', '/', MOVING);
  await list(page).getByRole('link').waitFor();
  await page.keyboard.press('/');
  const found = page.waitForResponse((response) => response.url().includes('search=which'));
  await page.keyboard.type('which');
  await expect.poll(() => page.url(), PATIENT).toContain('search=which');
  await page.keyboard.press('Escape');
  // During the search the list is empty.
  await found;
  await list(page).getByRole('link').waitFor();
  await page.keyboard.press('j');
  await card(page).getByRole('button', { name: 'Hold', exact: true }).waitFor();
  await page.keyboard.press('c');
  await card(page).getByRole('button', { name: 'Holding' }).waitFor();
  await page.keyboard.press('a');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await card(page)
    .getByText(/Answered by ada/)
    .waitFor();
  await desk.ai.runs.wait(runId, { until: 'end' });

  for (const [key, name] of [
    ['h', 'History'],
    ['r', 'Runs'],
    ['a', 'Grants'],
    ['d', 'Dashboard'],
    ['c', 'Chat'],
    ['i', 'Inbox'],
  ] as const) {
    // On a busy machine, the second key may come too late to belong to the first.
    const pressed = async () => {
      await page.keyboard.press('g');
      await page.keyboard.press(key);
      return page.getByRole('heading', { level: 1, name }).isVisible();
    };
    await expect.poll(pressed, PATIENT).toBe(true);
  }
});

test('the help lists the keys, and switches them off', async () => {
  const desk = await openDesk();
  await desk.start([['pay', { to: 'Northwind', amount: 500 }]]);
  await desk.start([['pay', { to: 'Lantern', amount: 600 }]]);
  const page = await browse(desk, 'ada', '/', MOVING);
  await card(page).getByText('Pay 500?').waitFor();
  await page.keyboard.press('?');
  const help = page.getByRole('dialog', { name: 'Help' });
  await help.getByText('Reject, with a reason').waitFor();
  const url = page.url();
  await page.keyboard.press('j');
  expect(page.url()).toBe(url);
  await help.getByLabel(/keyboard shortcuts/).uncheck();
  await page.keyboard.press('Escape');
  await help.waitFor({ state: 'hidden' });
  await page.keyboard.press('j');
  expect(page.url()).toBe(url);
});
