// Two people discuss a request: one in the inbox, the other in the chat. Comments are text, and decide nothing.
import { tool, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import { browse, card, cardPath, openDesk, PHONE, withBrowser } from './desk.ts';

withBrowser();

test('the approver asks on a phone, the requester answers in the chat, and the card shows both', async () => {
  const desk = await openDesk({
    mayRead: undefined,
    identify: (request: Request) => {
      const id = request.headers.get('x-user');
      return id === null ? null : { id, roles: id === 'ada' ? [] : ['finance'] };
    },
  } as never);
  const paid: unknown[] = [];
  const pay = tool(
    {
      name: 'pay',
      description: 'Pays.',
      inputSchema: z.object({ to: z.string(), amount: z.number() }),
      title: ({ to, amount }) => `Pay ${amount} to ${to}`,
      needsApproval: { policy: { deciders: { roles: ['finance'] } } },
    },
    (input) => void paid.push(input),
  );
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'It is paid.' : { calls: [{ name: 'pay', input: { to: 'ACME', amount: 950 } }] },
  );
  desk.ai.defineAgent({ name: 'treasurer', model, tools: [pay] });
  const ada = await browse(desk, 'ada', '/chat/treasurer');
  await ada.getByLabel('Your message').fill('Pay ACME 950');
  await ada.getByRole('button', { name: 'Send', exact: true }).click();
  await ada.getByRole('heading', { name: 'Pay 950 to ACME' }).waitFor();
  const runId = new URL(ada.url()).pathname.split('/').at(-1) ?? '';
  const [id = ''] = await desk.waiting(runId);

  const ben = await browse(desk, 'ben', cardPath(id), { viewport: PHONE });
  await card(ben).getByRole('button', { name: 'Comment', exact: true }).click();
  await ben.getByLabel(/^Comment for the others/).fill('@ada <b>is</b> this their new account?');
  await ben.keyboard.press('Control+Enter');
  await card(ben).getByRole('list', { name: 'Comments' }).getByText('@ada <b>is</b> this their new account?').waitFor();
  expect(paid).toEqual([]);

  // The person who asked cannot decide, and answers.
  const comments = ada.getByRole('list', { name: 'Comments' });
  await comments.getByText('<b>is</b> this their new account?').waitFor();
  await ada.getByRole('button', { name: 'Comment', exact: true }).click();
  await ada.getByLabel(/^Comment for the others/).fill('Yes, since May.');
  await ada.getByRole('button', { name: 'Send comment' }).click();
  await comments.getByText('Yes, since May.').waitFor();
  await card(ben).getByText('Yes, since May.').waitFor();

  await card(ben).getByRole('button', { name: 'Approve', exact: true }).click();
  await ada.getByText('It is paid.').waitFor();
  expect(paid).toHaveLength(1);
});
