// Two people at one inbox: holds, decisions of others, and conflicts.
import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { browse, card, cardPath, list, openDesk, withBrowser } from './desk.ts';

withBrowser();

test('a new request appears at once', async () => {
  const desk = await openDesk();
  const page = await browse(desk, 'ada');
  await list(page).getByText("You're all caught up").waitFor();
  await page.getByRole('status').getByText('Live').waitFor({ state: 'attached' });
  await desk.start([['pay', { to: 'Northwind', amount: 500 }]], 'grace');
  await list(page)
    .getByRole('link', { name: /Pay 500/ })
    .waitFor();
  await expect.poll(() => page.title()).toBe('(1) Inbox · Countersign');
});

test('a new request appears on a slow connection while much changes', async () => {
  const desk = await openDesk();
  const page = await browse(desk, 'ada');
  await list(page).getByText("You're all caught up").waitFor();
  await page.getByRole('status').getByText('Live').waitFor({ state: 'attached' });
  // Each response takes longer than the next change.
  await page.route('**/api/v1/requests?*', async (route) => {
    await delay(1_000);
    await route.continue().catch(() => undefined);
  });
  const over = new AbortController();
  const busy = (async () => {
    while (!over.signal.aborted) await Promise.all([desk.start([['look', {}]], 'grace'), delay(100)]);
  })();
  await desk.start([['pay', { to: 'Northwind', amount: 500 }]], 'grace');
  const came = list(page)
    .getByRole('link', { name: /Pay 500/ })
    .waitFor();
  await came.finally(() => over.abort());
  await busy;
});

test('a hold is visible to others and does not lock', async () => {
  const desk = await openDesk();
  const runId = await desk.start([['pay', { to: 'Northwind', amount: 500 }]]);
  const [id = ''] = await desk.waiting(runId);
  const ada = await browse(desk, 'ada', cardPath(id));
  const grace = await browse(desk, 'grace', cardPath(id));
  await grace.getByRole('status').getByText('Live').waitFor({ state: 'attached' });
  await ada.getByRole('button', { name: 'Hold', exact: true }).click();
  await ada.getByRole('button', { name: 'Holding', pressed: true }).waitFor();
  await card(grace)
    .getByText(/ada is reviewing this/)
    .waitFor();
  await list(grace)
    .getByRole('link', { name: /ada is reviewing this/ })
    .waitFor();
  expect(await card(grace).getByRole('button', { name: 'Hold', exact: true }).count()).toBe(0);

  await ada.getByRole('button', { name: 'Holding' }).click();
  await card(grace).getByRole('button', { name: 'Hold', exact: true }).click();
  await card(ada)
    .getByText(/grace is reviewing this/)
    .waitFor();
  await card(ada).getByRole('button', { name: 'Approve' }).click();
  await card(ada)
    .getByText(/Approved by ada/)
    .waitFor();
});

test("another person's decision appears at once, in the list and in the open card", async () => {
  const desk = await openDesk();
  const runId = await desk.start([['pay', { to: 'Northwind', amount: 500 }]]);
  const [id = ''] = await desk.waiting(runId);
  const page = await browse(desk, 'ada', cardPath(id));
  await card(page).getByRole('button', { name: 'Approve' }).waitFor();
  await page.getByRole('status').getByText('Live').waitFor({ state: 'attached' });
  const decision = { type: 'reject', reason: 'Seen before.' };
  await desk.as('grace')('POST', `/api/v1/requests/${encodeURIComponent(id)}/decide`, { decision });
  await card(page)
    .getByText(/Rejected by grace/)
    .waitFor();
  await list(page).getByText("You're all caught up").waitFor();
  expect(await card(page).textContent()).toContain('Seen before.');
  expect(await card(page).getByRole('button', { name: 'Approve' }).count()).toBe(0);
});

test('a second decider sees the first decision, its author and its time', async () => {
  const desk = await openDesk();
  const runId = await desk.start([['pay', { to: 'Northwind', amount: 500 }]]);
  const [id = ''] = await desk.waiting(runId);
  const page = await browse(desk, 'ada');
  // Grace's decision does not reach this browser before ada decides too.
  await page.route('**/api/v1/changes', (route) => route.abort());
  await page.goto(`${desk.url}${cardPath(id)}`);
  await card(page).getByRole('button', { name: 'Approve' }).waitFor();
  await desk.as('grace')('POST', `/api/v1/requests/${encodeURIComponent(id)}/decide`, {
    decision: { type: 'reject' },
  });
  await card(page).getByRole('button', { name: 'Approve' }).click();
  await card(page)
    .getByRole('alert')
    .getByText(/grace already rejected this at .*Your decision was not saved/)
    .waitFor();
  await card(page)
    .getByText(/^Rejected by grace/)
    .waitFor();
  expect(desk.done).toEqual([]);
});

test('a draft is kept when another person decides meanwhile, in the inbox and in the chat', async () => {
  const desk = await openDesk();
  const runId = await desk.start([['pay', { to: 'Northwind', amount: 500 }]]);
  const [id = ''] = await desk.waiting(runId);
  const inbox = await browse(desk, 'ada', cardPath(id));
  await card(inbox).getByRole('button', { name: 'Edit' }).click();
  await card(inbox).getByLabel('amount').fill('450');
  const chat = await browse(desk, 'ada', `/chat/clerk/${runId}`);
  await chat.getByRole('button', { name: 'Reject' }).click();
  await chat.getByLabel('Reason (optional)').fill('Too expensive.');
  await inbox.getByRole('status').getByText('Live').waitFor({ state: 'attached' });
  await desk.as('grace')('POST', `/api/v1/requests/${encodeURIComponent(id)}/decide`, {
    decision: { type: 'approve' },
  });
  const told = (page: Page) => page.getByRole('alert').filter({ hasText: 'Your draft was not sent' });
  await card(inbox)
    .getByText(/Approved by grace/)
    .waitFor();
  await told(inbox).getByText('450').waitFor();
  await told(chat).getByText('Too expensive.').waitFor();
  await told(chat).getByRole('button', { name: 'Dismiss' }).click();
  await told(chat).waitFor({ state: 'detached' });
  expect(desk.done).toEqual([{ tool: 'pay', input: { to: 'Northwind', amount: 500 } }]);
});

test("a different decision in the chat after another person's is reported as not taken", async () => {
  const desk = await openDesk();
  const runId = await desk.start([['pay', { to: 'Northwind', amount: 500 }]]);
  const [id = ''] = await desk.waiting(runId);
  const page = await browse(desk, 'ada');
  // The page receives no decisions of others.
  await page.route('**/watch', (route) => route.abort());
  await page.goto(`${desk.url}/chat/clerk/${runId}`);
  await page.getByRole('button', { name: 'Reject' }).click();
  await desk.as('grace')('POST', `/api/v1/requests/${encodeURIComponent(id)}/decide`, {
    decision: { type: 'approve' },
  });
  await page.getByRole('button', { name: 'Reject' }).click();
  const told = page
    .getByRole('alert')
    .filter({ hasText: 'Pay: This was already decided. Your decision was not saved.' });
  await told.getByText(/Approved by grace/).waitFor();
  expect(desk.done).toHaveLength(1);
  await page.getByRole('textbox').fill('[["look", {}]]');
  await page.getByRole('button', { name: 'Send' }).click();
  await told.waitFor({ state: 'detached' });
});
