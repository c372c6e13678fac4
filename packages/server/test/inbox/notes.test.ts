// A note with a decision: written beside the decision, stored with it, and shown wherever the decision is.
import { expect, test } from 'vitest';
import { browse, card, cardPath, type Desk, openDesk, PHONE, withBrowser } from './desk.ts';

withBrowser();

const recorded = async (desk: Desk, id: string) =>
  (await desk.as('ada')('GET', `/api/v1/requests/${encodeURIComponent(id)}`)).body.decision;

test('every kind of decision keeps its note, and the card, the history and the timeline show it', async () => {
  const desk = await openDesk();
  const runId = await desk.start([
    ['pay', { to: 'Northwind', amount: 500 }],
    ['pay', { to: 'Lantern', amount: 600 }],
    ['pay', { to: 'Birch', amount: 700 }],
    ['choose', { question: 'Which size?', choices: ['Small', 'Large'] }],
  ]);
  const [approved = '', edited = '', rejected = '', answered = ''] = await desk.waiting(runId);
  const page = await browse(desk, 'ada');
  const open = async (id: string, note: string) => {
    await page.goto(`${desk.url}${cardPath(id)}`);
    await card(page).getByRole('button', { name: 'Add a note' }).click();
    await card(page).getByLabel(/^Note/).fill(note);
  };
  const button = (name: string) => card(page).getByRole('button', { name });

  /** Decided here, the next request opens; the history has this one. */
  const shows = async (id: string, tone: string, ...texts: readonly string[]) => {
    await page.locator(`[data-toast="${tone}"]`).waitFor();
    await page.goto(`${desk.url}/history/${encodeURIComponent(id)}`);
    for (const text of texts) await card(page).getByText(text).waitFor();
    expect(await card(page).getByLabel(/^Note/).count()).toBe(0);
  };

  await open(approved, '  Asked Grace first.\n');
  await button('Approve').click();
  await shows(approved, 'approved', 'Note: Asked Grace first.');

  await open(edited, 'Their new price.');
  await button('Edit').click();
  await card(page).getByLabel('amount').fill('550');
  await button('Approve with these changes').click();
  await shows(edited, 'edited', 'Note: Their new price.');

  await open(rejected, 'Paid in March.');
  await button('Reject').click();
  await card(page).getByLabel('Reason (optional)').fill('Paid already.');
  await button('Reject').click();
  await shows(rejected, 'rejected', 'Reason: Paid already.', 'Note: Paid in March.');

  await open(answered, 'She said so.');
  await button('Large').click();
  await shows(answered, 'answered', 'Note: She said so.');

  expect(await recorded(desk, approved)).toMatchObject({ type: 'approve', note: 'Asked Grace first.' });
  expect(await recorded(desk, edited)).toMatchObject({ edit: { amount: 550 }, note: 'Their new price.' });
  expect(await recorded(desk, rejected)).toMatchObject({ reason: 'Paid already.', note: 'Paid in March.' });
  expect(await recorded(desk, answered)).toMatchObject({ output: 'Large', note: 'She said so.' });
  const run = await desk.ai.runs.wait(runId, { until: 'end' });
  // The reason is for the model, the note is not.
  const told = JSON.stringify(run.messages.flatMap(({ content }) => content.map(({ metadata: _, ...part }) => part)));
  expect(told).toContain('Paid already.');
  expect(told).not.toContain('Paid in March.');

  await page.goto(`${desk.url}/history`);
  const rows = page.getByRole('region', { name: 'History' }).locator('[data-row]');
  await rows.nth(3).waitFor();
  expect((await rows.allTextContents()).join('\n')).toMatch(/Rejected by ada: Paid already\.[^\n]*Paid in March\./);

  await page.goto(`${desk.url}/runs/${runId}`);
  const picture = page.getByRole('figure', { name: 'Timeline of the run' });
  await picture.getByText('Note: Paid in March.').waitFor();
  // Who decided, then the reason, then the note: a line each.
  expect(await picture.innerText()).toMatch(/Rejected by ada\s+Reason: Paid already\.\s+Note: Paid in March\./);
  expect(await picture.getByText(/^Note: /).count()).toBe(4);
  await page.getByTitle('12,347 tokens: 12,001 input, 346 output').waitFor();
  await picture.getByRole('button', { name: /^Model, turn 1/ }).click();
  await picture.getByText('12,345 tokens: 12,000 input, 345 output').waitFor();
  await page.getByText('View as table').click();
  await page.getByRole('row', { name: /Answered by ada\s*Note: She said so/ }).waitFor();
});

