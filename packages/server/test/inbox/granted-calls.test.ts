// Calls that a grant or a rule let run, in the history and on the page of their run: what ran, who allowed it, and what is left of the grant.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { decisionLine } from '../../src/text/card-text.ts';
import {
  browse,
  card,
  cardPath,
  type Desk,
  filterBy,
  openDesk,
  PATIENT,
  PHONE,
  removeFilter,
  withBrowser,
} from './desk.ts';

withBrowser();

const NAMES: Readonly<Record<string, string>> = { ada: 'Ada Byron', ben: 'Ben Okri' };

/** People with names, and a payment that ada made the first of, and ben approved with a grant for five more. */
async function granting(): Promise<{ readonly desk: Desk; readonly asked: string; readonly grantId: string }> {
  const contactOf = (id: string) => ({ ...(NAMES[id] && { name: NAMES[id] }) });
  const desk = await openDesk({}, { people: { contactOf } });
  const first = await desk.start([['pay', { to: 'Northwind', amount: 500 }]]);
  const [asked = ''] = await desk.waiting(first);
  const limits = { where: [{ field: 'to', equals: 'Northwind' }], uses: 5, expiresAt: Date.now() + 3_600_000 };
  const path = `/api/v1/requests/${encodeURIComponent(asked)}/decide`;
  const { body } = await desk.as('ben')('POST', path, { decision: { type: 'approve' }, grant: limits });
  await desk.ai.runs.wait(first, { until: 'end' });
  return { desk, asked, grantId: body.grant.id };
}

const SHOTS = process.env.SHOTS;

test('a call that a grant let run is in the history, with the giver, what is left, its outcome and links', async () => {
  const { desk, asked, grantId } = await granting();
  const second = await desk.start([['pay', { to: 'Northwind', amount: 600 }]]);
  const page = await browse(desk, 'ada', '/history');
  const history = page.getByRole('region', { name: 'History' });
  await history.getByText('1 decided, 1 by a grant').waitFor();
  const rows = history.locator('[data-row]');
  await expect
    .poll(() => rows.first().textContent(), PATIENT)
    .toMatch(/Pay.*Allowed by a grant of Ben Okri\. Done.*4 of 5 left/);
  expect(await rows.nth(1).textContent()).toMatch(/Approved by Ben Okri\. Done.*gave a grant: 4 of 5 left/);
  if (SHOTS) await page.screenshot({ path: join(SHOTS, 'history.png') });

  await rows.first().click();
  await card(page).getByText('Allowed by a grant of Ben Okri').waitFor();
  await card(page).getByText('Nobody was asked: a grant let this call run (4 of 5 left)').waitFor();
  expect(await card(page).getByRole('button', { name: 'Approve' }).count()).toBe(0);
  if (SHOTS) await page.screenshot({ path: join(SHOTS, 'granted-card.png') });
  await card(page).getByRole('link', { name: 'a grant' }).click();
  await page.waitForURL(new RegExp(`/grants/${grantId}$`));
  await page.getByRole('listitem').getByRole('link', { name: 'Pay' }).click();
  await card(page).getByText('Nobody was asked: a grant let this call run (4 of 5 left)').waitFor();
  await card(page).getByRole('link', { name: 'View run' }).click();
  await page.waitForURL(new RegExp(`/runs/${second}$`));

  // On the page of the run, its step leads back.
  const step = page.getByRole('figure', { name: 'Timeline of the run' });
  await step.getByText('Allowed by a grant of Ben Okri (ben)').last().waitFor();
  if (SHOTS) await page.screenshot({ path: join(SHOTS, 'run.png') });
  await page.getByText('by Ada Byron (ada)').waitFor();
  await step.getByRole('button', { name: /Pay/ }).click();
  await step.getByRole('link', { name: 'View request' }).click();
  await card(page).getByText('Nobody was asked').waitFor();

  await page.goto(`${desk.url}${cardPath(asked).replace('requests', 'history')}`);
  await card(page).getByText('Gave a grant: 4 of 5 left').waitFor();
  if (SHOTS) await page.screenshot({ path: join(SHOTS, 'gave.png') });
});

test('filters show only these calls, or leave them out; no person decided them', async () => {
  const { desk } = await granting();
  await desk.start([['pay', { to: 'Northwind', amount: 600 }]]);
  const page = await browse(desk, 'ben', '/history');
  const history = page.getByRole('region', { name: 'History' });
  const shows = (text: string) => history.getByText(text, { exact: true }).waitFor();
  await filterBy(page, 'Outcome', 'Allowed by a grant or a rule');
  await shows('1 by a grant');
  await removeFilter(page, 'Outcome');
  await filterBy(page, 'Outcome', 'Approved');
  await shows('1 decided');
  await removeFilter(page, 'Outcome');
  await filterBy(page, 'Outcome', 'Done');
  await shows('1 decided, 1 by a grant');
  await removeFilter(page, 'Outcome');
  await filterBy(page, 'Decided by', 'Me');
  await shows('1 decided');
});

