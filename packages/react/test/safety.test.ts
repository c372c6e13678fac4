// Hostile content stays text, everything works with the keyboard alone, and axe finds no violations.
import axe from 'axe-core';
import type { RequestCard } from 'countersign/ui';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { card, conversation, decided, wentOn } from './card.ts';
import type { Scene } from './page/main.tsx';
import { openSite, type Site, show } from './site.ts';

vi.setConfig({ testTimeout: 120_000 });

let site: Site;
let page: Page;

beforeAll(async () => {
  site = await openSite({ mode: 'production' });
  page = await site.open();
  await page.evaluate(axe.source);
}, 60_000);
afterAll(() => site.close());
beforeEach(() => page.evaluate(() => window.hide()));

const chat = (cards: readonly RequestCard[]): Scene => ({
  is: 'chat',
  version: 7,
  watch: false,
  messages: conversation(cards),
});
const root = () => page.locator('#root');

test.for<[string, Scene]>([
  [
    'cards of every kind',
    chat([
      card({ id: 'a', risk: 'high', labels: ['payments'], expiresAt: 4_000_000_000_000, onExpiry: 'reject' }),
      card({
        id: 'b',
        kind: 'question',
        allows: ['respond', 'cancel'],
        input: { choices: ['x', 'y'], allowOther: true },
        answerSchema: { type: 'string' },
      }),
      card({ id: 'c', kind: 'doubt', allows: ['respond', 'approve', 'reject'] }),
      card({ id: 'd', kind: 'interrupt', allows: ['restart', 'cancel'], input: { deep: [{ a: 1 }] } }),
      card({ id: 'e', mayDecide: false }),
      decided(card({ id: 'f' })),
    ]),
  ],
  [
    'a form with every kind of field and problems',
    {
      is: 'form',
      props: {
        schema: {
          type: 'object',
          description: 'All of it.',
          properties: {
            text: { type: 'string', description: 'A text.' },
            long: { type: 'string', maxLength: 1000 },
            number: { type: 'number' },
            flag: { type: 'boolean', description: 'Yes or no.' },
            size: { enum: ['s', 'm'] },
            many: { enum: ['1', '2', '3', '4', '5', '6', '7', '8'] },
            date: { type: 'string', format: 'date' },
            moment: { type: 'string', format: 'date-time' },
            either: { anyOf: [{ type: 'string' }, { type: 'null' }] },
            list: { type: 'array', items: { type: 'string' } },
            map: { type: 'object', additionalProperties: { type: 'number' } },
            anything: {},
          },
          required: ['text', 'number', 'flag', 'size', 'many', 'either', 'list', 'map', 'anything'],
        },
        problems: [
          { path: ['text'], message: 'Wrong.' },
          { path: ['flag'], message: 'Wrong.' },
          { path: ['size'], message: 'Wrong.' },
          { path: ['list'], message: 'Wrong.' },
          { path: ['either'], message: 'Wrong.' },
        ],
      },
    },
  ],
  ['a difference', { is: 'diff', before: { a: 1, b: [1, 2], d: null }, after: { a: 2, b: [1], c: '' } }],
])('axe finds no violations in %s', async ([, scene]) => {
  await show(page, scene);
  for (const name of ['Edit', 'Reject', 'Add entry']) {
    const button = page.getByRole('button', { name, exact: true }).first();
    if ((await button.count()) > 0) await button.click();
    expect(await violations()).toEqual([]);
  }
});

async function violations(): Promise<unknown> {
  return page.evaluate(async () => {
    const { axe } = window as unknown as {
      axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
    };
    return (await axe.run()).violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)]);
  });
}

const MARKUP =
  '<img src=x onerror="window.hacked = 1"><a href="https://evil.example">click</a> https://evil.example/pay';

test('markup and addresses from a model are shown as text: nothing is loaded, run or linked', async () => {
  const evil = { [MARKUP]: MARKUP };
  await show(
    page,
    chat([
      card({
        id: 'a',
        tool: MARKUP,
        input: evil,
        payload: { message: MARKUP, more: MARKUP },
        labels: [MARKUP],
        problems: [{ path: [MARKUP], message: MARKUP }],
      }),
      card({
        id: 'b',
        kind: 'question',
        allows: ['respond'],
        input: { question: MARKUP, choices: [MARKUP] },
        answerSchema: { type: 'string' },
      }),
      {
        ...decided(card({ id: 'c' })),
        decision: { type: 'reject', by: MARKUP, at: null, channel: null, note: MARKUP, reason: MARKUP, edit: evil },
      },
    ]),
  );
  await page.getByRole('button', { name: 'Edit' }).first().click();
  expect(await root().locator('img, a, script, iframe').count()).toBe(0);
  expect(await page.evaluate(() => 'hacked' in window)).toBe(false);
  expect(await root().getByText('https://evil.example/pay').count()).toBeGreaterThan(8);
});

