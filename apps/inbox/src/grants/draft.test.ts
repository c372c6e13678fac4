// The draft of a grant: the fields have the labels that the card shows.
import { expect, test } from 'vitest';
import { draftOf, draftText, limitsOf } from './draft.ts';

const schema = {
  type: 'object',
  properties: { to: { type: 'string', title: 'Payee' }, amount: { type: 'number', title: 'Amount' } },
};

test('fields are labelled by their schema, and limits name the fields', () => {
  const draft = draftOf({ to: 'ACME', amount: 950, note: 'x' }, 'clerk', schema);
  expect(draftText(draft)).toBe('Payee: ACME, Amount: at most 950, note: x; 5 calls, Amount 4750 in all, for 1 day');
  expect(limitsOf(draft)).toMatchObject({
    where: [{ field: 'to' }, { field: 'amount' }, { field: 'note' }],
    budget: { field: 'amount' },
  });
});

test.each([null, 'text', 5, [1]])('an input without fields has none to limit: %j', (input) => {
  expect(draftOf(input, 'clerk', schema).fields).toEqual([]);
});
