// The hook and the cards on a real `useChat`, in a real browser, against a server that speaks the wire format.
import type { RequestCard } from 'countersign/ui';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { card, cardChunk, conversation, decided, paused, wentOn } from './card.ts';
import { type Asked, openSite, type Site, show } from './site.ts';

vi.setConfig({ testTimeout: 120_000 });

let site: Site;
let page: Page;

beforeAll(async () => {
  site = await openSite();
  page = await site.open();
}, 60_000);
afterAll(() => site.close());
afterEach(async () => {
  await page.evaluate(() => window.hide());
  // Every request was expected by its test, and none is left to the next one.
  expect(site.forget()).toEqual([]);
});

const chat = (
  cards: readonly RequestCard[],
  options: { version?: 6 | 7; watch?: boolean; messages?: unknown[] } = {},
) => show(page, { is: 'chat', version: 7, watch: false, messages: conversation(cards), ...options });
const button = (name: string) => page.getByRole('button', { name, exact: true });
const cards = () => page.locator('[data-countersign=requests]').getByRole('article');
const settled = () => page.getByTestId('status').getByText('ready').waitFor();
const focused = () => page.evaluate(() => document.activeElement?.textContent || document.activeElement?.ariaLabel);

/** Expects no further request: a request made now comes after all earlier ones. */
async function nothingMore() {
  const asking = page.evaluate(() => fetch('/api/chat', { method: 'PUT' }).then(({ status }) => status));
  (await site.asked('PUT')).fail(204, '');
  await asking;
  expect(site.untaken()).toBe(0);
}

/** Opens a separate page whose clock stands at 1,000,000. Returns a function that moves the clock. */
async function withClock(): Promise<(ms: number) => Promise<void>> {
  const usual = page;
  page = await site.open();
  onTestFinished(async () => {
    await page.context().close();
    page = usual;
  });
  const { clock } = page;
  await clock.install({ time: 999_000 });
  await clock.pauseAt(1_000_000);
  return (ms) => clock.runFor(ms);
}

/** Returns the next request of this kind, however long the page waits before it. */
async function askedInTime(passing: (ms: number) => Promise<void>, ending: string): Promise<Asked> {
  const taken: Asked[] = [];
  void site.asked('GET', ending).then((asked) => taken.push(asked));
  await expect.poll(() => passing(500).then(() => taken.length)).toBe(1);
  return taken[0] as Asked;
}

test.for([6, 7] as const)(
  'with the AI SDK %s, an approval is posted with its digest, and the run continues',
  async (version) => {
    const first = card();
    await chat([first], { version });
    expect(await page.getByLabel('Message').isDisabled()).toBe(true);
    await button('Approve').click();
    const asked = await site.asked();
    expect(asked.body.decisions).toEqual([
      { requestId: 'run:1', digest: 'digest of run:1', decision: { type: 'approve' } },
    ]);
    expect(asked.body).toMatchObject({ id: 'chat/1', trigger: 'submit-message', messageId: 'assistant-1' });
    asked.send(wentOn([decided(first)], 'Paid.'));
    await page.getByText('Paid.').waitFor();
    await settled();
    expect(await cards().count()).toBe(0);
    expect(await page.getByTestId('decided').getByText('Approved by ann').count()).toBe(1);
    expect(await page.getByTestId('messages').getByRole('listitem').count()).toBe(2);
    expect(await page.getByLabel('Message').isDisabled()).toBe(false);
  },
);

test('a fast double click sends one decision', async () => {
  const first = card();
  await chat([first]);
  await button('Approve').evaluate((element: HTMLElement) => {
    element.click();
    element.click();
  });
  await button('Approve').dblclick({ force: true });
  const asked = await site.asked();
  expect(asked.body.decisions).toHaveLength(1);
  expect(await button('Approve').getAttribute('aria-disabled')).toBe('true');
  await nothingMore();
  asked.send(wentOn([decided(first)], 'Paid.'));
  await page.getByText('Paid.').waitFor();
  await settled();
});

