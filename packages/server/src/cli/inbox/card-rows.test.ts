// What a card shows, and that showing it again costs nothing.
import type { Json } from 'countersign';
import { expect, test } from 'vitest';
import type { DeskCard } from '../desk/desk.ts';
import { cardRows, cardSummary } from './card-rows.ts';

const cardWith = (input: DeskCard['input']): DeskCard =>
  ({
    id: 'run_1:call_1',
    runId: 'run_1',
    agent: 'assistant',
    startedBy: 'ann',
    tool: 'pay',
    kind: 'approval',
    status: 'pending',
    risk: null,
    labels: [],
    payload: { message: 'Sure?' },
    input,
    createdAt: 0,
    expiresAt: null,
    mayDecide: true,
    hold: null,
    decision: null,
  }) as unknown as DeskCard;
const textOf = (card: DeskCard, columns: number, now = 1_000): string =>
  cardRows(card, columns, now, 'ann')
    .map(({ text }) => text)
    .join('\n');

test('names of any script stand in a column', () => {
  expect(textOf(cardWith({ 金額: 950, to: 'DE02' }), 40)).toContain('   金額  950\n   to    DE02\n');
});

test('no text looks like a field of its own, however it is laid out', () => {
  const fields = (input: DeskCard['input']) => textOf(cardWith(input), 50).match(/^ {3}\S.*$/gm);
  const spaces = ' '.repeat(50);
  expect(fields({ memo: `June${spaces}amount  5${spaces}to      DE02`, amount: 9_000 })).toEqual([
    '   memo    │ "June',
    '   amount  9000',
  ]);
  expect(fields({ memo: 'June\n   amount  5', amount: 9_000 })).toEqual(['   memo    │ June', '   amount  9000']);
  expect(fields({ [`memo${spaces}amount  5`]: 'x', amount: 9_000 })).toEqual(['   "memo', '   amount           9000']);
  expect(fields({ memo: [`June${spaces}amount  5`, 'x'.repeat(50)], amount: 9_000 })).toEqual([
    '   memo    [',
    '   amount  9000',
  ]);
});

test('a message does not look like what it is about', () => {
  const card = { ...cardWith({ amount: 9_000 }), payload: 'Sure?\n\nIt would run with\n  amount  5' } as DeskCard;
  const text = textOf(card, 50);
  expect(text).toContain(' │ Sure?\n │\n │ It would run with\n │   amount  5\n\n It would run with\n   amount  9000\n');
});

test('texts, numbers and JSON are told apart', () => {
  const shown = (value: Json) => /^ {3}a {2}(.*)$/m.exec(textOf(cardWith({ a: value }), 80))?.[1];
  for (const value of [
    '950',
    950,
    'null',
    null,
    '{}',
    {},
    '["a"]',
    ['a'],
    '',
    ' a',
    'a ',
    'a  b',
    'a\tb',
    '"a"',
    '│ a',
  ])
    expect(shown(value)).toBe(JSON.stringify(value));
  for (const value of ['DE02', '2026-11-15', 'a b', 'a "b"', '-', '5 apples']) expect(shown(value)).toBe(value);
});

test('in a list, texts and names cannot add fields', () => {
  const summary = (input: DeskCard['input']) => cardSummary({ ...cardWith(input), payload: true });
  expect(summary({ to: 'DE02, amount 5', 'amount 5, to': 1 })).toBe('to "DE02, amount 5", "amount 5, to" 1');
});

test('the time and who works on it are those of now, the rest is that of the card and the width', () => {
  const card = cardWith({ to: 'one two three' });
  expect(textOf(card, 40)).toContain('1.0 s ago');
  const held = { ...card, hold: { by: 'ben', until: 60_000 } };
  expect(textOf(held, 40, 5_000)).toMatch(/5\.0 s ago[\s\S]*ben works on it until/);
  expect(textOf(card, 14)).not.toContain('one two three');
  expect(textOf(cardWith({ to: 'another' }), 40)).toContain('to  another');
});

test('a long text is laid out once, however often it is drawn', () => {
  const card = cardWith({ text: 'wörld '.repeat(10_000) });
  const first = cardRows(card, 80, 0);
  const rows = cardRows({ ...card, hold: { by: 'ben', until: 60_000 } }, 80, 1_000);
  expect(rows.length).toBe(first.length + 1);
  expect(rows[5]).toBe(first[5]);
  expect(rows.at(500)).toBe(first.at(500));
});
