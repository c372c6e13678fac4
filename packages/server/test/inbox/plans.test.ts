// A plan in the inbox: its steps on the card, an edit that removes one, and what came of each, on the request and on its run.
import { join } from 'node:path';
import { z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import { browse, card, cardPath, type Desk, openDesk, PATIENT, PHONE, withBrowser } from './desk.ts';

withBrowser();

const SHOTS = process.env.SHOTS;

const order = (item: string, price: number) => ({ item, price });
const planned = (item: string, price: number) => ({ tool: 'order', input: order(item, price) });

/** An agent that plans three orders, and then makes the calls. */
async function planning(calls: readonly ReturnType<typeof order>[]): Promise<{ desk: Desk; id: string; plan: string }> {
  const desk = await openDesk();
  const inputSchema = z.object({ item: z.string(), price: z.number() });
  const buy = desk.ai.defineTool(
    {
      ...{ name: 'order', description: 'Orders.', inputSchema, needsApproval: true },
      ...{ risk: 'medium', reversibility: 'reversible' },
      title: ({ item, price }) => `Order ${item} for €${price}`,
    },
    () => 'ordered',
  );
  const steps = [planned('chairs', 900), planned('desks', 2_400), planned('lamps', 310)];
  const model = scriptedModel([
    { calls: [{ name: 'plan', input: { steps } }] },
    { calls: calls.map((input) => ({ name: 'order', input })) },
    'Done.',
  ]);
  const buyer = desk.ai.defineAgent({ name: 'buyer', model, tools: [buy, desk.ai.planTool({ tools: [buy] })] });
  const { id } = await buyer.start('Furnish the office.', { by: 'ada' });
  await desk.ai.runs.wait(id);
  const [plan = ''] = await desk.waiting(id);
  return { desk, id, plan };
}

test('a person approves a plan, and sees what came of each step, on the request and on the run', async () => {
  const { desk, id, plan } = await planning([order('chairs', 900), order('desks', 2_400), order('desks', 9_999)]);
  const page = await browse(desk, 'ben', cardPath(plan));
  const steps = page.getByRole('region', { name: 'Steps of the plan' });
  await steps.getByText('0 of 3 done').waitFor();
  await expect
    .poll(() => steps.getByRole('listitem').allTextContents(), PATIENT)
    .toEqual([
      '1. Order chairs for €900Proposed',
      '2. Order desks for €2400Proposed',
      '3. Order lamps for €310Proposed',
    ]);
  if (SHOTS) await page.screenshot({ path: join(SHOTS, 'plan.png'), fullPage: true });
  await card(page)
    .getByRole('button', { name: /^Approve/ })
    .first()
    .click();
  await expect.poll(async () => (await desk.ai.grants.plan(plan))?.steps[1]?.calls.length, PATIENT).toBe(1);

  await page.goto(`${desk.url}/runs/${id}`);
  await steps.getByText('2 of 3 done').waitFor();
  expect(await steps.getByRole('listitem').allTextContents()).toEqual([
    '1. Order chairs for €900Done',
    '2. Order desks for €2400Done',
    '3. Order lamps for €310Not run yet',
  ]);
  if (SHOTS) await page.screenshot({ path: join(SHOTS, 'plan-run.png'), fullPage: true });
  // What is not in the plan asks.
  await page.getByRole('region', { name: 'Waiting for approval' }).getByText('Order desks for €9999').waitFor();
  await steps.getByRole('link', { name: 'View request' }).click();
  await steps.getByText('2 of 3 done').waitFor();
  await steps.getByRole('link', { name: 'Done' }).first().click();
  await card(page).getByText('Nobody was asked').waitFor();
  // A step lets no other input run.
  await page.goto(`${desk.url}/grants`);
  await expect.poll(() => page.getByText('exactly the approved input').count(), PATIENT).toBe(3);
});

test('a step that an edit removes does not run', async () => {
  const { desk, id, plan } = await planning([order('chairs', 900), order('lamps', 310)]);
  const edit = { steps: [planned('chairs', 900)] };
  const path = `/api/v1/requests/${encodeURIComponent(plan)}/decide`;
  expect((await desk.as('ben')('POST', path, { decision: { type: 'approve', edit } })).status).toBe(200);
  await desk.ai.runs.wait(id);
  const page = await browse(desk, 'ben', `/history/${encodeURIComponent(plan)}`, {
    viewport: PHONE,
    colorScheme: 'dark',
  });
  const steps = page.getByRole('region', { name: 'Steps of the plan' });
  await steps.getByText('1 of 1 done').waitFor();
  if (SHOTS) await page.screenshot({ path: join(SHOTS, 'plan-phone-dark.png') });
  await page.goto(`${desk.url}/runs/${id}`);
  await page.getByRole('region', { name: 'Waiting for approval' }).getByText('Order lamps for €310').waitFor();
  if (SHOTS) await page.screenshot({ path: join(SHOTS, 'plan-run-phone-dark.png') });
});