test('a second click does not decide the card that moved into the place of a decided one', async () => {
  const passing = await withClock();
  const [first, second] = [card({ id: 'a' }), card({ id: 'b' })];
  await chat([first, second]);
  await cards().nth(0).getByRole('button', { name: 'Approve' }).click();
  (await site.asked()).send([
    { type: 'start', messageId: 'assistant-1' },
    cardChunk(decided(first)),
    { type: 'finish' },
  ]);
  await expect.poll(() => cards().count()).toBe(1);
  await settled();
  const box = await button('Approve').boundingBox();
  const click = () => page.mouse.click((box?.x ?? 0) + 5, (box?.y ?? 0) + 5);
  await click();
  await nothingMore();
  await passing(500);
  await click();
  const asked = await site.asked();
  expect(asked.body.decisions).toMatchObject([{ requestId: 'b' }]);
  asked.send(wentOn([decided(second)], 'Paid.'));
  await settled();
});

test('the Enter key decides the next card only after its button has the focus', async () => {
  await withClock();
  const [first, second] = [card({ id: 'a' }), card({ id: 'b' })];
  await chat([first, second]);
  await cards().nth(0).getByRole('button', { name: 'Approve' }).press('Enter');
  (await site.asked()).send([
    { type: 'start', messageId: 'assistant-1' },
    cardChunk(decided(first)),
    { type: 'finish' },
  ]);
  await expect.poll(() => cards().count()).toBe(1);
  await settled();
  await page.keyboard.press('Enter');
  await nothingMore();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  const asked = await site.asked();
  expect(asked.body.decisions).toMatchObject([{ requestId: 'b' }]);
  asked.send(wentOn([decided(second)], 'Paid.'));
  await settled();
});

test('decisions made while the chat is busy are queued and sent together', async () => {
  const all = [card({ id: 'a' }), card({ id: 'b' }), card({ id: 'c' })];
  await chat(all);
  await cards().nth(0).getByRole('button', { name: 'Approve' }).click();
  const first = await site.asked();
  await cards().nth(1).getByRole('button', { name: 'Approve' }).click();
  await cards().nth(2).getByRole('button', { name: 'Reject' }).click();
  await page.keyboard.type('too much');
  await page.keyboard.press('Enter');
  expect(await page.getByText('Sending…').count()).toBe(3);
  await nothingMore();
  first.send([
    { type: 'start', messageId: 'assistant-1' },
    cardChunk(decided(all[0] as RequestCard)),
    { type: 'finish' },
  ]);
  const second = await site.asked();
  expect(second.body.decisions).toEqual([
    { requestId: 'b', digest: 'digest of b', decision: { type: 'approve' } },
    { requestId: 'c', digest: 'digest of c', decision: { type: 'reject', reason: 'too much' } },
  ]);
  second.send(
    wentOn(
      all.slice(1).map((given) => decided(given)),
      'Done.',
    ),
  );
  await page.getByText('Done.').waitFor();
  await settled();
});

test('a streamed card is announced and can be decided at once, and its decision waits for the stream', async () => {
  await chat([], { messages: [] });
  await page.getByLabel('Message').fill('Pay 950.');
  await page.keyboard.press('Enter');
  const asked = await site.asked();
  const first = card();
  const chunks = paused([first]);
  asked.send(chunks.slice(0, -2), false);
  await button('Approve').waitFor();
  await page.getByText('Approval needed: Transfer money').waitFor();
  expect(await page.evaluate(() => document.activeElement?.closest('article'))).toBe(null);
  await button('Approve').click();
  await page.getByText('Sending…').waitFor();
  await nothingMore();
  asked.send(chunks.slice(-2));
  const decision = await site.asked();
  expect(decision.body.decisions).toHaveLength(1);
  decision.send(wentOn([decided(first)], 'Paid.'));
  await page.getByText('Paid.').waitFor();
  await settled();
});

