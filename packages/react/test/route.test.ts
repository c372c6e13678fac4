// End to end: the page, `useChat`, the chat route and a stored run.
import { countersign, memoryStore, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { chatRoute, nodeHandler } from 'countersign/ui';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { openSite, type Site, show } from './site.ts';

vi.setConfig({ testTimeout: 60_000 });

const ledger: unknown[] = [];
let site: Site;
let chats = 0;

beforeAll(async () => {
  const model = scriptedModel(({ messages }) => {
    const last = messages.at(-1);
    const begun = JSON.stringify(messages.findLast(({ role }) => role === 'user')?.content);
    if (last?.role === 'tool' && begun.includes('say nothing')) return '';
    if (last?.role === 'tool')
      return `Then: ${JSON.stringify(last.content.flatMap((part) => ('toolResponse' in part ? [part.toolResponse.output] : [])))}`;
    const said = last?.content.map((part) => ('text' in part ? part.text : '')).join('') ?? '';
    if (said.startsWith('Pay')) return { calls: [{ name: 'pay', input: { to: 'butcher', amount: 950 } }] };
    if (said.startsWith('Ask'))
      return { calls: [{ name: 'ask', input: { question: 'How many?', choices: ['6', '12'], allowOther: true } }] };
    return `You said: ${said}`;
  });
  const ai = countersign({ model, store: memoryStore() });
  const pay = ai.defineTool(
    {
      name: 'pay',
      description: 'Pays.',
      inputSchema: z.object({ to: z.string(), amount: z.number().max(1000) }),
      needsApproval: () => ({ message: 'More than 500.', risk: 'high' }),
    },
    (input) => {
      ledger.push(input);
      return { paid: input.amount };
    },
  );
  const ask = ai.defineInterrupt({
    name: 'ask',
    description: 'Asks.',
    inputSchema: z.object({ question: z.string(), choices: z.array(z.string()), allowOther: z.boolean() }),
    outputSchema: z.string().refine((text) => text !== 'none', 'Someone must come.'),
  });
  const agent = ai.defineAgent({ name: 'clerk', tools: [pay, ask] });
  site = await openSite({ api: nodeHandler(chatRoute(agent, { demo: true })) });
}, 60_000);
afterAll(() => site.close());

/** Opens a tab with a new chat, or with one that another tab started. */
async function tab(
  version: 6 | 7,
  id = `chat-${++chats}`,
  messages: readonly unknown[] = [],
): Promise<Page & { id: string }> {
  const page = await site.open();
  await show(page, { is: 'chat', version, watch: true, messages, id });
  return Object.assign(page, { id });
}

async function say(page: Page, text: string) {
  await page.getByLabel('Message').fill(text);
  await page.keyboard.press('Enter');
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

test.for([6, 7] as const)(
  'with the AI SDK %s, a decision and a message in one tab appear in the other',
  async (version) => {
    ledger.length = 0;
    const first = await tab(version);
    await say(first, 'Pay the butcher.');
    await button(first, 'Approve').waitFor();
    const loaded = await first.evaluate(async (id) => (await fetch(`/api/chat/${id}`)).json(), first.id);
    const second = await tab(version, first.id, loaded.messages);
    await second.getByText('More than 500.').waitFor();
    await second.getByText('High risk').waitFor();

    await button(first, 'Approve').click();
    await first.getByText('Then: [{"paid":950}]').waitFor();
    await second.getByText('Then: [{"paid":950}]').waitFor();
    await second.getByTestId('decided').getByText('Approved by demo').waitFor();
    expect(await button(second, 'Approve').count()).toBe(0);
    expect(ledger).toEqual([{ to: 'butcher', amount: 950 }]);

    await say(first, 'Thanks.');
    await second.getByText('You said: Thanks.').waitFor();
    const said = await second.getByTestId('messages').getByRole('listitem').allInnerTexts();
    expect(said).toEqual(['Pay the butcher.', 'Then: [{"paid":950}]', 'Thanks.', 'You said: Thanks.']);
  },
);

test('an edit that the tool rejects is shown at its field and can be fixed', async () => {
  ledger.length = 0;
  const page = await tab(7);
  await say(page, 'Pay the butcher.');
  await button(page, 'Edit').click();
  await page.getByLabel('amount').fill('1001');
  await button(page, 'Approve with these changes').click();
  await page.locator('[data-countersign=problem]').getByText('At most 1000.').waitFor();
  await page.getByLabel('amount').fill('0');
  await button(page, 'Approve with these changes').click();
  await page.getByText('Then: [{"paid":0}]').waitFor();
  expect(ledger).toEqual([{ to: 'butcher', amount: 0 }]);
  expect(await page.getByTestId('decided').innerText()).toMatch(/amount\s+changed from\s+950\s+to\s+0/);
});

test('an answer that only the server can check comes back with its reason', async () => {
  const page = await tab(7);
  await say(page, 'Ask me.');
  await page.getByRole('heading', { name: 'How many?' }).waitFor();
  await page.getByLabel('Another answer').fill('none');
  await button(page, 'Send this answer').click();
  await page.locator('[data-countersign=problem]').getByText('Someone must come').waitFor();
  await button(page, '12').click();
  await page.getByText('Then: ["12"]').waitFor();
});

test('a rejection gives the model its reason', async () => {
  ledger.length = 0;
  const page = await tab(7);
  await say(page, 'Pay the butcher.');
  await button(page, 'Reject').click();
  await page.keyboard.type('too dear');
  await page.keyboard.press('Enter');
  await page.getByText('Reason: too dear').first().waitFor();
  await page.getByText(/Then: .*too dear/).waitFor();
  expect(ledger).toEqual([]);
});

test('an answer that ends without text is complete and not fetched again', async () => {
  const page = await site.open();
  await page.clock.install();
  const fetched: string[] = [];
  page.on('request', (request) => {
    if (request.method() === 'GET') fetched.push(new URL(request.url()).pathname);
  });
  await show(page, { is: 'chat', version: 7, watch: true, messages: [], id: 'silent' });
  await say(page, 'Pay the butcher and say nothing.');
  await button(page, 'Approve').click();
  await page.getByTestId('decided').getByText('Approved by demo').waitFor();
  await page.clock.runFor(60_000);
  expect(fetched.filter((path) => path.endsWith('/stream'))).toEqual([]);
});
