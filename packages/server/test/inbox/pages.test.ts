// The other pages: history, runs, dashboard, chat.
import { z } from 'countersign';
import { type ScriptStep, scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import {
  browse,
  card,
  cardPath,
  choose,
  type Desk,
  filterBy,
  list,
  openDesk,
  PATIENT,
  PHONE,
  toast,
  withBrowser,
} from './desk.ts';

withBrowser();

async function decide(desk: Desk, runId: string, decision: object, by = 'grace'): Promise<void> {
  for (const id of await desk.waiting(runId)) {
    const { status } = await desk.as(by)('POST', `/api/v1/requests/${encodeURIComponent(id)}/decide`, { decision });
    expect(status).toBe(200);
  }
  await desk.ai.runs.wait(runId);
}

test('the history shows each decision with its decider, newest first, and can be filtered', async () => {
  const desk = await openDesk();
  await decide(desk, await desk.start([['pay', { to: 'Northwind', amount: 500 }]]), { type: 'approve' });
  await decide(desk, await desk.start([['publish', { title: 'Letter' }]]), { type: 'reject', reason: 'Too early.' });
  await desk.start([['pay', { to: 'Lantern', amount: 600 }]]);
  const page = await browse(desk, 'ada', '/history');
  const history = page.getByRole('region', { name: 'History' });
  await history.getByText('2 decided').waitFor();
  const [newest, oldest] = await history.locator('[data-row]').allTextContents();
  expect(newest).toMatch(/^Publish.*Rejected by grace: Too early\./);
  expect(oldest).toMatch(/^Pay.*Approved by grace/);
  await history.locator('[data-row]').first().click();
  await card(page).getByText('Too early.', { exact: true }).waitFor();
  expect(await card(page).getByRole('heading', { level: 2 }).textContent()).toBe('Publish');

  await filterBy(page, 'Tool', 'pay');
  await history.getByText('1 decided').waitFor();
  await filterBy(page, 'Decided', 'Last 24 hours');
  await history.getByText('1 decided').waitFor();
});

test('the history can be filtered by outcome', async () => {
  const desk = await openDesk();
  const pay = (to: string) => desk.start([['pay', { to, amount: 500 }]]);
  await decide(desk, await pay('Northwind'), { type: 'approve' });
  await decide(desk, await pay('Lantern'), { type: 'approve', edit: { to: 'Lantern', amount: 450 } });
  await decide(desk, await pay('Birch'), { type: 'reject' });
  const choice = await desk.start([['choose', { question: 'Which size?', choices: ['Small', 'Large'] }]]);
  await decide(desk, choice, { type: 'respond', output: 'Large' });
  await desk.ai.runs.cancel(await pay('Larch'));
  const page = await browse(desk, 'ada', '/history');
  const history = page.getByRole('region', { name: 'History' });
  await history.getByText('5 decided').waitFor();
  const shows = (...names: readonly RegExp[]) =>
    expect
      .poll(async () => {
        const texts = await history.locator('[data-row]').allTextContents();
        return texts.length === names.length && names.every((name, index) => name.test(texts[index] ?? ''));
      }, PATIENT)
      .toBe(true);
  for (const [outcome, label, names] of [
    ['approved', 'Approved', [/Approved with changes by grace.*Lantern/, /Approved by grace.*Northwind/]],
    ['edited', 'Approved with changes', [/Lantern/]],
    ['rejected', 'Rejected', [/Rejected by grace.*Birch/]],
    ['answered', 'Answered', [/Which size.*Answered by grace/]],
    ['cancelled', 'Cancelled or withdrawn', [/Cancelled.*Larch/]],
    ['not-run', 'Not run', [/Cancelled.*Larch/, /Rejected by grace.*Birch/]],
  ] as const) {
    await filterBy(page, 'Outcome', label);
    await shows(...names);
    expect(new URL(page.url()).searchParams.get('outcome')).toBe(outcome);
  }
  await choose(page, /^Outcome/, 'Expired');
  await history.getByText('No matches').waitFor();
  // A pending request has no outcome to filter by.
  await pay('Willow');
  await page.goto(desk.url);
  await page.getByRole('button', { name: 'Filter', exact: true }).click();
  await page.getByRole('menuitem', { name: 'Agent' }).waitFor();
  expect(await page.getByRole('menuitem', { name: 'Outcome' }).count()).toBe(0);
});

test('a run shows its timeline with durations, its conversation and its record', async () => {
  const desk = await openDesk();
  const runId = await desk.start([
    ['look', {}],
    ['pay', { to: 'Northwind', amount: 500 }],
  ]);
  const page = await browse(desk, 'ada', '/runs');
  const row = page.getByRole('row', { name: new RegExp(runId) });
  // The subject, not only the name.
  expect(await row.textContent()).toMatch(
    /^\[\["look",\{\}\],\["pay".*Northwind.*Waits for Pay.*Waiting.*clerk.*ada.*\d m?s12\.3k tokens$/,
  );
  await row.click();
  await page.getByRole('heading', { level: 1, name: /Northwind/ }).waitFor();
  await page.getByText('Waiting for approval').first().waitFor();
  const picture = page.getByRole('figure', { name: 'Timeline of the run' });
  await picture.waitFor();
  expect(await picture.locator('title').allTextContents()).toEqual(
    expect.arrayContaining(['User message', expect.stringMatching(/^Waiting for approval: .* so far$/)]),
  );

  // The timeline updates while it is open.
  await decide(desk, runId, { type: 'approve', edit: { to: 'Northwind', amount: 450 } });
  await page.getByText('Done', { exact: true }).waitFor();
  const titles = () => picture.locator('title').allTextContents();
  await expect.poll(titles, PATIENT).toContain('Approved with changes by grace');
  expect(await titles()).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^Turn 1: \d/),
      expect.stringMatching(/^Turn 2: \d/),
      expect.stringMatching(/^Waiting for approval: \d[^a-z]*m?s$/),
      expect.stringMatching(/^Runs: \d/),
      'Completed',
    ]),
  );
  // A step opens to its values and its events.
  await picture.getByRole('button', { name: /^Pay/ }).click();
  for (const text of ['Input', 'Edited input', 'Output', 'for Northwind'])
    await picture.getByText(text, { exact: true }).waitFor();
  await picture.getByRole('link', { name: 'View request' }).waitFor();
  await picture.getByText('Events').click();
  await picture.getByText('decision-made').waitFor();
  await picture.getByRole('button', { name: /^Pay/ }).click();
  await page.getByText('View as table').click();
  expect(await page.getByRole('row', { name: /pay Waiting for approval/ }).count()).toBe(1);
  await page.getByText('All done.').waitFor();
  await page.getByText('Recorded events').click();
  await page.getByText('decision-made').click();
  await page.getByText(/"requestId":/).waitFor();
  await page.getByRole('button', { name: 'Verify record' }).click();
  await page.getByText(/Record verified: \d+ events/).waitFor();
});