test('an edit shows its changes, and a server problem is shown at its field and can be fixed', async () => {
  const first = card();
  await chat([first]);
  await button('Edit').click();
  expect(await page.getByLabel('toAccount').evaluate((element) => element === document.activeElement)).toBe(true);
  await page.getByText('No changes.').waitFor();
  await page.getByLabel('amount').fill('700');
  expect(await page.getByRole('list', { name: 'Changes' }).innerText()).toMatch(
    /amount\s+changed from\s+950\s+to\s+700/,
  );
  await button('Approve with these changes').click();
  const refused = await site.asked();
  expect(refused.body.decisions[0].decision).toEqual({ type: 'approve', edit: { toAccount: 'DE02', amount: 700 } });
  const problems = [{ path: ['amount'], message: 'At most 500 today.' }];
  refused.send([{ type: 'start', messageId: 'assistant-1' }, cardChunk({ ...first, problems }), { type: 'finish' }]);
  await page.locator('[data-countersign=problem]').getByText('At most 500 today.').waitFor();
  await settled();
  expect(await page.getByLabel('amount').getAttribute('aria-invalid')).toBe('true');
  await button('Approve with these changes').click();
  const again = await site.asked();
  await expect.poll(() => page.locator('[data-countersign=problem]').count()).toBe(0);
  again.send([{ type: 'start', messageId: 'assistant-1' }, cardChunk({ ...first, problems }), { type: 'finish' }]);
  await page.locator('[data-countersign=problem]').getByText('At most 500 today.').waitFor();
  await settled();
  await page.getByLabel('amount').fill('0');
  await button('Approve with these changes').click();
  const mended = await site.asked();
  expect(mended.body.decisions[0].decision.edit).toEqual({ toAccount: 'DE02', amount: 0 });
  mended.send(wentOn([decided(first)], 'Paid.'));
  await settled();
});

test.for([
  ['an error response', 500],
  ['a lost connection', 'cut'],
] as const)('after %s the card can be decided again', async ([, how]) => {
  const first = card();
  await chat([first]);
  await button('Approve').click();
  const lost = await site.asked();
  if (how === 'cut') lost.cut();
  else lost.fail(how, 'The server is <b>down</b>.');
  await page.getByText('Could not confirm your decision').waitFor();
  expect(await page.getByTestId('error').textContent()).not.toBe('');
  if (how === 500) expect(await page.locator('[data-countersign=failure]').textContent()).toContain('<b>down</b>');
  await button('Approve').click();
  const asked = await site.asked();
  expect(asked.body.decisions).toHaveLength(1);
  asked.send(wentOn([decided(first)], 'Paid.'));
  await page.getByText('Paid.').waitFor();
  await settled();
  expect(await page.getByText('Could not confirm your decision').count()).toBe(0);
});

test('a question that a later message skipped is no longer pending', async () => {
  const messages = [
    ...conversation([card()]),
    { id: 'user-2', role: 'user', parts: [{ type: 'text', text: 'Never mind.' }] },
    { id: 'assistant-2', role: 'assistant', parts: [{ type: 'text', text: 'Fine.' }] },
  ];
  await chat([], { messages });
  await page.getByText('Fine.').waitFor();
  expect(await cards().count()).toBe(0);
  expect(await page.getByLabel('Message').isDisabled()).toBe(false);
});

test('a message sent past a question approved elsewhere shows the outcome of that approval', async () => {
  const first = card();
  await chat([first], { watch: true });
  const watch = await site.asked('GET', '/watch');
  watch.send([{ status: 'waiting', version: 3, messageId: 'assistant-1', pending: ['run:1'] }], false);
  await button('Say it').click();
  const words = await site.asked();
  watch.send([{ status: 'done', version: 9, messageId: 'assistant-2', pending: [] }], false);
  words.send(wentOn([], 'Fine.', 'assistant-2'));
  const [said, asked] = conversation([decided(first)]);
  const load = await site.asked('GET', '/api/chat/chat%2F1');
  load.json({
    status: 'done',
    version: 9,
    messages: [
      said,
      { ...asked, parts: [...(asked?.parts ?? []), { type: 'text', text: 'Paid elsewhere.' }] },
      { id: 'user-2', role: 'user', parts: [{ type: 'text', text: 'Never mind.' }] },
      { id: 'assistant-2', role: 'assistant', parts: [{ type: 'text', text: 'Fine.' }] },
    ],
  });
  await page.getByText('Paid elsewhere.').waitFor();
  await settled();
  await nothingMore();
});

test('a message that could not be sent does not withdraw a question', async () => {
  const first = card();
  await chat([first]);
  await button('Say it').click();
  const words = await site.asked();
  await expect.poll(() => cards().count()).toBe(0);
  words.fail(500, 'down');
  await button('Approve').click();
  const asked = await site.asked();
  expect(asked.body.decisions).toHaveLength(1);
  asked.send(wentOn([decided(first)], 'Paid.', 'assistant-2'));
  await settled();
});

