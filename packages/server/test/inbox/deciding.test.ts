// Deciding in the inbox, with a mouse: each way to decide.
import { OutcomeUnknown, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import {
  APPROVED,
  browse,
  card,
  cardPath,
  DESKTOP,
  type Desk,
  list,
  openDesk,
  PATIENT,
  PHONE,
  toast,
  withBrowser,
} from './desk.ts';

withBrowser();

test('the list shows pending requests, and a card shows everything a decision is bound to', async () => {
  const desk = await openDesk();
  await desk.start([['pay', { to: 'Northwind', amount: 500, note: 'Invoice 7' }]]);
  const page = await browse(desk, 'ada');
  const row = list(page).getByRole('link', { name: /pay/ });
  await row.waitFor();
  expect(await row.textContent()).toMatch(/Pay 500\?.*High risk.*clerk.*money/);

  await row.click();
  await card(page).getByRole('heading', { name: 'Pay', exact: true }).waitFor();
  const shown = await card(page).textContent();
  for (const part of [
    'Approval needed',
    'Pay 500?',
    'Northwind',
    '500',
    'Invoice 7',
    'High risk',
    'money',
    'then auto-rejects',
  ])
    expect(shown).toContain(part);
  expect(shown).toContain('I need your decision.');
  expect(await card(page).locator('time').first().getAttribute('title')).toMatch(/\d/);
});

test('an approval runs the tool once and shows the recorded decision', async () => {
  const desk = await openDesk();
  const runId = await desk.start([['pay', { to: 'Northwind', amount: 500 }]]);
  const [id = ''] = await desk.waiting(runId);
  const page = await browse(desk, 'ada', cardPath(id));
  await card(page).getByRole('button', { name: 'Approve' }).click();
  await card(page)
    .getByText(/Approved by ada/)
    .waitFor();
  await toast(page, 'approved', APPROVED).waitFor();
  await list(page).getByText("You're all caught up").waitFor();
  await desk.ai.runs.wait(runId, { until: 'end' });
  expect(desk.done).toEqual([{ tool: 'pay', input: { to: 'Northwind', amount: 500 } }]);
  const { body } = await desk.as('ada')('GET', `/api/v1/requests/${encodeURIComponent(id)}`);
  expect(body.decision).toMatchObject({ type: 'approve', by: 'ada', channel: 'inbox' });
});

test('two clicks on approve are one decision', async () => {
  const desk = await openDesk();
  const runId = await desk.start([
    ['pay', { to: 'Northwind', amount: 500 }],
    ['pay', { to: 'Lantern', amount: 600 }],
  ]);
  const [id = ''] = await desk.waiting(runId);
  const page = await browse(desk, 'ada', cardPath(id));
  await card(page).getByRole('button', { name: 'Approve' }).dblclick();
  await toast(page, 'approved', APPROVED).waitFor();
  expect(await desk.waiting(runId)).toHaveLength(1);
  await expect.poll(() => list(page).getByRole('link').count()).toBe(1);
  // The next request has taken its place.
  await card(page).getByText('Pay 600?').waitFor();
});

test('a rejection carries its reason to the model', async () => {
  const desk = await openDesk();
  const runId = await desk.start([['pay', { to: 'Northwind', amount: 500 }]]);
  const [id = ''] = await desk.waiting(runId);
  const page = await browse(desk, 'ada', cardPath(id));
  await card(page).getByRole('button', { name: 'Reject' }).click();
  await card(page).getByLabel('Reason (optional)').fill('Not our invoice.');
  await card(page).getByRole('button', { name: 'Reject' }).click();
  await card(page)
    .getByText(/Rejected by ada/)
    .waitFor();
  await toast(page, 'rejected', 'Rejected: Pay').waitFor();
  // The outcome and the reason come first, the request is folded below.
  expect(await card(page).locator('article').innerText()).toMatch(
    /^Rejected by ada .*\s+Pay\s+Asked by ada through clerk\s+Reason: Not our invoice\.\s+Request\s+pay$/,
  );
  await card(page).getByText('Request pay').click();
  await card(page).getByText('Northwind').first().waitFor();
  const run = await desk.ai.runs.wait(runId, { until: 'end' });
  expect(JSON.stringify(run.messages)).toContain('Not our invoice.');
  expect(desk.done).toEqual([]);
});

test('an edit shows its changes, is rejected if invalid, and then runs as edited', async () => {
  const desk = await openDesk();
  const runId = await desk.start([['pay', { to: 'Northwind', amount: 500 }]]);
  const [id = ''] = await desk.waiting(runId);
  const page = await browse(desk, 'ada', cardPath(id));
  await card(page).getByRole('button', { name: 'Edit' }).click();
  const amount = card(page).getByLabel('amount');
  await amount.fill('5000');
  await card(page).getByRole('button', { name: 'Approve with these changes' }).click();
  await card(page).getByRole('alert').getByText('amount: At most 1000.').waitFor();
  expect(await amount.getAttribute('aria-invalid')).toBe('true');
  expect(await desk.waiting(runId)).toHaveLength(1);

  await amount.fill('450');
  // The form stands where the input was, with the old value at the changed field and its buttons in view.
  expect(await card(page).locator('[data-countersign="input"]').count()).toBe(0);
  expect(await card(page).locator('[data-countersign="was"]').innerText()).toBe('Was 500');
  const send = card(page).getByRole('button', { name: 'Approve with these changes' });
  expect(((await send.boundingBox())?.y ?? Number.POSITIVE_INFINITY) + 30).toBeLessThan(DESKTOP.height);
  expect(await card(page).getByRole('list', { name: 'Changes' }).textContent()).toMatch(
    /amount changed from 500 to 450/,
  );
  await send.click();
  await card(page)
    .getByText(/Approved with changes by ada/)
    .waitFor();
  expect(await card(page).textContent()).toMatch(/amount changed from 500 to 450/);
  await desk.ai.runs.wait(runId, { until: 'end' });
  expect(desk.done).toEqual([{ tool: 'pay', input: { to: 'Northwind', amount: 450 } }]);
});

test('a server error about an edit is shown at its field', async () => {
  const desk = await openDesk();
  const runId = await desk.start([['pay', { to: 'Northwind', amount: 500 }]]);
  const [id = ''] = await desk.waiting(runId);
  const page = await browse(desk, 'ada');
  // The browser receives no schema, so it cannot validate by itself.
  await page.route(/\/api\/v1\/requests\/[^/?]+$/, async (route) => {
    const answer = await route.fetch();
    await route.fulfill({
      json: { ...(await answer.json()), inputSchema: { type: 'object', properties: { amount: {} } } },
    });
  });
  await page.goto(`${desk.url}${cardPath(id)}`);
  await card(page).getByRole('button', { name: 'Edit' }).click();
  await card(page).getByLabel('amount').fill('"much"');
  await card(page).getByRole('button', { name: 'Approve with these changes' }).click();
  await card(page)
    .getByRole('alert')
    .getByText(/^amount: /)
    .waitFor();
  expect(await desk.waiting(runId)).toHaveLength(1);
});

test('a question is answered with the form made from its schema', async () => {
  const desk = await openDesk();
  const runId = await desk.start([['askAddress', { question: 'Where shall it be sent?' }]]);
  const [id = ''] = await desk.waiting(runId);
  const page = await browse(desk, 'ada', cardPath(id));
  await card(page).getByText('Where shall it be sent?').first().waitFor();
  await card(page).getByLabel('street').fill('Elm Street 5');
  await card(page).getByLabel('zip').fill('12');
  await card(page).getByRole('radiogroup', { name: 'express' }).getByLabel('No').check();
  await card(page).getByRole('button', { name: 'Send' }).click();
  await card(page)
    .getByRole('alert')
    .getByText(/^zip: /)
    .waitFor();
  await card(page).getByLabel('zip').fill('10115');
  await card(page).getByRole('button', { name: 'Send' }).click();
  await card(page)
    .getByText(/Answered by ada/)
    .waitFor();
  const { body } = await desk.as('ada')('GET', `/api/v1/requests/${encodeURIComponent(id)}`);
  expect(body.decision.output).toEqual({ street: 'Elm Street 5', zip: '10115', express: false });
});

test('a question with choices is answered by a button', async () => {
  const desk = await openDesk();
  const runId = await desk.start([['choose', { question: 'Which size?', choices: ['Small', 'Large'] }]]);
  const [id = ''] = await desk.waiting(runId);
  const page = await browse(desk, 'ada', cardPath(id));
  await card(page).getByRole('button', { name: 'Large' }).click();
  await card(page)
    .getByText(/Answered by ada/)
    .waitFor();
  const run = await desk.ai.runs.wait(runId, { until: 'end' });
  expect(JSON.stringify(run.messages)).toContain('"Large"');
});

test('a person without permission sees the card without its buttons', async () => {
  const desk = await openDesk({}, { policyFor: () => ({ deciders: { people: ['ada'] } }) });
  const runId = await desk.start([['pay', { to: 'Northwind', amount: 500 }]]);
  const [id = ''] = await desk.waiting(runId);
  const page = await browse(desk, 'grace', cardPath(id));
  await card(page).getByText('You can view this request but not decide it.').waitFor();
  expect(await card(page).getByRole('button', { name: 'Approve' }).count()).toBe(0);
});

test('a double tap on the list of a phone opens a card and approves nothing', async () => {
  const desk = await openDesk();
  await desk.start([['pay', { to: 'Northwind', amount: 500 }]]);
  const page = await browse(desk, 'ada', '/', { viewport: PHONE, hasTouch: true });
  const row = list(page).getByRole('link', { name: /Pay 500/ });
  await row.waitFor();
  // New buttons ignore the pointer for a moment, which the test makes long enough.
  const hold = (state: string) =>
    page.evaluate(`(() => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync('* { animation-play-state: ${state} !important }');
      document.adoptedStyleSheets = [sheet];
    })()`);
  await hold('paused');
  await row.tap();
  const approve = card(page).getByRole('button', { name: 'Approve' });
  await approve.waitFor();
  const box = await approve.boundingBox();
  const under = `document.elementFromPoint(${(box?.x ?? 0) + 5}, ${(box?.y ?? 0) + 5})?.closest('button')`;
  expect(await page.evaluate(`${under} == null`)).toBe(true);
  await hold('running');
  await approve.tap();
  await card(page)
    .getByText(/Approved by ada/)
    .waitFor();
});

/** A transfer that ben approved, and to which the bank did not answer. Returns the request about it. */
async function transferInDoubt({ ai }: Desk): Promise<{ readonly id: string; readonly sent: readonly string[] }> {
  const sent: string[] = [];
  const transfer = ai.defineTool(
    {
      name: 'transfer',
      description: 'Moves money.',
      inputSchema: z.object({ to: z.string() }),
      title: ({ to }) => `Transfer €950 to ${to}`,
      needsApproval: true,
      howToCheck: 'Search the statements of the bank for the key.',
    },
    (_input, { idempotencyKey }) => {
      sent.push(idempotencyKey);
      if (sent.length === 1) throw new OutcomeUnknown('The bank did not answer.');
    },
  );
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: 'transfer', input: { to: 'ACME' } }] },
  );
  const banker = ai.defineAgent({ name: 'banker', model, tools: [transfer] });
  const { id: runId } = await banker.start('Transfer it.', { by: 'ada' });
  const { pending: asked } = await ai.runs.wait(runId);
  await ai.runs.decide(asked[0] ?? '', 'approve', { by: 'ben', roles: ['desk'] });
  const { pending } = await ai.runs.wait(runId);
  return { id: pending[0] ?? '', sent };
}

