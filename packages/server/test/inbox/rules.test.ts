// The page of rules: the applied versions, suggested grants, and what other rules would have done with past calls.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { browse, openDesk, PATIENT, PHONE, withBrowser } from './desk.ts';

withBrowser();

const SHOTS = process.env.SHOTS;

test('someone who sees all runs tries other rules on past calls, and sees the versions and suggestions', async () => {
  const identify = (request: Request) => {
    const id = request.headers.get('x-user');
    return id === null ? null : { id, roles: ['desk'], reach: 'all' as const };
  };
  const observed = { tool: 'publish', then: 'observe', policy: { deciders: { roles: ['press'] } } } as const;
  const desk = await openDesk({ identify, deployedBy: 'ann at build 7' }, { rules: [observed] });
  for (const amount of [500, 600, 700, 800, 900]) {
    const run = await desk.start([['pay', { to: 'Northwind', amount }]]);
    const [asked = ''] = await desk.waiting(run);
    const path = `/api/v1/requests/${encodeURIComponent(asked)}/decide`;
    expect((await desk.as('ben')('POST', path, { decision: { type: 'approve' } })).status).toBe(200);
    await desk.ai.runs.wait(run, { until: 'end' });
  }
  const page = await browse(desk, 'ada', '/grants');
  await page.getByRole('link', { name: 'Rules and suggestions' }).click();
  await page.getByText(/Version 1 · ann at build 7/).waitFor(PATIENT);
  await page.getByText(/pay: 5 of 5 approved without change, to Northwind, amount at most 900/).waitFor();

  const field = page.getByRole('textbox', { name: 'Rules and policies, as JSON' });
  expect(JSON.parse(await field.inputValue()).rules).toEqual([observed]);
  await field.fill('{"rules": [');
  await page.getByRole('button', { name: 'Replay' }).click();
  await page.getByText(/^Not JSON: /).waitFor();
  await field.fill('{"rules": [{ "tool": "pay", "where": [{ "field": "amount", "above": 700 }], "then": "deny" }]}');
  await page.getByRole('button', { name: 'Replay' }).click();
  await page.getByText('5 calls of 5 runs; nothing changes for 3.').waitFor(PATIENT);
  await page.getByText('2 would newly be denied').click();
  expect(await page.getByRole('link', { name: /^Pay .*approved/ }).count()).toBe(2);
  if (SHOTS) await page.screenshot({ path: join(SHOTS, 'rules.png'), fullPage: true });
  if (SHOTS) {
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize(PHONE);
    await page.screenshot({ path: join(SHOTS, 'rules-phone.png'), fullPage: true });
  }
});

test('someone who sees only their own runs has no page of rules', async () => {
  const desk = await openDesk();
  const page = await browse(desk, 'ada', '/grants');
  await page.getByRole('heading', { name: 'Grants', level: 1 }).waitFor();
  expect(await page.getByRole('link', { name: 'Rules and suggestions' }).count()).toBe(0);
});