test('a decision made elsewhere is fetched once, and only for a new version', async () => {
  const first = card();
  await chat([first], { watch: true });
  const watch = await site.asked('GET', '/watch');
  expect(watch.path).toBe('/api/chat/chat%2F1/watch');
  watch.send([{ status: 'waiting', version: 3, pending: ['run:1'] }], false);
  watch.send([{ status: 'waiting', version: 3, pending: ['run:1'] }], false);
  watch.send([{ status: 'done', version: 7, pending: [] }], false);
  const replay = await site.asked('GET', '/stream');
  replay.send([...paused([decided(first)]).slice(0, -1), ...wentOn([], 'Paid elsewhere.').slice(1)]);
  await page.getByText('Paid elsewhere.').waitFor();
  await settled();
  expect(await cards().count()).toBe(0);
  // The watch also reports the end of the replayed stream, which is already known.
  watch.send([{ status: 'done', version: 8, pending: [] }], false);
  watch.send([{ status: 'done', version: 8, pending: [] }], false);
  watch.send([{ status: 'waiting', version: 9, pending: ['run:2'] }], false);
  const later = await site.asked('GET', '/stream');
  later.send(paused([card({ id: 'run:2' })], 'assistant-2'));
  await button('Approve').waitFor();
  await settled();
  await page.evaluate(() => window.hide());
  await watch.closed;
});

test('at the start the run is fetched only if its pending questions differ from the page, and once', async () => {
  await chat([card()], { watch: true });
  const watch = await site.asked('GET', '/watch');
  watch.send([{ status: 'waiting', version: 3, pending: [] }], false);
  const replay = await site.asked('GET', '/stream');
  // The server still differs from the messages. The page does not ask again and again.
  replay.send(paused([card()]));
  await settled();
  watch.send([{ status: 'waiting', version: 3, pending: [] }], false);
  watch.cut();
  const again = await site.asked('GET', '/watch');
  again.send([{ status: 'waiting', version: 3, pending: [] }], false);
  again.send([{ status: 'waiting', version: 4, pending: ['other'] }], false);
  (await site.asked('GET', '/stream')).fail(204, '');
});

test.for([6, 7] as const)(
  'with the AI SDK %s, a replay that breaks off is requested again, and its cards stay pending',
  async (version) => {
    const passing = await withClock();
    const [first, second] = [card(), card({ id: 'run:2' })];
    await chat([first, second], { version, watch: true });
    const watch = await site.asked('GET', '/watch');
    watch.send([{ status: 'waiting', version: 3, pending: ['run:1', 'run:2'] }], false);
    watch.send([{ status: 'waiting', version: 7, pending: ['run:2'] }], false);
    const broken = await site.asked('GET', '/stream');
    broken.send([{ type: 'start', messageId: 'assistant-1' }, { type: 'start-step' }], false);
    broken.cut();
    await page.getByTestId('status').getByText('error').waitFor();
    expect(await cards().count()).toBe(2);
    expect(await page.getByLabel('Message').isDisabled()).toBe(true);
    (await askedInTime(passing, '/stream')).fail(502, 'bad gateway');
    (await askedInTime(passing, '/stream')).send(paused([decided(first), second]));
    await settled();
    await expect.poll(() => cards().count()).toBe(1);
    await passing(60_000);
    await nothingMore();
  },
);

/** A watching chat whose first card was just approved. No request is answered yet. */
async function approvedWhileWatched() {
  const first = card();
  await chat([first], { watch: true });
  const watch = await site.asked('GET', '/watch');
  watch.send([{ status: 'waiting', version: 3, pending: ['run:1'] }], false);
  await button('Approve').click();
  return { first, watch, asked: await site.asked() };
}

test('a change made by this client is not fetched again', async () => {
  const { first, watch, asked } = await approvedWhileWatched();
  watch.send([{ status: 'done', version: 7, pending: [] }], false);
  asked.send(wentOn([decided(first)], 'Paid.'));
  await page.getByText('Paid.').waitFor();
  await settled();
  watch.send([{ status: 'waiting', version: 9, pending: ['run:1'] }], false);
  (await site.asked('GET', '/stream')).fail(204, '');
});

