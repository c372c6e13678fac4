// The inbox of several people: what waits for whom, what a vote changes, what stands out, and the history.
import { tool, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { browse, card, cardPath, filterBy, list, openDesk, PATIENT, withBrowser } from './desk.ts';

withBrowser();

const FINANCE = { roles: ['finance'] };
const path = (id: string): string => `/api/v1/requests/${encodeURIComponent(id)}`;
const approve = { decision: { type: 'approve' } };

/** Payments that finance approves, two people above 1,000. Ada asks; the others are of finance. */
async function treasury() {
  const desk = await openDesk({
    mayRead: undefined,
    identify: (request: Request) => {
      const id = request.headers.get('x-user');
      return id === null ? null : { id, roles: id === 'ada' ? [] : ['finance'] };
    },
  } as never);
  const pay = tool(
    {
      name: 'pay',
      description: 'Pays.',
      inputSchema: z.object({ to: z.string(), amount: z.number() }),
      title: ({ to, amount }) => `Pay ${amount} to ${to}`,
      needsApproval: ({ amount }) => ({
        policy:
          amount > 1_000
            ? {
                quorum: [
                  { of: FINANCE, count: 1 },
                  { of: FINANCE, count: 1 },
                ],
              }
            : { deciders: FINANCE },
      }),
    },
    () => 'paid',
  );
  const model = scriptedModel(({ messages }) => {
    if (messages.at(-1)?.role === 'tool') return 'Done.';
    const [to = '', amount] =
      messages
        .at(-1)
        ?.content.map((part) => ('text' in part ? part.text : ''))
        .join('')
        .split(' ') ?? [];
    return { calls: [{ name: 'pay', input: { to, amount: Number(amount) } }] };
  });
  const treasurer = desk.ai.defineAgent({ name: 'treasurer', model, tools: [pay] });
  const ask = async (to: string, amount: number): Promise<string> => {
    const { id } = await treasurer.start(`${to} ${amount}`, { by: 'ada' });
    await desk.ai.runs.wait(id);
    return (await desk.waiting(id))[0] ?? '';
  };
  return { desk, ask };
}

const tab = (page: Page, name: string) => list(page).getByRole('button', { name: new RegExp(`^${name}`) });

test('a vote moves a request to those that wait for others, and the badge counts only mine', async () => {
  const { desk, ask } = await treasury();
  const large = await ask('ACME', 5_000);
  await ask('Birch', 500);
  const ben = await browse(desk, 'ben');
  await expect.poll(() => ben.title(), PATIENT).toBe('(2) Inbox · Countersign');
  await tab(ben, 'For you 2').waitFor();
  await tab(ben, 'Waiting for others 0').waitFor();
  await card(ben).getByText('0 of 2 votes. Waiting for 2 of finance').waitFor();
  await card(ben).getByRole('button', { name: 'Approve', exact: true }).click();
  await tab(ben, 'For you 1').waitFor();
  await tab(ben, 'Waiting for others 1').waitFor();
  await expect.poll(() => ben.title(), PATIENT).toBe('(1) Inbox · Countersign');
  // The card stays open. It offers to change the vote, not to approve once more.
  await card(ben)
    .getByText(/^You voted: Approved/)
    .waitFor();
  expect(await card(ben).getByRole('button', { name: 'Approve', exact: true }).count()).toBe(0);
  await card(ben).getByRole('button', { name: 'Change vote' }).click();
  expect(await card(ben).getByRole('button', { name: 'Approve', exact: true }).count()).toBe(0);
  await card(ben).getByRole('button', { name: 'Reject' }).waitFor();

  await tab(ben, 'Waiting for others').click();
  await list(ben)
    .getByRole('link', { name: /Pay 5000 to ACME/ })
    .waitFor();
  expect(await list(ben).getByRole('link').count()).toBe(1);
  expect(new URL(ben.url()).searchParams.get('view')).toBe('others');

  // Ada can decide neither; both wait for others.
  const ada = await browse(desk, 'ada');
  await list(ada).getByText("You're all caught up").waitFor();
  expect(await ada.title()).toBe('Inbox · Countersign');
  await list(ada).getByRole('button', { name: 'Show 2 waiting for others' }).click();
  await expect.poll(() => list(ada).getByRole('link').count(), PATIENT).toBe(2);
  await filterBy(ada, 'Mine', 'Asked by me');
  await expect.poll(() => list(ada).getByRole('link').count(), PATIENT).toBe(2);
  await filterBy(ada, 'Mine', 'Assigned to me');
  await list(ada).getByText('No matches').waitFor();
  await filterBy(ada, 'Mine', 'Needs my decision');
  await list(ada).getByText("You're all caught up").waitFor();
  const cara = await browse(desk, 'cara', cardPath(large));
  await card(cara).getByText('1 of 2 votes. Waiting for 1 more of finance').waitFor();
});

test('a draft stays when Escape closes the form, and a conflict is told once', async () => {
  const { desk, ask } = await treasury();
  const id = await ask('ACME', 500);
  const ben = await browse(desk, 'ben', cardPath(id));
  await card(ben).getByRole('button', { name: 'Edit' }).click();
  await card(ben).getByLabel('amount').fill('90');
  await ben.keyboard.press('Escape');
  await card(ben).getByRole('button', { name: 'Edit' }).click();
  expect(await card(ben).getByLabel('amount').inputValue()).toBe('90');
  await ben.keyboard.press('Escape');
  // The reason of a rejection is kept as well.
  await card(ben).getByRole('button', { name: 'Reject' }).click();
  await card(ben).getByLabel('Reason (optional)').fill('Ask legal first');
  await ben.keyboard.press('Escape');
  await card(ben).getByRole('button', { name: 'Approve', exact: true }).waitFor();
  await card(ben).getByRole('button', { name: 'Reject' }).click();
  expect(await card(ben).getByLabel('Reason (optional)').inputValue()).toBe('Ask legal first');
  await ben.keyboard.press('Escape');

  let letGo: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  await ben.route('**/decide', async (route) => {
    await held;
    await route.continue();
  });
  await card(ben).getByRole('button', { name: 'Approve', exact: true }).click();
  await desk.as('cara')('POST', `${path(id)}/decide`, { decision: { type: 'reject', reason: 'no' } });
  letGo();
  await card(ben)
    .getByText(/cara already rejected this/)
    .waitFor();
  expect(await ben.getByText(/already rejected this/).count()).toBe(1);
});

test('what stands out is on the row and on the card', async () => {
  const { desk, ask } = await treasury();
  for (let index = 0; index < 5; index++) {
    const id = await ask('ACME', 100 + index);
    await desk.as('ben')('POST', `${path(id)}/decide`, approve);
    await desk.ai.runs.wait(id.slice(0, id.indexOf(':')));
  }
  const fresh = await ask('Cedar', 900);
  await ask('ACME', 104);
  const ben = await browse(desk, 'ben', cardPath(fresh));
  const notes = card(ben).getByRole('list', { name: 'What stands out' });
  await notes.getByText('New recipient: none of the last 5 approved requests was for Cedar.').waitFor();
  await notes.getByText('Larger than usual: amount was at most 104 in the last 5 approved requests.').waitFor();
  await list(ben).getByText('New recipient').waitFor();
  await list(ben)
    .getByRole('link', { name: /Pay 104 to ACME/ })
    .click();
  await card(ben)
    .getByText(/^Same as a request that ben approved/)
    .waitFor();
  await card(ben).getByRole('link', { name: 'a request' }).click();
  await ben
    .getByRole('region', { name: 'Request' })
    .getByText(/Approved/)
    .first()
    .waitFor();
});

test('history is filtered by who decided, period and outcome, and exported as it is filtered', async () => {
  const { desk, ask } = await treasury();
  for (const [to, by, decision] of [
    ['ACME', 'ben', approve],
    ['Birch', 'cara', approve],
    ['Cedar', 'cara', { decision: { type: 'reject' } }],
  ] as const) {
    const id = await ask(to, 500);
    await desk.as(by)('POST', `${path(id)}/decide`, decision);
    await desk.ai.runs.wait(id.slice(0, id.indexOf(':')));
  }
  const page = await browse(desk, 'cara', '/history');
  const history = page.getByRole('region', { name: 'History' });
  const rows = history.getByRole('link', { name: /Pay 500/ });
  await expect.poll(() => rows.count(), PATIENT).toBe(3);
  await filterBy(page, 'Decided by', 'Me');
  await expect.poll(() => rows.count(), PATIENT).toBe(2);
  await filterBy(page, 'Outcome', 'Rejected');
  await expect.poll(() => rows.count(), PATIENT).toBe(1);
  const href = (await history.getByRole('link', { name: 'Export CSV' }).getAttribute('href')) ?? '';
  const address = new URL(href, desk.url);
  const { body } = await desk.as('cara')('GET', `${address.pathname}${address.search}`);
  const text = body.trimEnd().split('\r\n');
  expect(text).toHaveLength(2);
  expect(text[1]).toContain('Pay 500 to Cedar');
  await page.getByRole('button', { name: 'Clear filters' }).first().click();
  await filterBy(page, 'Decided', 'Between two dates');
  await history.getByLabel('Until').fill('2020-01-31');
  await history.getByText('No matches').waitFor();
  await history.getByLabel('Until').fill('');
  await history.getByLabel('From').fill('2020-01-01');
  await expect.poll(() => rows.count(), PATIENT).toBe(3);
});

test('with one agent there is nothing to choose', async () => {
  const { desk } = await treasury();
  for (const name of [...desk.ai.agents.keys()])
    if (name !== 'treasurer') (desk.ai.agents as Map<string, unknown>).delete(name);
  const page = await browse(desk, 'ben', '/chat');
  await page.waitForURL(/\/chat\/treasurer$/);
  await page.goto(`${desk.url}/runs`);
  await page.getByRole('button', { name: /^Status/ }).waitFor();
  expect(await page.getByRole('button', { name: /^Agent/ }).count()).toBe(0);
});
