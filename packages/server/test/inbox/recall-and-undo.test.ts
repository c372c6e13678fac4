// In the inbox: an approved call that waits counts down and is recalled, and a call that ran is undone.
import { tool, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import { browse, card, cardPath, openDesk, PHONE, withBrowser } from './desk.ts';

withBrowser();

async function desk(config: object) {
  const opened = await openDesk();
  const ran: string[] = [];
  const pay = tool(
    {
      name: 'pay',
      description: 'Pays.',
      inputSchema: z.object({ to: z.string(), amount: z.number() }),
      title: ({ to, amount }) => `Pay ${amount} to ${to}`,
      needsApproval: true,
      ...config,
    },
    () => {
      ran.push('paid');
      return 'receipt 7';
    },
  );
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: 'pay', input: { to: 'ACME', amount: 950 } }] },
  );
  const agent = opened.ai.defineAgent({ name: 'treasurer', model, tools: [pay] });
  const { id: runId } = await agent.start('Pay.', { by: 'ada' });
  await opened.ai.runs.wait(runId);
  const [id = ''] = await opened.waiting(runId);
  await opened.ai.runs.decide(id, 'approve', { by: 'ada', roles: ['desk'] });
  await opened.ai.runs.settled();
  return { ...opened, ran, id, runId };
}

const shoot = process.env.SHOTS;

test('an approved call counts down, and Recall stops it', async () => {
  const open = await desk({ recallFor: '10m' });
  const [wait = ''] = await open.waiting(open.runId);
  const ada = await browse(open, 'ada', cardPath(wait), { viewport: PHONE });
  await card(ada).getByText('Approved, waits to start').waitFor();
  await card(ada)
    .getByText(/Starts in \d+ minutes, unless someone recalls it/)
    .waitFor();
  expect(await card(ada).getByRole('button', { name: 'Approve' }).count()).toBe(0);
  if (shoot) {
    await ada.screenshot({ path: `${shoot}/recall.png` });
    await ada.setViewportSize({ width: 1280, height: 800 });
    await ada.emulateMedia({ colorScheme: 'dark' });
    await ada.screenshot({ path: `${shoot}/recall-desktop-dark.png` });
    await ada.setViewportSize(PHONE);
  }
  await card(ada).getByRole('button', { name: 'Recall', exact: true }).click();
  await card(ada).getByRole('button', { name: 'Recall', exact: true }).click();
  await open.ai.runs.wait(open.runId, { until: 'end' });
  expect(open.ran).toEqual([]);
  await ada.goto(`${open.url}/history/${encodeURIComponent(open.id)}`);
  await card(ada).getByText('Not run: it was recalled.').waitFor();
  await ada.goto(`${open.url}/history`);
  await ada
    .getByRole('link', { name: /Recalled by ada/ })
    .first()
    .waitFor();
});

test('Undo on a call that ran leads to its request', async () => {
  const open = await desk({ undo: () => undefined });
  await open.ai.runs.wait(open.runId, { until: 'end' });
  const ada = await browse(open, 'ada', `/history/${encodeURIComponent(open.id)}`);
  await ada.getByRole('button', { name: 'Undo', exact: true }).click();
  await ada.getByRole('button', { name: 'Ask for the undo' }).click();
  await ada.getByRole('link', { name: 'View request' }).waitFor();
  expect(await ada.getByRole('button', { name: /undo/i }).count()).toBe(0);
  if (shoot) await ada.screenshot({ path: `${shoot}/undo.png` });
  await ada.getByRole('link', { name: 'View request' }).click();
  await card(ada).getByRole('heading', { name: 'Undo: Pay 950 to ACME' }).waitFor();
  if (shoot) {
    await ada.screenshot({ path: `${shoot}/undo-card.png` });
    await ada.emulateMedia({ colorScheme: 'dark' });
    await ada.setViewportSize(PHONE);
    await ada.screenshot({ path: `${shoot}/undo-card-phone-dark.png` });
  }
});
