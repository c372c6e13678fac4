// <countersign-card> on a plain page: the card of React with its rules, inside a shadow root, as npm publishes it.
import axe from 'axe-core';
import type { RequestCard } from 'countersign/ui';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { card, decided } from './card.ts';
import { elementsFiles, showCards } from './elements-site.ts';
import { openSite, type Site } from './site.ts';

vi.setConfig({ testTimeout: 120_000 });

let site: Site;
let page: Page;

beforeAll(async () => {
  site = await openSite({ files: await elementsFiles() });
}, 120_000);
afterAll(() => site.close());
beforeEach(async () => {
  page = await site.open();
  return async () => {
    expect(await page.evaluate(() => window.violations)).toEqual([]);
    await page.context().close();
  };
});

const button = (name: string) => page.getByRole('button', { name, exact: true });
const decisions = () => page.evaluate(() => window.decisions);

test('a card is approved with the keyboard alone, with the digest that was shown', async () => {
  await showCards(page, [card()]);
  for (const name of ['JSON', 'Approve']) {
    await page.keyboard.press('Tab');
    await expectFocus(name);
  }
  await page.keyboard.press('Enter');
  await page.getByText('Approved by ann').waitFor();
  expect(await decisions()).toEqual([{ requestId: 'run:1', digest: 'digest of run:1', decision: { type: 'approve' } }]);
  expect(await button('Approve').count()).toBe(0);
});

test('an edit is made with the keyboard alone, and Escape closes the form and keeps what was typed', async () => {
  await showCards(page, [card()]);
  for (const _ of ['JSON', 'Approve', 'Edit']) await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.type('0');
  await page.keyboard.press('Escape');
  await button('Edit').click();
  expect(await page.getByLabel('amount').inputValue()).toBe('0');
  await page.getByLabel('amount').press('Enter');
  await page.getByText('Approved with changes by ann').waitFor();
  expect((await decisions())[0].decision).toEqual({ type: 'approve', edit: { toAccount: 'DE02', amount: 0 } });
});

test('a rejection takes its reason, and a question takes a falsy answer', async () => {
  await showCards(page, [
    card({ id: 'a' }),
    card({ id: 'b', kind: 'question', allows: ['respond'], answerSchema: { type: 'boolean' } }),
  ]);
  await button('Reject').click();
  await page.getByLabel('Reason (optional)').fill('Too much.');
  await page.keyboard.press('Enter');
  await button('No').click();
  await expect.poll(decisions).toMatchObject([
    { requestId: 'a', decision: { type: 'reject', reason: 'Too much.' } },
    { requestId: 'b', decision: { type: 'respond', output: false } },
  ]);
});

/** From now on decisions are answered by `release`. */
const hold = () =>
  page.evaluate(() => {
    const { answer } = window;
    window.answer = (...given) =>
      new Promise((resolve, reject) => {
        window.release = (problem) => {
          window.answer = answer;
          if (problem === undefined) resolve(answer?.(...given));
          else reject(new Error(problem));
        };
      });
  });
const release = (problem?: string) => page.evaluate((problem) => window.release(problem), problem);

test('a double click decides once, and a decision that failed can be made again', async () => {
  await showCards(page, [card()]);
  await hold();
  await button('Approve').dblclick();
  await page.getByText('Sending…').waitFor();
  await release('The line is dead.');
  await page.getByRole('alert').getByText('The line is dead.').waitFor();
  expect(await decisions()).toHaveLength(1);
  await button('Approve').click();
  await page.getByText('Approved by ann').waitFor();
});

test('a decision that nothing sends is not shown as made', async () => {
  await showCards(page, [card()]);
  await page.evaluate(() => {
    window.answer = undefined;
  });
  await button('Approve').click();
  await page.getByRole('alert').getByText('Nothing sends this decision.').waitFor();
  expect(await button('Approve').count()).toBe(1);
});

test('an answer that comes after the page has shown another request changes nothing there', async () => {
  await showCards(page, [card({ id: 'a' })]);
  await hold();
  await button('Approve').click();
  await page
    .locator('countersign-card')
    .evaluate(
      (element, request) => Object.assign(element, { request }),
      card({ id: 'b', title: 'Another one' }) as object,
    );
  await page.getByRole('heading', { name: 'Another one' }).waitFor();
  await release();
  await expect.poll(() => button('Approve').getAttribute('aria-disabled')).toBe('false');
  expect(await page.getByText('Approved by ann').count()).toBe(0);
});

test('problems of an answer stand at their field', async () => {
  await showCards(page, [card()]);
  await page.evaluate(() => {
    window.answer = async (_, card) => ({ ...card, problems: [{ path: ['amount'], message: 'At most 500.' }] });
  });
  await button('Edit').click();
  await page.getByLabel('amount').fill('700');
  await button('Approve with these changes').click();
  await page.locator('[data-countersign=problem]').getByText('At most 500.').waitFor();
  expect(await page.getByLabel('amount').getAttribute('aria-invalid')).toBe('true');
});

test('text of a model stays text, and its invisible characters are shown', async () => {
  const markup = '<img src=x onerror="window.hacked = 1">\u202E<a href="https://evil.example">pay</a>';
  await showCards(page, [card({ tool: markup, title: markup, input: { [markup]: markup }, payload: markup })]);
  expect(await page.locator('countersign-card').locator('img, a, script').count()).toBe(0);
  expect(await page.evaluate(() => 'hacked' in window)).toBe(false);
  expect(await page.locator('countersign-card').getByText('⟦U+202E⟧').count()).toBeGreaterThan(3);
});