test.for([
  ['is cut', 'before', 3, true],
  ['is cut', 'after', 3, true],
  ['ends', 'before', 3, false],
  ['ends', 'after', 4, false],
  ['ends', 'before', 5, false],
] as const)(
  'an answer that %s too soon, %s the end of the run is reported, after %i chunks, is fetched',
  async ([, order, chunks, isCut]) => {
    const passing = await withClock();
    const { first, watch, asked } = await approvedWhileWatched();
    const over = () => watch.send([{ status: 'done', version: 7, pending: [] }], false);
    if (order === 'before') {
      over();
      await nothingMore();
    }
    asked.send(wentOn([decided(first)], 'Paid.').slice(0, chunks), !isCut);
    if (isCut) asked.cut();
    await page
      .getByTestId('status')
      .getByText(isCut ? 'error' : 'ready')
      .waitFor();
    if (order === 'after') over();
    const replay = await askedInTime(passing, '/stream');
    replay.send([...paused([decided(first)]).slice(0, -1), ...wentOn([], 'Paid, all of it.').slice(1)]);
    await page.getByText('Paid, all of it.').waitFor();
    await settled();
    await passing(60_000);
    await nothingMore();
  },
);

test.for([0, 2, 4])('a replay that ends too soon, after %i chunks, is requested again', async (chunks) => {
  const passing = await withClock();
  const [first, second] = [card(), card({ id: 'run:2' })];
  await chat([first, second], { watch: true });
  const watch = await site.asked('GET', '/watch');
  watch.send([{ status: 'waiting', version: 3, pending: ['run:1', 'run:2'] }], false);
  watch.send([{ status: 'waiting', version: 5, pending: ['run:2'] }], false);
  const waits = paused([decided(first), second]);
  (await site.asked('GET', '/stream')).send(waits.slice(0, chunks));
  // If the replay brings nothing, the second card stays.
  if (chunks > 0) (await askedInTime(passing, '/stream')).send(waits);
  await settled();
  await button('Approve').last().waitFor();
  watch.send([{ status: 'done', version: 9, pending: [] }], false);
  const whole = [...paused([decided(first), decided(second)]).slice(0, -1), ...wentOn([], 'Paid.').slice(1)];
  (await askedInTime(passing, '/stream')).send(whole.slice(0, chunks));
  (await askedInTime(passing, '/stream')).send(whole);
  await page.getByText('Paid.').waitFor();
  await settled();
  await passing(60_000);
  await nothingMore();
});

test('the answer of a failed run is not requested again', async () => {
  const passing = await withClock();
  const { first, watch, asked } = await approvedWhileWatched();
  asked.send([...wentOn([decided(first)], 'Paid.').slice(0, -2), { type: 'error', errorText: 'It failed.' }]);
  await page.getByTestId('status').getByText('error').waitFor();
  watch.send([{ status: 'failed', version: 7, pending: [] }], false);
  await passing(60_000);
  await nothingMore();
});

test('a conversation that continued elsewhere is reloaded', async () => {
  await chat([card()], { watch: true });
  const watch = await site.asked('GET', '/watch');
  watch.send([{ status: 'waiting', version: 3, messageId: 'assistant-1', pending: ['run:1'] }], false);
  watch.send([{ status: 'done', version: 9, messageId: 'assistant-2', pending: [] }], false);
  const load = await site.asked('GET', '/api/chat/chat%2F1');
  load.json({
    status: 'done',
    version: 9,
    messages: [
      ...conversation([decided(card(), 'reject')]),
      { id: 'user-2', role: 'user', parts: [{ type: 'text', text: 'Said elsewhere.' }] },
      { id: 'assistant-2', role: 'assistant', parts: [{ type: 'text', text: 'Answered elsewhere.' }] },
    ],
  });
  await page.getByText('Answered elsewhere.').waitFor();
  expect(await page.getByText('Said elsewhere.').count()).toBe(1);
  expect(await cards().count()).toBe(0);
  watch.send([{ status: 'done', version: 9, messageId: 'assistant-2', pending: [] }], false);
  // The run is still running: it is loaded, then followed.
  watch.send([{ status: 'running', version: 11, messageId: 'assistant-3', pending: [] }], false);
  (await site.asked('GET', '/api/chat/chat%2F1')).json({ status: 'running', messages: conversation([]).slice(0, 1) });
  (await site.asked('GET', '/stream')).send(wentOn([], 'Followed.', 'assistant-3'));
  await page.getByText('Followed.').waitFor();
});