test('invisible characters are shown wherever text appears', async () => {
  const text = 'pay\u202Eecilа\u200B';
  await show(
    page,
    chat([card({ tool: text, input: { [text]: text, deep: { text } }, payload: { message: text }, labels: [text] })]),
  );
  const shown = await root().textContent();
  expect(shown).not.toMatch(/[\u202E\u200B]/);
  expect(shown?.match(/⟦U\+202E⟧/g)?.length).toBeGreaterThanOrEqual(6);
});

test('a text with hidden characters says so while it is edited', async () => {
  await show(page, { is: 'form', props: { schema: { type: 'string' }, initial: 'a\u2066b' } });
  expect(await page.locator('[data-countersign=holds-hidden]').textContent()).toContain('a⟦U+2066⟧b');
});

test('text in any script, emoji included, is shown unchanged', async () => {
  const text = 'Zoë 山田　太郎 می‌خواهم क्‍ष שלום 👨‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿 ❤️ 1️⃣';
  await show(page, { is: 'text', text });
  expect(await root().textContent()).toBe(text);
});

/** Presses every show-more button until none is left. Returns the number of presses. */
const showAll = (): Promise<number> =>
  page.evaluate(async () => {
    for (let times = 0; ; times += 1) {
      const more = document.querySelector<HTMLElement>('[data-countersign="show-more"]');
      if (!more) return times;
      more.click();
      await new Promise((resolve) => setTimeout(resolve));
    }
  });

test.for<[string, RequestCard['input']]>([
  ['plain text', { text: 'word '.repeat(60_000) }],
  ['a right-to-left text', { text: 'שלום '.repeat(40_000) }],
  ['a text with hidden characters', { text: 'a\u200B'.repeat(20_000) }],
  ['emoji joined to nothing', { text: '👩\u200D'.repeat(12_000) }],
  ['thousands of right-to-left texts', { list: Array.from({ length: 3_000 }, (_, index) => ({ index, t: 'שלום' })) }],
  ['thousands of names', Object.fromEntries(Array.from({ length: 3_000 }, (_, index) => [`é${index}`, index]))],
  ['a very long name', { ['a\u200B'.repeat(20_000)]: 1 }],
])('a card with %s shows the first part, says how much is left, and shows it on request', async ([, input]) => {
  await show(page, chat([card({ input })]));
  const warning = page.locator('[data-countersign="not-all-shown"]');
  const rest = page.locator('[data-countersign="rest"]');
  const left = (await rest.textContent())?.match(/^([\d,]+) more characters are not shown yet\./)?.[1];
  expect(await warning.textContent()).toBe(`Not everything is visible yet: ${left} characters are behind “Show more”.`);
  // The warning stands before the buttons, and the first part is short.
  const approve = page.getByRole('button', { name: 'Approve' });
  expect(
    await warning.evaluate(
      (warning, button) => warning.compareDocumentPosition(button as Node),
      await approve.elementHandle(),
    ),
  ).toBe(4);
  expect(await page.evaluate(() => document.querySelectorAll('*').length)).toBeLessThan(25_000);
  // One block with very many texts would take a browser quadratic time.
  expect(await mostBeside()).toBeLessThan(500);

  expect(await showAll()).toBeGreaterThan(0);
  expect(await mostBeside()).toBeLessThan(500);
  expect(await warning.count()).toBe(0);
  expect(await root().locator('[data-countersign="input"]').textContent()).toContain(shownWhole(input));
});

/** Returns the largest number of inline elements in one block. */
const mostBeside = (): Promise<number> =>
  page.evaluate(() =>
    Math.max(
      ...[...document.querySelectorAll('#root *')].map(
        ({ children }) => [...children].filter((child) => getComputedStyle(child).display === 'inline').length,
      ),
    ),
  );

const shownWhole = (input: unknown): string => {
  const { text, list } = input as { readonly text?: string; readonly list?: unknown };
  return (text ?? JSON.stringify(list ?? input, null, 2))
    .trimEnd()
    .replaceAll('\u200B', '⟦U+200B⟧')
    .replaceAll('\u200D', '⟦U+200D⟧');
};

test('the first of thousands of changes are listed, with the number of the rest', async () => {
  const before = Array.from({ length: 350 }, (_, index) => index);
  await show(page, { is: 'diff', before, after: before.map((number) => -number - 1) });
  expect(await root().getByRole('listitem').count()).toBe(101);
  expect(await root().getByRole('listitem').last().textContent()).toContain('250 more changes are not shown yet.');
  expect(await showAll()).toBe(3);
  expect(await root().getByRole('listitem').count()).toBe(350);
});

test('a million characters can be edited', async () => {
  const text = 'x'.repeat(1_000_000);
  await show(page, chat([card({ input: { text }, inputSchema: {} })]));
  await page.getByRole('button', { name: 'Edit' }).click();
  expect(await page.getByRole('textbox', { name: 'Input (As JSON)' }).inputValue()).toBe(
    JSON.stringify({ text }, null, 2),
  );
  await page.getByRole('button', { name: 'Approve with these changes' }).waitFor();
});

