// A person asks for changes in the inbox, the agent calls again, and the card shows both rounds.
import { money, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import { browse, card, cardPath, openDesk, PHONE, withBrowser } from './desk.ts';

withBrowser();

const FIRST = { to: 'ACME', amount: 950, memo: 'INV-1043' };
const COMMENT = 'INV-1043 has <b>two</b> parts, pay only the open one: 420.';
const people = { contactOf: (id: string) => (id === 'ben' ? { name: 'Ben Okri' } : undefined) };

async function asked() {
  const desk = await openDesk({}, { people });
  const pay = desk.ai.defineTool(
    {
      name: 'settleInvoice',
      description: 'Pays.',
      inputSchema: z.object({
        to: z.string().meta({ title: 'Payee' }),
        amount: z.number().meta({ title: 'Amount', ...money({ currency: 'EUR' }) }),
        memo: z.string(),
      }),
      title: ({ to, amount }) => `Pay €${amount} to ${to}`,
      needsApproval: true,
      risk: 'high',
    },
    (input) => {
      desk.done.push({ tool: 'settleInvoice', input });
      return 'paid';
    },
  );
  const inputs = [FIRST, { ...FIRST, amount: 420, memo: 'INV-1043, second part' }];
  const model = scriptedModel(() => {
    const input = inputs.shift();
    return input ? { calls: [{ name: 'settleInvoice', input }] } : 'It is paid.';
  });
  desk.ai.defineAgent({ name: 'accounts', tools: [pay], model });
  return desk;
}

test('the approver asks for changes, the next call is round 2 with the difference, and history says so', async () => {
  const desk = await asked();
  const run = await desk.ai.agents.get('accounts')?.start('Pay the invoice of ACME.', { by: 'ada' });
  const runId = run?.id ?? '';
  await desk.ai.runs.wait(runId);
  const [id = ''] = await desk.waiting(runId);
  const ben = await browse(desk, 'ben', cardPath(id));
  await card(ben).getByRole('button', { name: 'Ask for changes' }).click();
  const send = card(ben).getByRole('button', { name: 'Ask for changes' });
  expect(await send.getAttribute('aria-disabled')).toBe('true');
  await card(ben).getByLabel('Which changes?').fill(COMMENT);
  await send.click();
  await ben.getByText('Changes asked for: Pay €950 to ACME').waitFor();

  const row = ben.getByRole('link', { name: /Pay €420 to ACME/ });
  await row.getByText('round 2').waitFor();
  await row.click();
  const second = card(ben);
  await second.getByRole('heading', { name: 'Pay €420 to ACME' }).waitFor();
  await second.getByText('Round 2').waitFor();
  const before = second.getByRole('region', { name: 'Changes asked for' });
  await before.getByText(COMMENT).waitFor();
  expect(await before.innerText()).toContain('Changes asked for by Ben Okri');
  const changes = await before.getByRole('list', { name: 'Changes' }).innerText();
  expect(changes.replaceAll(/\s+/g, ' ')).toContain('Amount changed from €950.00 to €420.00');
  expect(desk.done).toEqual([]);
  await second.getByRole('button', { name: 'Approve', exact: true }).click();
  await expect.poll(() => desk.done).toMatchObject([{ input: { amount: 420 } }]);

  await ben.goto(`${desk.url}/history`);
  await ben
    .getByRole('link', { name: /Pay €950 to ACME/ })
    .getByText('Changes asked for by Ben Okri')
    .waitFor();
  await ben.goto(`${desk.url}/history/${encodeURIComponent(id)}`);
  await card(ben).getByText('Changes asked for by Ben Okri').first().waitFor();
  expect(await card(ben).innerText()).toContain(COMMENT);
});

test('the requester sees in the chat what was asked for, on a phone too', async () => {
  const desk = await asked();
  const ada = await browse(desk, 'ada', '/chat/accounts', { viewport: PHONE });
  await ada.getByLabel('Your message').fill('Pay the invoice of ACME');
  await ada.getByRole('button', { name: 'Send', exact: true }).click();
  await ada.getByRole('heading', { name: 'Pay €950 to ACME' }).waitFor();
  await ada.getByRole('button', { name: 'Ask for changes' }).click();
  await ada.getByLabel('Which changes?').fill(COMMENT);
  await ada.getByRole('button', { name: 'Ask for changes' }).click();
  await ada.getByRole('heading', { name: 'Pay €420 to ACME' }).waitFor();
  await ada.getByRole('region', { name: 'Changes asked for' }).getByText(COMMENT).waitFor();
  await ada.getByRole('log').getByText('Changes asked for by ada').waitFor();
  expect(await ada.getByText('Your draft was not sent').count()).toBe(0);
  await ada.getByRole('button', { name: 'Approve', exact: true }).click();
  await ada.getByText('It is paid.').waitFor();
  expect(desk.done).toMatchObject([{ input: { amount: 420 } }]);
});