test('a waiting run can be cancelled, and is found by its status', async () => {
  const desk = await openDesk();
  const runId = await desk.start([['pay', { to: 'Northwind', amount: 500 }]]);
  const page = await browse(desk, 'ada', `/runs/${runId}`);
  // A single accidental click cancels nothing.
  await page.getByRole('button', { name: 'Cancel run' }).dblclick();
  await page.getByRole('button', { name: 'Cancel run' }).click();
  await page.getByRole('button', { name: 'Keep running' }).click();
  expect(await desk.waiting(runId)).toHaveLength(1);
  await page.getByRole('button', { name: 'Cancel run' }).click();
  await page.getByRole('button', { name: 'Yes, cancel the run' }).click();
  await page.getByText('Cancelled', { exact: true }).first().waitFor();
  expect(desk.done).toEqual([]);
  await page.getByRole('link', { name: 'All runs' }).click();
  await choose(page, /^Status/, 'Waiting');
  await page.getByText('No matches').waitFor();
  await choose(page, /^Status/, 'Cancelled');
  await page.getByRole('link', { name: new RegExp(runId) }).waitFor();
  await page.getByLabel('Search').fill('no such run');
  await page.getByText('No matches').waitFor();
  await page.getByLabel('Search').fill(runId.slice(0, 12));
  await page.getByRole('link', { name: new RegExp(runId) }).waitFor();
});