test('a string that looks like a number, null or nothing is distinguished from one', async () => {
  await show(page, { is: 'value', value: { a: '5', b: 5, c: '', d: 'null', e: null, f: ' x' } });
  expect(await root().locator('dd').allTextContents()).toEqual(['"5"', '5', '(empty text)', '"null"', 'null', '" x"']);
});

test('a file reads as its lines, and a line break after a single line is shown', async () => {
  await show(page, { is: 'value', value: { a: 'x = "1"\ny\n', b: 'ACME\n', c: 'x\ny\n\n', d: ' x\ny\n' } });
  const quoted = ['"ACME\\n"', '"x\\ny\\n\\n"', '" x\\ny\\n"'];
  expect(await root().locator('dd').allTextContents()).toEqual(['x = "1"\ny\n', ...quoted]);
});

test('money, dates, lists and long numbers are readable, and every value stands there exactly', async () => {
  const value = { amount: 1234567, currency: 'EUR', due: '2026-11-20', to: ['ann', 'bob'], deep: { sql: 'select 1' } };
  await show(page, { is: 'value', value });
  const values = root().locator('[data-countersign=value]');
  expect(await values.allTextContents()).toEqual(['1234567', 'EUR', '2026-11-20', 'ann', 'bob', 'select 1']);
  expect(await root().locator('[data-countersign=reading-aid]').allTextContents()).toEqual([
    '€1,234,567.00',
    expect.stringMatching(/^Friday,? 20 November 2026$/),
  ]);
});

test('names that differ only in spaces are distinguished', async () => {
  const names = ['to', 'to ', 'pay to', 'pay  to', 'pay\nto', '', ' ', '"to "'];
  await show(page, { is: 'value', value: Object.fromEntries(names.map((name) => [name, 'A'])) });
  expect(await root().locator('dt').allInnerTexts()).toEqual([
    'to',
    '"to "',
    'pay to',
    '"pay  to"',
    '"pay\\nto"',
    '""',
    '" "',
    '"\\"to \\""',
  ]);
});

test('in JSON a name stands before its value, even in a right-to-left script', async () => {
  await show(page, { is: 'value', value: { transfer: { אבג: 'דהו' } }, asJson: true });
  expect(await root().textContent()).toBe(JSON.stringify({ transfer: { אבג: 'דהו' } }, null, 2));
  const [name, value] = [root().getByText('אבג'), root().getByText('דהו')];
  expect((await name.boundingBox())?.x).toBeLessThan((await value.boundingBox())?.x ?? 0);
});

test('a difference is described in words', async () => {
  await show(page, {
    is: 'diff',
    before: { amount: 950, tags: ['a', 'b'], old: false },
    after: { amount: 0, tags: ['b'], new: '' },
  });
  expect(await root().getByRole('listitem').allTextContents()).toEqual([
    'amount changed from 950 to 0',
    'tags[0] removed: a',
    'old removed: false',
    'new added: (empty text)',
  ]);
});

test('an edit can be made and sent with the keyboard alone', async () => {
  const first = card();
  await show(page, chat([first]));
  for (const _ of ['JSON', 'Approve', 'Edit']) await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.type('12');
  await page.keyboard.press('Enter');
  const asked = await site.asked();
  expect(asked.body.decisions[0].decision).toEqual({ type: 'approve', edit: { toAccount: 'DE02', amount: 12 } });
  asked.send(wentOn([decided(first)], 'Paid.'));
  await page.getByText('Paid.').waitFor();
});

test('the buttons get the focus back after a form is closed', async () => {
  await show(page, chat([card()]));
  await page.getByRole('button', { name: 'Reject' }).click();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Approve');
});

test('approval details are shown once, and different ones in the payload are shown too', async () => {
  const facts = { risk: 'high', labels: ['payments'], expiresAt: 4_000_000_000_000, onExpiry: 'reject' } as const;
  const asked = { message: 'Pay?', labels: ['payments'], expiresIn: 1000, onExpiry: 'reject' };
  await show(page, chat([card({ ...facts, payload: { ...asked, risk: 'high' } })]));
  await root().getByText('High risk').waitFor();
  expect(await root().locator('[data-countersign="payload"]').count()).toBe(0);
  await page.evaluate(() => window.hide());
  await show(page, chat([card({ ...facts, payload: { ...asked, risk: 'low', ticket: 7 } })]));
  expect(await root().locator('[data-countersign="payload"]').innerText()).toMatch(/^risk\s+low\s+ticket\s+7$/);
});

test('a message that is not a string is shown with the rest of the payload', async () => {
  await show(page, chat([card({ payload: { message: { warning: 'deletes 4711 rows' }, more: 1 } })]));
  expect(await root().locator('[data-countersign="payload"]').innerText()).toContain('deletes 4711 rows');
});
