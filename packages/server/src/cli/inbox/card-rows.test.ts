// What a card shows, and that showing it again costs nothing.
import { expect, test } from 'vitest';
import type { DeskCard } from '../desk.ts';
import { cardRows } from './card-rows.ts';

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
    claim: null,
    decision: null,
  }) as unknown as DeskCard;
const textOf = (card: DeskCard, columns: number, now = 1_000): string =>
  cardRows(card, columns, now, 'ann')
    .map(({ text }) => text)
    .join('\n');

test('names of any script stand in a column', () => {
  expect(textOf(cardWith({ 金額: 950, to: 'DE02' }), 40)).toContain('   金額  950\n   to    DE02\n');
});

test('the time and who works on it are those of now, the rest is that of the card and the width', () => {
  const card = cardWith({ to: 'one two three' });
  expect(textOf(card, 40)).toContain('1.0 s ago');
  const claimed = { ...card, claim: { by: 'ben', until: 60_000 } };
  expect(textOf(claimed, 40, 5_000)).toMatch(/5\.0 s ago[\s\S]*ben works on it until/);
  expect(textOf(card, 14)).not.toContain('one two three');
  expect(textOf(cardWith({ to: 'another' }), 40)).toContain('to  another');
});

test('a long text is laid out once, however often it is drawn', () => {
  const card = cardWith({ text: 'wörld '.repeat(10_000) });
  const first = cardRows(card, 80, 0);
  const rows = cardRows({ ...card, claim: { by: 'ben', until: 60_000 } }, 80, 1_000);
  expect(rows.length).toBe(first.length + 1);
  expect(rows[5]).toBe(first[5]);
  expect(rows.at(500)).toBe(first.at(500));
});
