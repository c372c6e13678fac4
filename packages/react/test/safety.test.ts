// Hostile content stays text, everything works with keys alone, and axe finds nothing to complain of.
import axe from 'axe-core';
import type { InterruptCard } from 'countersign/ui';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { card, conversation, decided, wentOn } from './card.ts';
import type { Scene } from './page/main.tsx';
import { openSite, type Site, show } from './site.ts';

vi.setConfig({ testTimeout: 120_000 });

let site: Site;
let page: Page;

beforeAll(async () => {
  site = await openSite();
  page = await site.open();
  await page.evaluate(axe.source);
}, 60_000);
afterAll(() => site.close());
beforeEach(() => page.evaluate(() => window.hide()));

const chat = (cards: readonly InterruptCard[]): Scene => ({
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
      card({ id: 'c', kind: 'unknown-outcome', allows: ['respond', 'approve', 'reject'] }),
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
])('axe has nothing to say of %s', async ([, scene]) => {
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

test('markup and addresses from a model are text: nothing is loaded, run or linked', async () => {
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

test('characters that cannot be seen are shown, wherever a text stands', async () => {
  const text = 'pay\u202Eecilа\u200B';
  await show(
    page,
    chat([card({ tool: text, input: { [text]: text, deep: { text } }, payload: { message: text }, labels: [text] })]),
  );
  const shown = await root().textContent();
  expect(shown).not.toMatch(/[\u202E\u200B]/);
  expect(shown?.match(/⟦U\+202E⟧/g)?.length).toBeGreaterThanOrEqual(6);
});

test('a text with hidden characters says so where it is edited', async () => {
  await show(page, { is: 'form', props: { schema: { type: 'string' }, initial: 'a\u2066b' } });
  expect(await page.locator('[data-countersign=holds-hidden]').textContent()).toContain('a⟦U+2066⟧b');
});

test('text in any script, emoji included, stays as it is', async () => {
  const text = 'Zoë 山田　太郎 می‌خواهم क्‍ष שלום 👨‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿 ❤️ 1️⃣';
  await show(page, { is: 'text', text });
  expect(await root().textContent()).toBe(text);
});

test('a very long text and ten thousand entries are shown whole', async () => {
  const long = 'x'.repeat(1_000_000);
  await show(page, { is: 'value', value: [long, '"é'.repeat(1_000_000)] });
  expect((await root().textContent())?.length).toBeGreaterThan(4_000_000);
  await show(page, { is: 'value', value: { long } });
  expect((await root().textContent())?.length).toBe(1_000_004);
  const items = Array.from({ length: 10_000 }, (_, index) => ({ index, name: `<b>${index}</b>` }));
  await show(page, chat([card({ input: { items } })]));
  expect(await root().locator('pre').textContent()).toContain('<b>9999</b>');
  await page.getByRole('button', { name: 'Edit' }).click();
  await page.getByRole('button', { name: 'Approve with these changes' }).waitFor();
});

test('a text that looks like a number, or like nothing, is told apart from one', async () => {
  await show(page, { is: 'value', value: { a: '5', b: 5, c: '', d: 'null', e: null, f: ' x' } });
  expect(await root().locator('dd').allTextContents()).toEqual(['"5"', '5', '(empty text)', '"null"', 'null', '" x"']);
});

test('names that differ only in spaces are told apart', async () => {
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

test('in JSON a name stands before its value, in a script that is written from the right too', async () => {
  await show(page, { is: 'value', value: { transfer: { אבג: 'דהו' } } });
  expect(await root().textContent()).toBe(JSON.stringify({ transfer: { אבג: 'דהו' } }, null, 2));
  const [name, value] = [root().getByText('אבג'), root().getByText('דהו')];
  expect((await name.boundingBox())?.x).toBeLessThan((await value.boundingBox())?.x ?? 0);
});

test('a difference is told in words', async () => {
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

test('an edit is made and sent with keys alone', async () => {
  const first = card();
  await show(page, chat([first]));
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
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

test('back from a form, the buttons have the focus again', async () => {
  await show(page, chat([card()]));
  await page.getByRole('button', { name: 'Reject' }).click();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Approve');
});

test('how it is asked is shown once; what the payload says otherwise is shown too', async () => {
  const facts = { risk: 'high', labels: ['payments'], expiresAt: 4_000_000_000_000, onExpiry: 'reject' } as const;
  const asked = { message: 'Pay?', labels: ['payments'], expiresIn: 1000, onExpiry: 'reject' };
  await show(page, chat([card({ ...facts, payload: { ...asked, risk: 'high' } })]));
  await root().getByText('Risk: high').waitFor();
  expect(await root().locator('[data-countersign="payload"]').count()).toBe(0);
  await page.evaluate(() => window.hide());
  await show(page, chat([card({ ...facts, payload: { ...asked, risk: 'low', ticket: 7 } })]));
  expect(await root().locator('[data-countersign="payload"]').innerText()).toMatch(/^risk\s+low\s+ticket\s+7$/);
});

test('a message that is no text is shown with the rest of the payload', async () => {
  await show(page, chat([card({ payload: { message: { warning: 'deletes 4711 rows' }, more: 1 } })]));
  expect(await root().locator('[data-countersign="payload"]').innerText()).toContain('deletes 4711 rows');
});