test('a message sent while the conversation is reloaded stays on the page, and the next load includes it', async () => {
  await chat([card()], { watch: true });
  const watch = await site.asked('GET', '/watch');
  watch.send([{ status: 'waiting', version: 3, messageId: 'assistant-1', pending: ['run:1'] }], false);
  watch.send([{ status: 'done', version: 7, messageId: 'assistant-2', pending: [] }], false);
  const early = await site.asked('GET', '/api/chat/chat%2F1');
  await button('Say it').click();
  const words = await site.asked();
  const elsewhere = [
    ...conversation([decided(card())]),
    { id: 'user-2', role: 'user', parts: [{ type: 'text', text: 'Said elsewhere.' }] },
    { id: 'assistant-2', role: 'assistant', parts: [{ type: 'text', text: 'Heard elsewhere.' }] },
  ];
  early.json({ status: 'done', version: 7, messages: elsewhere });
  words.send(wentOn([], 'Fine.', 'assistant-3'));
  await page.getByText('Fine.').waitFor();
  const late = await site.asked('GET', '/api/chat/chat%2F1');
  late.json({
    status: 'done',
    version: 9,
    messages: [
      ...elsewhere,
      { id: 'user-3', role: 'user', parts: [{ type: 'text', text: 'Never mind.' }] },
      { id: 'assistant-3', role: 'assistant', parts: [{ type: 'text', text: 'Fine.' }] },
    ],
  });
  await page.getByText('Heard elsewhere.').waitFor();
  await page.getByText('Never mind.').waitFor();
  await settled();
});

test('a hidden tab does not watch the run', async () => {
  await chat([card()], { watch: true });
  const watch = await site.asked('GET', '/watch');
  watch.send([{ status: 'waiting', version: 3, pending: ['run:1'] }], false);
  const turn = (visibilityState: string) =>
    page.evaluate((visibilityState) => {
      Object.defineProperty(document, 'visibilityState', { value: visibilityState, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));
    }, visibilityState);
  await turn('hidden');
  await watch.closed;
  await turn('visible');
  (await site.asked('GET', '/watch')).send([{ status: 'done', version: 7, pending: [] }], false);
  (await site.asked('GET', '/stream')).send(wentOn([decided(card())], 'Paid meanwhile.'));
  await page.getByText('Paid meanwhile.').waitFor();
});

test('the watch reconnects at once when the network is back', async () => {
  // Time stands still, so that no pause ends.
  await withClock();
  await chat([card()], { watch: true });
  const watch = await site.asked('GET', '/watch');
  watch.cut();
  await watch.closed;
  await page.evaluate(() => window.dispatchEvent(new Event('online')));
  (await site.asked('GET', '/watch')).send([{ status: 'done', version: 7, pending: [] }], false);
  (await site.asked('GET', '/stream')).send(wentOn([decided(card())], 'Paid meanwhile.'));
  await page.getByText('Paid meanwhile.').waitFor();
});

test('a change reported during a stream is fetched after it if the stream does not include it', async () => {
  const { first, watch, asked } = await approvedWhileWatched();
  watch.send([{ status: 'waiting', version: 7, pending: ['run:2'] }], false);
  await nothingMore();
  asked.send(wentOn([decided(first)], 'Paid.'));
  (await site.asked('GET', '/stream')).send(paused([decided(first), card({ id: 'run:2' })]));
  await button('Approve').waitFor();
  await settled();
});

test('a forbidden watch is not retried', async () => {
  const passing = await withClock();
  await chat([card()], { watch: true });
  (await site.asked('GET', '/watch')).fail(403, 'no');
  await passing(120_000);
  expect(site.untaken()).toBe(0);
});

