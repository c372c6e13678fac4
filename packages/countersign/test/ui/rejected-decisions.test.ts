// A table of the decisions that each kind of card does not accept.
import { misfitOf } from 'countersign/ui';
import { expect, test } from 'vitest';
import { ALLOWS } from '../../src/ui/picture/cards.ts';

const DECISIONS = {
  approve: { type: 'approve' },
  edit: { type: 'approve', edit: {} },
  respond: { type: 'respond', output: null },
  restart: { type: 'restart' },
  'restart with another input': { type: 'restart', replaceInput: {} },
  reject: { type: 'reject' },
  cancel: { type: 'cancel' },
} as const;

test.each([
  ['approval', ['respond', 'restart', 'restart with another input']],
  ['unavailable', ['respond', 'restart', 'restart with another input']],
  ['question', ['approve', 'edit', 'restart', 'restart with another input']],
  ['interrupt', []],
  ['doubt', ['edit', 'restart', 'restart with another input']],
] as const)('%s', (kind, misfits) => {
  const card = { tool: 'pay', allows: ALLOWS[kind] };
  const found = Object.entries(DECISIONS).filter(([, decision]) => misfitOf(card, decision) !== undefined);
  expect(found.map(([name]) => name)).toEqual(misfits);
});

test('a decision given as a string, and one of an unknown type', () => {
  const card = { tool: 'pay', allows: ALLOWS.question };
  expect(misfitOf(card, 'cancel')).toBeUndefined();
  expect(misfitOf(card, 'approve')).toBe('pay accepts respond, reject, not approve.');
  expect(misfitOf(card, { type: 'explode' } as never)).toBe('pay accepts respond, reject, not explode.');
});
