// What came of an approved call, where people see it: the card, the toast, the chat of the requester, the history and the run.
import { type Countersign, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { browse, card, cardPath, type Desk, openDesk, toast, withBrowser } from './desk.ts';

withBrowser();

/** An agent that transfers money; each transfer ends as `bank` says. */
function defineBank(ai: Countersign, bank: (amount: number) => Promise<unknown>, rate: () => number = () => 1) {
  const inputSchema = z.object({ to: z.string(), amount: z.number() });
  const transfer = ai.defineTool(
    {
      ...{ name: 'transfer', description: 'Moves money.', inputSchema, outputSchema: z.any(), needsApproval: true },
      title: ({ to, amount }) => `Transfer €${amount} to ${to}`,
      outcome: ({ reference }: { reference: string }) => `Paid, reference ${reference}`,
      preview: () => ({ rate: rate() }),
    },
    ({ amount }) => bank(amount),
  );
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? 'That is all.'
      : { calls: [{ name: 'transfer', input: { to: 'ACME', amount: 950 } }] },
  );
  ai.defineAgent({ name: 'bank', description: 'Pays.', model, tools: [transfer] });
}

async function asked(desk: Desk): Promise<{ readonly runId: string; readonly id: string }> {
  const { body } = await desk.as('ann')('POST', '/api/v1/runs', { agent: 'bank', prompt: 'Pay ACME.' });
  await desk.ai.runs.wait(body.id);
  const [id = ''] = await desk.waiting(body.id);
  return { runId: body.id, id };
}

const chatOf = (desk: Desk, runId: string): Promise<Page> => browse(desk, 'ann', `/chat/bank/${runId}`);

test('a transfer that the bank refuses has failed, for everyone who looks', async () => {
  const answer = Promise.withResolvers<never>();
  const desk = await openDesk();
  defineBank(desk.ai, () => answer.promise);
  const { runId, id } = await asked(desk);
  const ann = await chatOf(desk, runId);
  await ann.getByRole('heading', { name: 'Transfer €950 to ACME' }).waitFor();

  const ben = await browse(desk, 'ben', cardPath(id));
  await card(ben).getByRole('button', { name: 'Approve' }).click();
  await toast(ben, 'approved', 'Approved: Transfer €950 to ACME').waitFor();
  // Its bank has not answered yet: the requester sees at once that it runs.
  await ann.getByText('Running…').waitFor();
  expect(await ann.getByRole('button', { name: 'Approve' }).count()).toBe(0);

  answer.reject(new Error('The bank refused: no funds.'));
  const failed = 'Failed: The bank refused: no funds. It may have taken effect.';
  await toast(ben, 'failed', `Transfer €950 to ACME. ${failed}`).waitFor();
  await ann.getByText(failed).first().waitFor();
  expect(await ann.locator('[data-countersign="decided"]').getAttribute('data-outcome')).toBe('failed');

  const history = await browse(desk, 'ben', `/history/${encodeURIComponent(id)}`);
  await history.getByRole('link', { name: /Approved by ben.*Failed: The bank refused/ }).waitFor();
  await card(history).getByText(failed).waitFor();
  expect(await card(history).locator('article').getAttribute('data-outcome')).toBe('failed');
  const run = await browse(desk, 'ben', `/runs/${runId}`);
  await run.getByText('Done, 1 call failed').first().waitFor();
});

test('a transfer that is done says what came of it', async () => {
  const desk = await openDesk();
  defineBank(desk.ai, async () => ({ reference: 'R-17' }));
  const { id } = await asked(desk);
  const ben = await browse(desk, 'ben', cardPath(id));
  await card(ben).getByRole('button', { name: 'Approve' }).click();
  await toast(ben, 'approved', 'Transfer €950 to ACME. Done: Paid, reference R-17').waitFor();
  const history = await browse(desk, 'ben', `/history/${encodeURIComponent(id)}`);
  await card(history).getByText('Done: Paid, reference R-17').waitFor();
});

test('a preview that has changed keeps the person on the card, and nothing says that it was approved', async () => {
  let rate = 1;
  const paid: number[] = [];
  const desk = await openDesk();
  defineBank(
    desk.ai,
    async (amount) => {
      paid.push(amount);
      return { reference: 'R-1' };
    },
    () => rate,
  );
  const { id, runId } = await asked(desk);
  const ben = await browse(desk, 'ben', cardPath(id));
  await card(ben).getByRole('button', { name: 'Approve' }).waitFor();
  rate = 2;
  await card(ben).getByRole('button', { name: 'Approve' }).click();
  await toast(ben, 'not-run', 'Not sent: the rate changed. Please look again.').waitFor();
  const [again = ''] = await desk.waiting(runId);
  expect(again).not.toBe(id);
  await ben.waitForURL((url) => decodeURIComponent(url.pathname).endsWith(again));
  await card(ben).getByText('What would happen has changed. Please check it again.').waitFor();
  await ben.getByRole('region', { name: 'Inbox' }).getByText('asked again').waitFor();
  expect(await ben.locator('[data-toast="approved"]').count()).toBe(0);
  expect(paid).toEqual([]);
  const history = await browse(desk, 'ben', `/history/${encodeURIComponent(id)}`);
  await card(history)
    .getByText(/Not run: what would happen has changed/)
    .waitFor();
});

test('an edit that nobody could approve is sent only after the person has confirmed it, and the card says so', async () => {
  const finance = ['ben', 'cem', 'ann'];
  const rolesOf = (person: string) => (finance.includes(person) ? ['finance'] : []);
  const desk = await openDesk({}, { people: { rolesOf, membersOf: () => finance } });
  const inputSchema = z.object({ to: z.string(), amount: z.number() });
  const policy = { quorum: [{ of: { roles: ['finance'] }, count: 2 }], notRequester: true as const };
  const transfer = desk.ai.defineTool(
    {
      name: 'transfer',
      description: '',
      inputSchema,
      needsApproval: { policy },
      title: ({ amount }) => `Transfer €${amount}`,
    },
    () => 'paid',
  );
  const model = scriptedModel(() => ({ calls: [{ name: 'transfer', input: { to: 'ACME', amount: 950 } }] }));
  desk.ai.defineAgent({ name: 'bank', description: 'Pays.', model, tools: [transfer] });
  const { id, runId } = await asked(desk);
  const ben = await browse(desk, 'ben', cardPath(id));
  await card(ben).getByRole('button', { name: 'Edit' }).click();
  await card(ben).getByLabel('amount').fill('900');
  await card(ben).getByRole('button', { name: 'Approve with these changes' }).click();
  const alert = card(ben)
    .getByRole('alert')
    .filter({ hasText: 'could not give the missing votes: 1 of the role finance' });
  await alert.waitFor();
  expect(await desk.waiting(runId)).toEqual([id]);
  await alert.getByRole('button', { name: 'Propose it anyway' }).click();
  await card(ben).getByText('Nobody who is known can still give the missing votes: 1 more of finance.').waitFor();
  await card(ben).getByRole('heading', { name: 'Transfer €900' }).waitFor();
});