test('a call that a rule let run is in the history, with the rule, its outcome and links', async () => {
  const rules = [{ tool: 'deploy', where: [{ field: 'to', equals: 'staging' }], then: 'allow' }] as const;
  const desk = await openDesk({}, { rules });
  const ada = desk.as('ada');
  const asked = { tool: 'deploy', input: { to: 'staging' }, key: 'k', title: 'Deploy to staging' };
  const { runId, status } = (await ada('POST', '/api/v1/gate', asked)).body;
  expect(status).toBe('approved');
  const { token } = (await ada('POST', `/api/v1/gate/${runId}/started`, {})).body;
  await ada('POST', `/api/v1/gate/${runId}/result`, { token, error: 'No disk.', notPerformed: true });
  const [row] = (await ada('GET', '/api/v1/requests?status=settled')).body.items;
  const rule = { tool: 'deploy', where: [{ field: 'to', equals: 'staging' }], at: expect.any(Number) };
  expect(row).toMatchObject({ rule, decision: null, allows: [], outcome: { state: 'failed' } });
  expect(decisionLine(row)).toMatch(/^allowed by the rule for tool deploy, to is staging at .*\. failed: /);
  const page = await browse(desk, 'ada', '/history');
  const history = page.getByRole('region', { name: 'History' });
  await history.getByText('1 by a rule', { exact: true }).waitFor();
  await expect
    .poll(() => history.locator('[data-row]').textContent(), PATIENT)
    .toMatch(/Deploy.*Failed.*Allowed by a rule|Allowed by a rule.*No disk/);
  if (SHOTS) await page.screenshot({ path: join(SHOTS, 'ruled.png') });
  await history.locator('[data-row]').click();
  await card(page).getByText('Nobody was asked: the rule for tool deploy, to is staging let this call run').waitFor();
  if (SHOTS) await page.screenshot({ path: join(SHOTS, 'ruled-card.png') });
  await card(page).getByRole('link', { name: 'View run' }).click();
  const step = page.getByRole('figure', { name: 'Timeline of the run' });
  await step.getByText('Allowed by a rule').last().waitFor();
  await step
    .getByRole('button', { name: /Deploy|deploy/ })
    .first()
    .click();
  await step.getByRole('link', { name: 'View request' }).click();
  await card(page).getByText('Nobody was asked').waitFor();
});

test('on a phone and in the dark', async () => {
  const { desk } = await granting();
  await desk.start([['pay', { to: 'Northwind', amount: 600 }]]);
  const page = await browse(desk, 'ada', '/history', { viewport: PHONE, colorScheme: 'dark' });
  const row = page.locator('[data-row]').first();
  await row.getByText('4 of 5 left').waitFor();
  if (SHOTS) await page.screenshot({ path: join(SHOTS, 'history-phone-dark.png') });
  await row.click();
  await card(page).getByText('Nobody was asked').waitFor();
  if (SHOTS) await page.screenshot({ path: join(SHOTS, 'granted-card-phone-dark.png') });
});

test('the period goes by the time of the decision', async () => {
  const { desk } = await granting();
  const before = Date.now();
  const page = await browse(desk, 'ada', `/history?age=dates&from=${day(0)}&until=${day(0)}`);
  const history = page.getByRole('region', { name: 'History' });
  await history.getByText('1 decided', { exact: true }).waitFor();
  await page.goto(`${desk.url}/history?age=dates&from=${day(1)}`);
  await history.getByText('No matches').waitFor();
  const ask = desk.as('ada');
  // Asked before, decided after.
  const waiting = await desk.start([['pay', { to: 'Birch', amount: 500 }]]);
  const [id = ''] = await desk.waiting(waiting);
  const between = Date.now() + 1;
  await expect.poll(() => Date.now()).toBeGreaterThan(between);
  await desk.as('ben')('POST', `/api/v1/requests/${encodeURIComponent(id)}/decide`, { decision: { type: 'reject' } });
  const found = async (query: string) => (await ask('GET', `/api/v1/requests?${query}`)).body.items.length;
  expect(await found(`settledSince=${between}`)).toBe(1);
  expect(await found(`settledBefore=${before}`)).toBe(1);
  expect(await found(`settledBefore=${between}&outcome=not-run`)).toBe(0);
  expect(await found('outcome=not-run')).toBe(1);
});

/** The local date in so many days. */
function day(days: number): string {
  const at = new Date(Date.now() + days * 86_400_000);
  return [at.getFullYear(), at.getMonth() + 1, at.getDate()].map((part) => `${part}`.padStart(2, '0')).join('-');
}
