// Voting in the inbox: two people decide one request, an edit asks again, and everyone sees the votes as they arrive.
import { tool, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import { browse, card, cardPath, list, openDesk, toast, withBrowser } from './desk.ts';

withBrowser();

/** A payment that two people of finance must approve, asked by ada. */
async function payment() {
  const desk = await openDesk({
    mayRead: undefined,
    identify: (request: Request) => {
      const id = request.headers.get('x-user');
      return id === null ? null : { id, roles: id === 'ada' ? [] : ['finance'] };
    },
  } as never);
  const refunds: unknown[] = [];
  const refund = tool(
    {
      name: 'pay',
      description: 'Pays.',
      inputSchema: z.object({ to: z.string(), amount: z.number() }),
      title: ({ to, amount }) => `Pay ${amount} to ${to}`,
      needsApproval: { policy: { quorum: [{ of: { roles: ['finance'] }, count: 2 }], notRequester: true } },
    },
    (input) => refunds.push(input),
  );
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: 'pay', input: { to: 'Northwind', amount: 500 } }] },
  );
  desk.ai.defineAgent({ name: 'treasurer', model, tools: [refund] });
  const run = await desk.ai.agents.get('treasurer')?.start('pay Northwind 500', { by: 'ada' });
  const runId = run?.id ?? '';
  await desk.ai.runs.wait(runId);
  const [id = ''] = await desk.waiting(runId);
  return { desk, refunds, runId, id };
}

test('the card shows who decides and each vote as it arrives; the last vote settles, and a vote can be changed', async () => {
  const { desk, refunds, runId, id } = await payment();
  const ben = await browse(desk, 'ben');
  const cara = await browse(desk, 'cara', cardPath(id));
  await list(ben).getByText('0 of 2 votes').waitFor();
  await card(cara).getByText('0 of 2 votes. Waiting for 2 of finance').waitFor();

  await card(ben).getByRole('button', { name: 'Approve', exact: true }).click();
  await toast(ben, 'done', 'Your vote is recorded. Waiting for 1 more of finance.').waitFor();
  await card(ben)
    .getByText(/^You voted: Approved/)
    .waitFor();
  // The other browser hears of it.
  await card(cara).getByText('1 of 2 votes. Waiting for 1 more of finance').waitFor();
  await card(cara)
    .getByText(/^ben: Approved/)
    .waitFor();

  // An edit asks everyone again; the old card says so.
  await card(cara).getByRole('button', { name: 'Edit' }).click();
  await card(cara).getByLabel('amount').fill('90');
  await card(cara).getByRole('button', { name: 'Approve with these changes' }).click();
  await card(cara).getByText('The input was edited, so the votes given before do not count.').waitFor();
  await ben.goto(`${desk.url}${cardPath(id)}`);
  await card(ben)
    .getByText(/asked again, with the edited input/)
    .waitFor();
  await ben.goto(`${desk.url}${cardPath(`${id}~2`)}`);
  await card(ben)
    .getByText(/^cara: Approved, proposed changes/)
    .waitFor();
  await card(ben).getByRole('button', { name: 'Approve', exact: true }).click();
  await toast(ben, 'done', /Waiting for 1 more of finance/).waitFor();
  expect(refunds).toEqual([]);
  const dora = await browse(desk, 'dora', cardPath(`${id}~2`));
  await card(dora).getByRole('button', { name: 'Approve', exact: true }).click();
  await card(dora)
    .getByText(/Approved.* by dora/)
    .waitFor();
  await desk.ai.runs.wait(runId);
  expect(refunds).toEqual([{ to: 'Northwind', amount: 90 }]);
});

test('a card in the chat follows the votes of others, and a vote in the chat settles', async () => {
  const { desk, refunds, runId, id } = await payment();
  const path = `/chat/treasurer/${runId}`;
  const ada = await browse(desk, 'ada', path);
  const cara = await browse(desk, 'cara', path);
  const approve = (page: typeof ada) => page.getByRole('button', { name: 'Approve', exact: true });
  for (const page of [ada, cara]) await page.getByText('0 of 2 votes. Waiting for 2 of finance').waitFor();
  await desk.as('ben')('POST', `/api/v1/requests/${encodeURIComponent(id)}/decide`, {
    decision: { type: 'approve' },
  });
  for (const page of [ada, cara]) await page.getByText('1 of 2 votes. Waiting for 1 more of finance').waitFor();
  // Whoever asked for it cannot approve it.
  expect(await approve(ada).count()).toBe(0);
  await approve(cara).click();
  for (const page of [ada, cara])
    await page
      .getByText(/Approved.* by cara/)
      .first()
      .waitFor();
  await desk.ai.runs.wait(runId);
  expect(refunds).toEqual([{ to: 'Northwind', amount: 500 }]);
});
