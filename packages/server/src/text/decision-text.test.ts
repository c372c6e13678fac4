// Conflicts and assignees in words.
import { expect, test } from 'vitest';
import { conflictText, othersReview } from './decision-text.ts';

const at = new Date().setHours(13, 28);
const recorded = { decision: { type: 'reject' }, by: 'Bob', channel: 'inbox', note: null, at };

test.each([
  [recorded, 'Bob already rejected this at 1:28 PM. Your decision was not saved.'],
  [{ ...recorded, by: 'ann' }, 'You already rejected this at 1:28 PM. Your decision was not saved.'],
  [{ ...recorded, by: null, at: null }, 'Someone already rejected this. Your decision was not saved.'],
  [
    { ...recorded, decision: { type: 'approve', edit: {} } },
    'Bob already approved an edited version of this at 1:28 PM. Your decision was not saved.',
  ],
  [
    { ...recorded, by: 'deadline', channel: null },
    'This request expired and was rejected automatically. Your decision was not saved.',
  ],
])('%j is a conflict for ann: %s', (settlement, text) => {
  expect(conflictText(settlement, 'ann')).toBe(text);
});

test('only another person who reviews it now is shown', () => {
  const card = (person: string, until: number | null) => ({ assignee: { person, until }, status: 'pending' }) as never;
  expect(othersReview(card('ben', 10), 'ann', 5)).toBe('ben is reviewing this');
  expect(othersReview(card('ben', 10), 'ann', 11)).toBeUndefined();
  expect(othersReview(card('ann', 10), 'ann', 5)).toBeUndefined();
  expect(othersReview(card('ben', null), 'ann', 5)).toBeUndefined();
});