test('without a note none is recorded, and a note of spaces counts as none', async () => {
  const desk = await openDesk();
  const runId = await desk.start([['pay', { to: 'Northwind', amount: 500 }]]);
  const [id = ''] = await desk.waiting(runId);
  const page = await browse(desk, 'ada', cardPath(id));
  await card(page).getByRole('button', { name: 'Add a note' }).click();
  await card(page).getByLabel(/^Note/).fill(' \n ');
  await card(page).getByRole('button', { name: 'Approve' }).click();
  await card(page)
    .getByText(/Approved by ada/)
    .waitFor();
  expect((await recorded(desk, id)).note).toBeNull();
});

test('a note is written with the keyboard alone, and Escape leaves it without leaving the card', async () => {
  const desk = await openDesk();
  const runId = await desk.start([['pay', { to: 'Northwind', amount: 500 }]]);
  const [id = ''] = await desk.waiting(runId);
  const page = await browse(desk, 'ada', cardPath(id));
  await card(page).getByRole('button', { name: 'Approve' }).waitFor();
  await page.keyboard.press('n');
  await page.keyboard.type('jar: fine');
  expect(await card(page).getByLabel(/^Note/).inputValue()).toBe('jar: fine');
  await page.keyboard.press('Escape');
  expect(page.url()).toContain('/requests/');
  await page.keyboard.press('r');
  await page.keyboard.type('No');
  // The keyboard sends the open form from the note too.
  await card(page).getByLabel(/^Note/).focus();
  await page.keyboard.press('Control+Enter');
  await card(page).getByText('Note: jar: fine').waitFor();
  expect(await recorded(desk, id)).toMatchObject({ type: 'reject', reason: 'No', note: 'jar: fine' });
});

test('Escape in an answer of several lines leaves the field, not the card', async () => {
  const desk = await openDesk();
  const runId = await desk.start([['askAddress', { question: 'Where shall it be sent?' }]]);
  const [id = ''] = await desk.waiting(runId);
  const page = await browse(desk, 'ada');
  // Without a schema the answer is written as JSON.
  await page.route(/\/api\/v1\/requests\/[^/?]+$/, async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ json: { ...(await answer.json()), answerSchema: {} } });
  });
  await page.goto(`${desk.url}${cardPath(id)}`);
  const field = card(page).locator('form textarea');
  await field.fill('{ "street": "Elm Street 5" }');
  await page.keyboard.press('Escape');
  expect(await field.inputValue()).toContain('Elm Street 5');
  await page.keyboard.press('Escape');
  expect(await field.inputValue()).toContain('Elm Street 5');
  expect(page.url()).toContain('/requests/');
});

test('a note can be written on a phone, and in a chat', async () => {
  const desk = await openDesk();
  const runId = await desk.start([
    ['pay', { to: 'Northwind', amount: 500 }],
    ['pay', { to: 'Lantern', amount: 600 }],
  ]);
  const [first = '', second = ''] = await desk.waiting(runId);
  const page = await browse(desk, 'ada', cardPath(first), { viewport: PHONE, hasTouch: true });
  await card(page).getByRole('button', { name: 'Add a note' }).tap();
  await card(page).getByLabel(/^Note/).fill('From the train.');
  await card(page).getByRole('button', { name: 'Approve' }).tap();
  await page.locator('[data-toast="approved"]').waitFor();
  expect(await recorded(desk, first)).toMatchObject({ type: 'approve', note: 'From the train.' });

  await page.goto(`${desk.url}/chat/clerk/${runId}`);
  const waiting = page.getByRole('article', { name: 'Pay' });
  await waiting.getByRole('button', { name: 'Add a note' }).tap();
  await waiting.getByLabel(/^Note/).fill('From the chat.');
  await waiting.getByRole('button', { name: 'Approve' }).tap();
  await desk.ai.runs.wait(runId, { until: 'end' });
  expect(await recorded(desk, second)).toMatchObject({ type: 'approve', note: 'From the chat.' });
});
