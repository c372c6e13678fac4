// Very large cards: the page shows a part, states how much is left, and can be decided.
import { z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import { browse, card, cardPath, type Desk, openDesk, PATIENT, withBrowser } from './desk.ts';

withBrowser();

/** The path of a card that asks whether this may be sent. */
async function asked(desk: Desk, input: unknown): Promise<string> {
  const send = desk.ai.defineTool(
    { name: 'send', description: 'Sends.', inputSchema: z.any(), needsApproval: true },
    (input) => {
      desk.done.push({ tool: 'send', input });
      return 'sent';
    },
  );
  const sender = desk.ai.defineAgent({
    name: 'sender',
    description: 'Sends it.',
    tools: [send],
    model: scriptedModel(({ messages }) =>
      messages.some(({ role }) => role === 'tool') ? 'Sent.' : { calls: [{ name: 'send', input }] },
    ),
  });
  const { id } = await sender.start('Send it.');
  await desk.ai.runs.wait(id);
  const [waiting = ''] = await desk.waiting(id);
  return cardPath(waiting);
}

test('thousands of strings in another script: the card shows a part, counts the rest, and can be decided', async () => {
  const desk = await openDesk();
  const input = { list: Array.from({ length: 9_000 }, (_, index) => ({ index, text: 'שלום' })) };
  const page = await browse(desk, 'ada', await asked(desk, input));
  const warning = card(page).getByText(/^Not everything is visible yet: [\d,]+ characters/);
  await warning.waitFor(PATIENT);
  // The input appears twice, also in the conversation.
  expect(await page.locator('*').count()).toBeLessThan(5_000);
  const before = await warning.textContent();
  await card(page).getByRole('button', { name: 'Show more' }).first().click();
  await expect.poll(() => warning.textContent(), PATIENT).not.toBe(before);
  await card(page).getByRole('button', { name: 'Approve' }).click();
  await card(page)
    .getByText(/Approved by ada/)
    .waitFor(PATIENT);
  expect(desk.done).toEqual([{ tool: 'send', input }]);
});

test('an input nested too deeply to edit says so, and can be approved unchanged', async () => {
  const desk = await openDesk();
  let input: unknown = 'bottom';
  for (let depth = 0; depth < 450; depth += 1) input = depth % 2 ? [input] : { inner: input };
  const page = await browse(desk, 'ada', await asked(desk, input));
  await card(page).getByRole('button', { name: 'Edit' }).click();
  await card(page).getByRole('button', { name: 'Approve with these changes' }).click();
  const alert = card(page).getByRole('alert').filter({ hasText: 'nested deeper than 200 levels' });
  await alert.getByText('Or go back to approve it unchanged or reject it.').waitFor(PATIENT);
  await card(page).getByRole('button', { name: 'Back' }).click();
  await card(page).getByRole('button', { name: 'Approve', exact: true }).click();
  await card(page)
    .getByText(/Approved by ada/)
    .waitFor(PATIENT);
  expect(JSON.stringify(desk.done)).toBe(JSON.stringify([{ tool: 'send', input }]));
});