test('the dashboard shows the counts of the server', async () => {
  const desk = await openDesk();
  for (const amount of [500, 600, 700])
    await decide(desk, await desk.start([['pay', { to: 'Northwind', amount }]]), { type: 'approve' });
  await decide(desk, await desk.start([['pay', { to: 'Lantern', amount: 800 }]]), { type: 'reject' });
  await decide(desk, await desk.start([['choose', { question: 'Which?', choices: ['A', 'B'] }]]), {
    type: 'respond',
    output: 'A',
  });
  await desk.start([['publish', { title: 'Letter' }]]);
  const page = await browse(desk, 'ada', '/dashboard');
  const tile = (name: string, below: string) =>
    page.locator('dl > div', { hasText: name }).filter({ hasText: below }).locator('dd').first().textContent();
  await page.getByRole('heading', { name: 'Decisions per day' }).waitFor();
  await page.getByText('Only runs you started.').waitFor();
  expect(await tile('Waiting now', 'Oldest')).toBe('1');
  expect(await tile('Decided', 'in 30 days')).toBe('5');
  expect(await tile('Approved', 'of approved')).toBe('75 %');
  expect(await tile('Time to decide', 'median')).toMatch(/^[\d.]+ m?s$/);
  expect(await tile('Time to decide', '90th')).toMatch(/^[\d.]+ m?s$/);
  expect(await tile('Expired', 'of settled')).toBe('0');
  const outcomes = page.getByRole('region', { name: 'Table of outcomes by tool' });
  expect(await outcomes.getByRole('row', { name: /^pay/ }).textContent()).toMatch(/^pay75 %3 of 4010000/);
  await page.getByText('View as table').first().click();
  const today = new Date().toISOString().slice(0, 10);
  expect(await page.getByRole('row', { name: new RegExp(`^${today}`) }).textContent()).toBe(`${today}31100`);
  await page.getByRole('img', { name: /5 decisions in 30 days/ }).waitFor();
  await choose(page, /^Period/, 'Last 7 days');
  await page.getByRole('img', { name: /5 decisions in 7 days/ }).waitFor();
  await page.getByRole('button', { name: 'Person', exact: true }).click();
  await page.getByRole('img', { name: /Time to decide by person/ }).waitFor();
  await choose(page, /^Tool: All/, 'choose');
  await expect.poll(() => tile('Decided', 'in 7 days'), PATIENT).toBe('1');
  const address = new URL((await page.getByRole('link', { name: 'Export CSV' }).getAttribute('href')) ?? '');
  const csv = await desk.as('ada')('GET', `${address.pathname}${address.search}`);
  expect(csv.body).toMatch(/^group,.*\r\nall,,,1,1,/);
});

test('a drill looks like any request, and the person who decided it learns what it was', async () => {
  const desk = await openDesk();
  const input = { to: 'Unknown Ltd', amount: 900 };
  const { id } = await desk.ai.runs.drill({ agent: 'clerk', tool: 'pay', input, prompt: 'Pay this.', by: 'ada' });
  await desk.ai.runs.wait(id);
  const page = await browse(desk, 'ada', cardPath((await desk.waiting(id))[0] ?? ''));
  await card(page).getByRole('button', { name: 'Approve' }).waitFor();
  expect(await page.getByText(/drill/i).count()).toBe(0);
  await card(page).getByRole('button', { name: 'Approve' }).click();
  await toast(page, 'approved', /^This was a drill/).waitFor();
  await page.goto(`${desk.url}/dashboard`);
  const drills = page.getByRole('region', { name: 'Drills by person' });
  expect(await drills.getByRole('row', { name: /^ada/ }).textContent()).toBe('ada010 %');
  expect(desk.done).toEqual([]);
  const [record] = (await desk.ai.runs.requests({ settled: true })).items;
  expect(record?.settlement).toMatchObject({ seenForMs: expect.any(Number) });
});

test('a chat pauses for an approval and continues after it', async () => {
  const desk = await openDesk();
  const page = await browse(desk, 'ada', '/chat');
  const complaints: string[] = [];
  page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
  await page.getByRole('link', { name: /^assistant/ }).click();
  await page.getByLabel('Your message').fill('Pay ACME 950 euros for invoice 7');
  await page.keyboard.press('Enter');
  const waiting = page.getByRole('article', { name: 'Pay 950 EUR to ACME' });
  await waiting.getByRole('button', { name: 'Approve' }).click();
  await waiting.waitFor({ state: 'detached' });
  await page.getByText(/Approved by ada/).waitFor();
  expect(await page.getByText(/^(?:Used|Tried) payInvoice/).count()).toBe(0);
  // A new chat asks the server for nothing that is not there.
  expect(complaints).toEqual([]);
  expect(new URL(page.url()).pathname).toMatch(/^\/chat\/assistant\/chat_/);
  await expect.poll(() => desk.done.length, PATIENT).toBe(1);
  expect(desk.done[0]?.input).toMatchObject({ to: 'ACME', amount: 950 });

  // The chat that was just created links to its run, and the run links back.
  await page.getByRole('link', { name: 'View run' }).click();
  await page.getByRole('heading', { level: 1, name: 'Pay ACME 950 euros for invoice 7' }).waitFor();
  await page.getByRole('link', { name: 'Open chat' }).click();
  await page.getByRole('log').getByText('Pay ACME 950 euros for invoice 7').waitFor();
  await page.getByText(/Approved by ada/).waitFor();
  expect(desk.done).toHaveLength(1);
});

test('the stand-in model suggests messages to try', async () => {
  const desk = await openDesk();
  const page = await browse(desk, 'ada', '/');
  await page.getByRole('link', { name: 'Start a chat with an agent' }).click();
  await page.getByRole('link', { name: /^assistant/ }).click();
  await page.getByRole('button', { name: /^Pay Birch 182.40 euros for paper and Lantern/ }).click();
  await page.getByRole('article', { name: /^Pay / }).nth(1).waitFor();
});

