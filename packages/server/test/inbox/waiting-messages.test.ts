// A message in a chat while a request is pending: it waits for what others decide, and the person is asked before it withdraws anything.
import { tool, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import { browse, card, cardPath, DESKTOP, openDesk, PHONE, withBrowser } from './desk.ts';

withBrowser();

/** Ada asks in a chat for a payment that finance must approve. */
async function payment() {
  const desk = await openDesk({
    mayRead: undefined,
    maySteer: undefined,
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
  const model = scriptedModel(({ messages }) => {
    if (messages.length === 1)
      return { text: 'I will pay.', calls: [{ name: 'pay', input: { to: 'ACME', amount: 950 } }] };
    return paid.length > 0 ? 'It is paid.' : 'Then I will not pay.';
  });
  desk.ai.defineAgent({ name: 'treasurer', model, tools: [pay] });
  const ada = await browse(desk, 'ada', '/chat/treasurer', { viewport: DESKTOP });
  await say(ada, 'Pay ACME 950');
  await ada.getByRole('heading', { name: 'Pay 950 to ACME' }).waitFor();
  const runId = new URL(ada.url()).pathname.split('/').at(-1) ?? '';
  const [id = ''] = await desk.waiting(runId);
  return { desk, ada, paid, runId, id };
}

type Page = Awaited<ReturnType<typeof browse>>;

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Your message').fill(text);
  await page.getByRole('button', { name: 'Send', exact: true }).click();
}

const waits = (page: Page) => page.getByText('Your message waits until finance has decided.');
const log = (page: Page) => page.getByRole('log', { name: 'Conversation' });

test('a message waits until finance has decided on a phone, and is answered then', async () => {
  const { desk, ada, paid, id } = await payment();
  await ada.getByText('A message waits until finance has decided.').waitFor();
  await say(ada, 'Any news?');
  await waits(ada).waitFor();
  await ada.getByRole('heading', { name: 'Pay 950 to ACME' }).waitFor();
  expect(await desk.waiting(id.split(':')[0] ?? '')).toEqual([id]);
  expect(await log(ada).getByText('I will pay.').count()).toBe(1);
  await ada.reload();
  await waits(ada).waitFor();
  expect(await log(ada).getByText('Any news?').count()).toBe(1);

  const ben = await browse(desk, 'ben', cardPath(id), { viewport: PHONE });
  await card(ben).getByRole('button', { name: 'Approve', exact: true }).click();
  await log(ada).getByText('It is paid.').waitFor();
  await waits(ada).waitFor({ state: 'detached' });
  expect(paid).toEqual([{ to: 'ACME', amount: 950 }]);
});

test('a person can withdraw the request, so that the message is answered now', async () => {
  const { desk, ada, paid, runId, id } = await payment();
  const ben = await browse(desk, 'ben', cardPath(id));
  await card(ben).getByRole('button', { name: 'Approve', exact: true }).waitFor();
  await say(ada, 'Never mind.');
  await waits(ada).waitFor();
  await ada.getByRole('button', { name: 'Withdraw the request and send now' }).click();
  await log(ada).getByText('Then I will not pay.').waitFor();
  await waits(ada).waitFor({ state: 'detached' });
  await card(ben).getByText('Cancelled').first().waitFor();
  expect(await desk.waiting(runId)).toEqual([]);
  expect(paid).toEqual([]);
});

test('before a message withdraws a request that the person decides alone, they are asked', async () => {
  const desk = await openDesk();
  const ada = await browse(desk, 'ada', '/chat/clerk');
  await say(ada, '[["pay", {"to":"Northwind","amount":500}]]');
  await ada.getByRole('button', { name: 'Approve', exact: true }).waitFor();
  const runId = new URL(ada.url()).pathname.split('/').at(-1) ?? '';
  await say(ada, '[["look", {}]]');
  const asking = ada.getByRole('alertdialog', { name: /Send and withdraw the request\?/ });
  await asking.waitFor();
  expect(await ada.evaluate('document.activeElement?.textContent')).toBe('Send and withdraw');
  await ada.keyboard.press('Escape');
  await asking.waitFor({ state: 'detached' });
  expect(await desk.waiting(runId)).toHaveLength(1);
  expect(await ada.getByLabel('Your message').inputValue()).toBe('[["look", {}]]');
  await ada.getByRole('button', { name: 'Send', exact: true }).click();
  await ada.getByRole('button', { name: 'Send and withdraw' }).click();
  await log(ada).getByText('All done.').waitFor();
  expect(await desk.waiting(runId)).toEqual([]);
  expect(desk.done).toEqual([]);
});