test('a replay of the message keeps an open form and its focus', async () => {
  const first = card();
  await chat([first], { watch: true });
  const watch = await site.asked('GET', '/watch');
  watch.send([{ status: 'waiting', version: 3, pending: ['run:1'] }], false);
  await button('Reject').click();
  await page.keyboard.type('not');
  watch.send([{ status: 'waiting', version: 4, pending: ['run:1'] }], false);
  const replay = await site.asked('GET', '/stream');
  const text = [
    { type: 'text-start', id: 't' },
    { type: 'text-delta', id: 't', delta: 'Let me see.' },
    { type: 'text-end', id: 't' },
  ];
  replay.send([...paused([first]).slice(0, 2), ...text], false);
  await page.getByText('Let me see.').waitFor();
  await page.keyboard.type(' now');
  replay.send(paused([first]).slice(2));
  await settled();
  await page.keyboard.type('.');
  expect(await page.getByLabel('Reason (optional)').inputValue()).toBe('not now.');
});

test('the focus moves to the next card, and after the last to the element that the app names', async () => {
  const all = [card({ id: 'a', tool: 'first' }), card({ id: 'b', tool: 'second' })];
  await chat(all);
  await cards().nth(0).getByRole('button', { name: 'Approve' }).focus();
  await page.keyboard.press('Enter');
  (await site.asked()).send([
    { type: 'start', messageId: 'assistant-1' },
    cardChunk(decided(all[0] as RequestCard)),
    { type: 'finish' },
  ]);
  await settled();
  await expect.poll(focused).toBe('Second');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Space');
  (await site.asked()).send(wentOn([decided(all[1] as RequestCard)], 'Done.'));
  await settled();
  await expect.poll(focused).toBe('Message');
});

test('a question is answered by its choices, or by another answer', async () => {
  const question = card({
    kind: 'question',
    tool: 'askQuestion',
    input: { question: 'How many guests?', choices: ['6', '12'], allowOther: true },
    payload: true,
    allows: ['respond', 'cancel'],
    answerSchema: { type: 'string' },
  });
  await chat([question]);
  expect(await cards().getByText('How many guests?').count()).toBe(1);
  await page.getByLabel('Another answer').fill('0');
  await button('Send this answer').click();
  const asked = await site.asked();
  expect(asked.body.decisions[0].decision).toEqual({ type: 'respond', output: '0' });
  asked.send(wentOn([decided(question)], 'Fine.'));
  await settled();
});

test('choices that do not match the answer schema are shown without buttons', async () => {
  await chat([
    card({
      kind: 'question',
      input: { choices: ['6', '12'] },
      allows: ['respond'],
      answerSchema: { type: 'object', properties: { guests: { type: 'integer' } }, required: ['guests'] },
    }),
  ]);
  expect(await page.getByRole('button', { name: '12' }).count()).toBe(0);
  expect(await page.locator('[data-countersign=input]').textContent()).toContain('12');
  expect(await page.getByLabel('guests').count()).toBe(1);
});

test.for([
  ['It did not happen, run it again', ['Tab', 'Enter'], { type: 'approve' }],
  ['It happened', ['receipt 7', 'Enter'], { type: 'respond', output: 'receipt 7' }],
  ['Skip it and tell the model', [], { type: 'cancel' }],
] as const)('a call in doubt: %s', async ([name, keys, decision]) => {
  const doubt = card({
    kind: 'doubt',
    allows: ['respond', 'approve', 'cancel'],
    answerSchema: { type: 'string' },
  });
  await chat([doubt]);
  await button(name).click();
  for (const key of keys) await (key === 'receipt 7' ? page.keyboard.type(key) : page.keyboard.press(key));
  const asked = await site.asked();
  expect(asked.body.decisions[0].decision).toEqual(decision);
  asked.send(wentOn([decided(doubt)], 'Fine.'));
  await settled();
});

test('a call in doubt says where to look, since when and by whose approval, and warns before it runs again', async () => {
  const doubt = {
    startedAt: Date.UTC(2026, 4, 4, 12),
    approvedBy: ['ann', 'ben'],
    idempotencyKey: 'call-7',
    howToCheck: 'https://bank.example/payments?key=call-7',
  };
  await chat([
    card({
      kind: 'doubt',
      allows: ['respond', 'approve', 'cancel'],
      title: 'Pay €950 to ACME',
      doubt,
      reversibility: 'irreversible',
    }),
  ]);
  const facts = page.locator('[data-countersign=doubt-fact]');
  expect(await facts.allTextContents()).toEqual([
    'Where to lookhttps://bank.example/payments?key=call-7',
    expect.stringMatching(/^Started.*2026/),
    'Approved byann, ben',
    'Idempotency keycall-7',
  ]);
  const link = page.getByRole('link', { name: 'https://bank.example/payments?key=call-7' });
  expect(await link.getAttribute('rel')).toBe('noreferrer noopener');
  await button('It did not happen, run it again').click();
  await page.getByText('If it did happen, it happens twice: Pay €950 to ACME (Cannot be undone)').waitFor();
  // The first thing that Enter would press.
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Back');
  await page.keyboard.press('Enter');
  await button('It happened').waitFor();
});