test('a property that was set before the element was defined counts', async () => {
  await page.evaluate((request) => {
    const place = document.getElementById('place') as HTMLElement;
    place.append(Object.assign(document.createElement('countersign-card'), { request, words: { approve: 'Ja' } }));
  }, card() as object);
  await page.evaluate(() => window.load());
  await button('Ja').click();
  await page.getByText('Approved by ann').waitFor();
});

test('an element that is moved keeps what was typed, and one that is removed can come back', async () => {
  await showCards(page, [card({ id: 'a' }), card({ id: 'b' })]);
  const first = page.locator('countersign-card').first();
  await first.getByRole('button', { name: 'Edit' }).click();
  await first.getByLabel('amount').fill('7');
  await page.evaluate(() => {
    const place = document.getElementById('place') as HTMLElement;
    place.append(place.firstElementChild as Element);
  });
  expect(await page.locator('countersign-card').last().getByLabel('amount').inputValue()).toBe('7');
  await page.evaluate(async () => {
    const last = document.getElementById('place')?.lastElementChild as HTMLElement;
    last.remove();
    await new Promise<void>((resolve) => queueMicrotask(resolve));
    document.getElementById('place')?.append(last);
  });
  await page.locator('countersign-card').last().getByRole('button', { name: 'Approve' }).click();
  await page.getByText('Approved by ann').waitFor();
  expect(await decisions()).toMatchObject([{ requestId: 'a' }]);
});

test('each of many cards decides its own request', async () => {
  const ids = Array.from({ length: 40 }, (_, index) => `run:${index}`);
  await showCards(
    page,
    ids.map((id) => card({ id })),
  );
  for (const index of [39, 0, 17])
    await page.locator('countersign-card').nth(index).getByRole('button', { name: 'Approve' }).click();
  await expect.poll(decisions).toMatchObject(['run:39', 'run:0', 'run:17'].map((requestId) => ({ requestId })));
  expect(await page.getByText('Approved by ann').count()).toBe(3);
});

test('variables, texts, language and theme come from the page', async () => {
  await page.emulateMedia({ colorScheme: 'light' });
  await showCards(page, [card({ input: { due: '2026-11-20' } }), decided(card({ id: 'b' }))], {
    locale: 'de',
    compact: '',
  });
  const background = (name: string) => button(name).evaluate((element) => getComputedStyle(element).backgroundColor);
  const surface = () => page.getByRole('article').evaluate((element) => getComputedStyle(element).backgroundColor);
  expect(await background('Approve')).toBe('rgb(15, 95, 88)');
  await page.evaluate(() => document.documentElement.style.setProperty('--cs-accent', 'rgb(1, 2, 3)'));
  await expect.poll(() => background('Approve')).toBe('rgb(1, 2, 3)');
  expect(await surface()).toBe('rgb(255, 255, 255)');
  await page
    .locator('countersign-card')
    .first()
    .evaluate((element) => element.setAttribute('theme', 'dark'));
  expect(await surface()).toBe('rgb(19, 19, 21)');
  await page.getByText('Freitag, 20. November 2026').waitFor();
  await page
    .locator('countersign-card')
    .first()
    .evaluate((element) => {
      Object.assign(element, { locale: 'not a language', words: { approve: 'Genehmigen' } });
    });
  await button('Genehmigen').waitFor();
  // A decided request that is compact is one line.
  expect(await page.locator('countersign-card').last().locator('details').getAttribute('open')).toBe(null);
});

test.for([
  ['light', 1280],
  ['dark', 1280],
  ['light', 390],
  ['dark', 390],
] as const)('axe finds no violations in %s at a width of %s', async ([colorScheme, width]) => {
  await page.setViewportSize({ width, height: 900 });
  await page.emulateMedia({ colorScheme });
  const pending = { risk: 'high', labels: ['payments'], expiresAt: 4_000_000_000_000, onExpiry: 'reject' } as const;
  const shown: RequestCard[] = [
    card({ id: 'a', ...pending }),
    card({
      id: 'b',
      kind: 'question',
      allows: ['respond', 'reject'],
      input: { question: 'Which day?', choices: ['Monday', 'Friday'], allowOther: true },
      answerSchema: { type: 'string' },
    }),
    card({ id: 'c', kind: 'doubt', allows: ['respond', 'approve', 'reject'] }),
    decided(card({ id: 'd' })),
  ];
  await showCards(page, shown, { 'heading-level': '2' });
  await page.evaluate(axe.source);
  for (const name of [undefined, 'Edit', 'Back', 'Reject']) {
    if (name) await button(name).first().click();
    expect(await violations()).toEqual([]);
    const { SCREENSHOTS } = process.env;
    if (SCREENSHOTS)
      await page.screenshot({
        path: `${SCREENSHOTS}/card-${colorScheme}-${width}-${name ?? 'start'}.png`,
        fullPage: true,
      });
  }
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
});

test('a server can import the file: it defines nothing there', async () => {
  const content = (await elementsFiles()).get('/elements.js')?.content as string;
  const module = await import(
    /* @vite-ignore */ `data:text/javascript;base64,${Buffer.from(content).toString('base64')}`
  );
  expect(Object.keys(module).sort()).toEqual(['CountersignCard', 'CountersignRequests', 'DecideEvent', 'chatOf']);
});

async function expectFocus(name: string): Promise<void> {
  const focused = await page.evaluate(() => document.activeElement?.shadowRoot?.activeElement?.textContent);
  expect(focused).toBe(name);
}

function violations(): Promise<unknown> {
  return page.evaluate(async () => {
    const { axe } = window as unknown as {
      axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
    };
    return (await axe.run()).violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)]);
  });
}