test('a card shows the last messages, and the others on request', async () => {
  const desk = await openDesk();
  const say = async (id: string, text: string) => {
    const messages = [{ id, role: 'user', parts: [{ type: 'text', text }] }];
    await desk.as('ada')('POST', '/api/v1/chat/clerk', { id: 'talk', trigger: 'submit-message', messages });
    await desk.ai.runs.wait('talk');
  };
  for (let turn = 1; turn <= 3; turn += 1) await say(`m${turn}`, `[["look", { "turn": ${turn} }]]`);
  await say('m4', '[["pay", { "to": "Northwind", "amount": 500 }]]');
  const [id = ''] = await desk.waiting('talk');
  const page = await browse(desk, 'ada', cardPath(id));
  const lines = card(page).locator('ol').last().locator(':scope > li');
  await lines.nth(7).waitFor();
  // Four messages for each of three turns, the question, and the pending call.
  expect(await lines.count()).toBe(8);
  expect(await lines.last().textContent()).toContain('Northwind');
  await card(page).getByRole('button', { name: 'Show earlier (6 more)' }).click();
  await expect.poll(() => lines.count(), PATIENT).toBe(14);
  expect(await lines.first().textContent()).toContain('"turn": 1');
});

test('a decision in the inbox continues the chat at once', async () => {
  const desk = await openDesk();
  const chat = await browse(desk, 'ada', '/chat/assistant/chat_1');
  await chat.getByLabel('Your message').fill('Pay ACME 950 euros for invoice 7');
  await chat.getByRole('button', { name: 'Send' }).click();
  await chat.getByRole('button', { name: 'Approve' }).waitFor();
  const inbox = await browse(desk, 'grace');
  await list(inbox)
    .getByRole('link', { name: /payInvoice/ })
    .click();
  await card(inbox).getByRole('button', { name: 'Approve' }).click();
  await card(inbox)
    .getByText(/Approved by grace/)
    .waitFor();
  await chat.getByText(/Approved by grace/).waitFor();
  expect(await chat.getByRole('button', { name: 'Approve' }).count()).toBe(0);
  expect(desk.done).toHaveLength(1);
});

test('on a phone a run has room for its name, what it waits for, and its tokens', async () => {
  const desk = await openDesk();
  const runId = await desk.start([['pay', { to: 'Northwind', amount: 500 }]]);
  const page = await browse(desk, 'ada', `/runs/${runId}`, { viewport: PHONE });
  const heading = page.getByRole('heading', { level: 1 });
  await page.getByRole('button', { name: 'Cancel run' }).waitFor();
  expect((await heading.boundingBox())?.width).toBeGreaterThan(280);
  await page.goto(`${desk.url}/runs`);
  await page.getByRole('link', { name: /Northwind.* Waits for Pay · / }).waitFor();
  await page.getByText('12.3k tokens').waitFor();
  // The filters share a line below the search.
  const box = (name: RegExp) => page.getByRole('button', { name }).boundingBox();
  expect((await box(/^Status/))?.y).toBe((await box(/^Agent/))?.y);
});

test('an unknown address shows a not-found page', async () => {
  const desk = await openDesk();
  const page = await browse(desk, 'ada', '/nowhere');
  await page.getByText('Page not found').waitFor();
  await page.getByRole('link', { name: 'Open the inbox' }).waitFor();
  await page.goto(`${desk.url}${cardPath('run_0:call_0')}`);
  await card(page)
    .getByText(/This request does not exist/)
    .waitFor();
  await page.goto(`${desk.url}/chat/nobody/chat_1`);
  await page.getByText('No agent has this name').waitFor();
  await page.goto(`${desk.url}/runs/run_0`);
  await page.getByText(/This run does not exist/).waitFor();
});

test("the card of a call inside a sub-agent shows the sub-agent's conversation", async () => {
  const desk = await openDesk();
  const { ai } = desk;
  const answers = (first: ScriptStep) =>
    scriptedModel(({ messages }) => (messages.some(({ role }) => role === 'tool') ? 'Done.' : first));
  const wire = ai.defineTool(
    { name: 'wire', description: 'Wires money.', inputSchema: z.any(), needsApproval: true },
    () => 'wired',
  );
  const checker = ai.defineAgent({
    name: 'checker',
    description: 'Checks invoices.',
    model: answers({ text: 'The invoice says 950.', calls: [{ name: 'wire', input: { amount: 950 } }] }),
    tools: [wire],
  });
  const planner = ai.defineAgent({
    name: 'planner',
    model: answers({ calls: [{ name: 'checker', input: { prompt: 'Pay the invoice.' } }] }),
    tools: [checker],
  });
  const { id: runId } = await planner.start('Go', { by: 'ada' });
  await ai.runs.wait(runId);
  const page = await browse(desk, 'ada');
  await list(page).getByRole('link', { name: /wire/ }).click();
  await card(page).getByText('The invoice says 950.').waitFor();
});
