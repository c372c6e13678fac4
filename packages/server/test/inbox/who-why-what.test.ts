// The card says who asks, why, and what exactly: names, the words of the agent, labels, money and dates.
import { type Countersign, money, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { browse, card, cardPath, type Desk, openDesk, PATIENT, PHONE, withBrowser } from './desk.ts';

withBrowser();

const NAMES: Readonly<Record<string, string>> = { ada: 'Ada Byron', ben: 'Ben <b>Okri</b>' };
const people = { contactOf: (id: string) => (NAMES[id] === undefined ? undefined : { name: NAMES[id] }) };

const PAYMENT = {
  iban: 'DE02 1203 0000 0000 2020 51',
  amount: 12_950.5,
  currency: 'EUR',
  due: '2026-11-27',
  memo: 'INV-1043',
  reason: 'ACME sent invoice <b>INV-1043</b>, and it is due on Friday.',
};

function defineBookkeeper(ai: Countersign, done: Desk['done']) {
  const pay = ai.defineTool(
    {
      name: 'settleInvoice',
      description: 'Pays.',
      inputSchema: z.object({
        iban: z.string().meta({ title: 'Account of the payee' }),
        amount: z.number().meta({ title: 'Amount', ...money({ currencyField: 'currency' }) }),
        currency: z.string(),
        due: z.iso.date().describe('Pay until'),
        memo: z.string(),
      }),
      title: 'Pay ACME',
      needsApproval: {
        policy: { deciders: { people: ['ada', 'ben'] }, quorum: [{ of: { people: ['ada', 'ben'] }, count: 2 }] },
      },
      risk: 'high',
      reason: true,
    },
    (input) => {
      done.push({ tool: 'settleInvoice', input });
      return 'paid';
    },
  );
  const model = scriptedModel(({ messages }) =>
    messages.some(({ role }) => role === 'tool') ? 'Paid.' : { calls: [{ name: 'settleInvoice', input: PAYMENT }] },
  );
  return ai.defineAgent({ name: 'accounts', tools: [pay], model });
}

/** A desk whose bookkeeper was asked by ada to pay an invoice, and the path of the card. */
async function asked(): Promise<{ readonly desk: Desk; readonly path: string; readonly id: string }> {
  const desk = await openDesk({}, { people });
  const bookkeeper = defineBookkeeper(desk.ai, desk.done);
  const { id: runId } = await bookkeeper.start('Pay the invoice of ACME.', { by: 'ada' });
  await desk.ai.runs.wait(runId);
  const [id = ''] = await desk.waiting(runId);
  return { desk, path: cardPath(id), id };
}

const article = (page: Page) => card(page).getByRole('article');

/** Names and values of the input, as they are read. */
const lines = async (page: Page) =>
  (await article(page).locator('[data-countersign="input"] [data-countersign="entry"]').allInnerTexts()).map((text) =>
    text.replaceAll(/\s+/g, ' '),
  );

test('people have names in the chat and on the page of the run, beside their ids', async () => {
  const { desk, id } = await asked();
  const runId = id.slice(0, id.indexOf(':'));
  const vote = `/api/v1/requests/${encodeURIComponent(id)}/decide`;
  await desk.as('ben')('POST', vote, { decision: { type: 'approve' } });
  const chat = await browse(desk, 'ada', `/chat/accounts/${runId}`);
  const names = chat.getByText('Ben <b>Okri</b>', { exact: true });
  await names.first().waitFor(PATIENT);
  await desk.as('ada')('POST', vote, { decision: { type: 'approve' } });
  await desk.ai.runs.wait(runId, { until: 'end' });
  // The decided card in the conversation, at once and after a reload.
  for (const _ of ['live', 'loaded']) {
    await chat.getByText('Approved by Ada Byron').waitFor(PATIENT);
    await chat.reload();
  }

  const run = await browse(desk, 'ben', `/runs/${runId}`);
  await run.getByText('by Ada Byron (ada)').first().waitFor(PATIENT);
  const timeline = run.getByRole('figure', { name: 'Timeline of the run' });
  await timeline.getByText('Vote of Ben <b>Okri</b> (ben): approve').last().waitFor({ state: 'attached' });
  await timeline.getByText('Approved by Ada Byron (ada)').last().waitFor();
});

test('the card says who asks, through which agent and why, and labels its input', async () => {
  const { desk, path } = await asked();
  for (const viewport of [undefined, PHONE]) {
    const page = await browse(desk, 'ben', path, viewport && { viewport });
    await article(page).getByText('Asked by Ada Byron (ada) through accounts').waitFor(PATIENT);
    const reason = article(page).getByRole('figure', { name: 'The agent says:' });
    expect(await reason.innerText()).toContain(PAYMENT.reason);
    expect(await reason.locator('b').count()).toBe(0);
    expect(await lines(page)).toEqual([
      'Account of the payee DE02 1203 0000 0000 2020 51',
      'Amount €12,950.50',
      'Pay until Fri, Nov 27, 2026',
      'memo INV-1043',
    ]);
    const amount = article(page).getByText('€12,950.50', { exact: true });
    expect(await amount.getAttribute('title')).toBe('12950.5 EUR');
    await article(page).getByRole('button', { name: 'JSON', exact: true }).click();
    expect(JSON.parse(await article(page).locator('[data-countersign="json"]').innerText())).toEqual(
      Object.fromEntries(Object.entries(PAYMENT).filter(([name]) => name !== 'reason')),
    );
  }
});

test('votes, the list and the history name people, and an edit is told in the words of the card', async () => {
  const { desk, path, id } = await asked();
  const { digest } = (await desk.as('ben')('GET', `/api/v1/requests/${id}`)).body;
  await desk.as('ben')('POST', `/api/v1/requests/${id}/decide`, { decision: { type: 'approve' }, digest });
  const page = await browse(desk, 'ada', path);
  const vote = article(page).getByRole('listitem').filter({ hasText: 'Approved' });
  await vote.getByText('Ben <b>Okri</b>').waitFor(PATIENT);
  expect(await vote.locator('[data-countersign="person"]').getAttribute('title')).toBe('ben');
  await article(page).getByRole('button', { name: 'Edit', exact: true }).click();
  await article(page).getByLabel('Amount').fill('900');
  await article(page).getByText('Amount changed from €12,950.50 to €900.00').waitFor();
  await article(page).getByRole('button', { name: 'Back' }).click();
  await article(page).getByRole('button', { name: 'Approve', exact: true }).click();
  await expect.poll(() => desk.done, PATIENT).toHaveLength(1);
  const { reason: _reason, ...input } = PAYMENT;
  expect(desk.done).toEqual([{ tool: 'settleInvoice', input }]);
  await page.goto(`${desk.url}/history`);
  await page.getByRole('link', { name: /Approved by Ada Byron/ }).waitFor(PATIENT);
});