test('an unknown outcome says where to look, and a sentence tells the model what happened', async () => {
  const desk = await openDesk();
  const { id, sent } = await transferInDoubt(desk);
  const page = await browse(desk, 'ada', cardPath(id));
  const facts = card(page).locator('[data-countersign="doubt"]');
  await facts.getByText('Search the statements of the bank for the key.').waitFor();
  for (const fact of ['Started', 'Approved by', 'ben', sent[0] ?? ''])
    expect(await facts.textContent()).toContain(fact);
  await card(page).getByRole('button', { name: 'It happened' }).click();
  await card(page)
    .getByLabel(/^What happened\?/)
    .fill('The statement shows it.');
  await card(page).getByRole('button', { name: 'Send' }).click();
  await card(page)
    .getByText(/Answered by ada/)
    .waitFor();
  const { messages } = await desk.ai.runs.wait((await desk.ai.runs.request(id)).runId, { until: 'end' });
  expect(JSON.stringify(messages)).toContain('"output":"The statement shows it."');
  expect(sent).toHaveLength(1);
});

test('what may have happened runs again only after the risk was confirmed, on a phone, too', async () => {
  const desk = await openDesk();
  const { id, sent } = await transferInDoubt(desk);
  const page = await browse(desk, 'ada', cardPath(id), { viewport: PHONE, hasTouch: true });
  const again = card(page).getByRole('button', { name: 'It did not happen, run it again' });
  await again.tap();
  await card(page).getByText('If it did happen, it happens twice: Transfer €950 to ACME').waitFor();
  await card(page).getByRole('button', { name: 'Back', exact: true }).tap();
  await again.tap();
  expect(sent).toHaveLength(1);
  await card(page).getByRole('button', { name: 'Run it again', exact: true }).tap();
  await expect.poll(() => sent, PATIENT).toHaveLength(2);
  // The same key: a bank that knows it does nothing twice.
  expect(new Set(sent).size).toBe(1);
});