test('only a link alone can be opened, and only on the web', async () => {
  for (const howToCheck of ['See https://bank.example', 'javascript:alert(1)', 'https://bank.example/\u202e']) {
    await chat([card({ kind: 'doubt', allows: ['cancel'], doubt: { idempotencyKey: 'k', howToCheck } })]);
    await page.getByText('Where to look').waitFor();
    expect(await cards().getByRole('link').count()).toBe(0);
  }
});

test('each kind of request offers its own buttons', async () => {
  await chat([
    card({ id: 'a', kind: 'interrupt', allows: ['approve', 'edit', 'reject', 'respond', 'restart'] }),
    card({ id: 'b', kind: 'interrupt', allows: ['restart', 'cancel'] }),
    card({ id: 'c', kind: 'unavailable', allows: ['approve', 'edit', 'reject'] }),
  ]);
  const buttons = (index: number) => cards().nth(index).locator('[data-countersign=buttons] button').allTextContents();
  expect(await buttons(0)).toEqual(['Approve', 'Edit', 'Answer', 'Reject']);
  expect(await buttons(1)).toEqual(['Continue', 'Cancel']);
  expect(await buttons(2)).toEqual(['Try again', 'Edit', 'Reject']);
  await button('Continue').click();
  const asked = await site.asked();
  expect(asked.body.decisions[0].decision).toEqual({ type: 'restart' });
  asked.send([{ type: 'start', messageId: 'assistant-1' }, { type: 'finish' }]);
  await settled();
});

test('a user without permission sees the card without buttons', async () => {
  await chat([card({ mayDecide: false })]);
  await page.getByText('You can view this request but not decide it.').waitFor();
  expect(await cards().locator('[data-countersign=buttons]').count()).toBe(0);
});

test('risk, labels and a deadline with a countdown are shown', async () => {
  const passing = await withClock();
  await chat([card({ risk: 'high', labels: ['payments'], expiresAt: 1_000_000 + 90_000, onExpiry: 'reject' })]);
  expect(await page.getByText('High risk').count()).toBe(1);
  expect(await page.getByRole('list', { name: 'Labels' }).textContent()).toBe('payments');
  const deadline = page.locator('[data-countersign=deadline]');
  expect(await deadline.innerText()).toBe('Expires in 90 seconds, then auto-rejects');
  await passing(30_000);
  expect(await deadline.innerText()).toBe('Expires in 60 seconds, then auto-rejects');
  await passing(61_000);
  expect(await deadline.innerText()).toContain('Expired');
});

const plain = {
  id: 'assistant-1',
  role: 'assistant',
  parts: [
    { type: 'tool-pay', toolCallId: 'c', state: 'approval-requested', input: { amount: 5 }, approval: { id: 'a' } },
  ],
};

test('an approval request of a server without Countersign is shown as a card', async () => {
  await chat([], { messages: [plain] });
  await button('Approve').click();
  await expect.poll(() => cards().count()).toBe(0);
});

test('an unsupported action on such a server, such as an edit, runs nothing', async () => {
  await chat([], { messages: [plain] });
  await page.evaluate(() => window.actions.edit('a', { amount: 1 }));
  await page.getByRole('alert').getByText('This request can only be approved or rejected unchanged.').waitFor();
  expect(await cards().count()).toBe(1);
  await button('Approve').click();
  await expect.poll(() => cards().count()).toBe(0);
});

test('an edit without a value approves nothing', async () => {
  await chat([card()]);
  await page.evaluate(() => window.actions.edit('run:1', undefined));
  await page.getByRole('alert').getByText('The edit of the decision is undefined.').waitFor();
  await nothingMore();
  expect(await cards().count()).toBe(1);
});
