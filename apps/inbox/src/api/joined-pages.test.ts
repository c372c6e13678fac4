// Pages joined into one list, case by case.
import { expect, test } from 'vitest';
import { extended, refreshed, without } from './joined-pages.ts';

const page = (ids: string, cursor: string | null) => ({ items: [...ids].map((id) => ({ id })), cursor });
const ids = ({ items }: { readonly items: readonly { readonly id: string }[] }) => items.map(({ id }) => id).join('');

test.for([
  ['nothing known yet', undefined, page('abc', 'x'), 'abc', 'x'],
  ['nothing has changed', page('abcdef', 'y'), page('abc', 'x'), 'abcdef', 'y'],
  ['a decided entry goes, and the page is filled up from behind', page('abcdef', 'y'), page('acd', 'x'), 'acdef', 'y'],
  ['new entries push others down, and those are kept', page('abcdef', 'y'), page('zab', 'x'), 'zabcdef', 'y'],
  ['everything fits on one page now', page('abcdef', 'y'), page('ab', null), 'ab', null],
  ['nothing is left', page('abcdef', 'y'), page('', null), '', null],
  ['the page shares no end with the list', page('abc', 'y'), page('uvw', 'x'), 'uvw', 'x'],
  ['the page has grown past what was known', page('abc', 'x'), page('bcd', 'w'), 'bcd', 'w'],
] as const)('%s', ([, known, first, expected, cursor]) => {
  const after = refreshed(known, first);
  expect(ids(after)).toBe(expected);
  expect(after.cursor).toBe(cursor);
});

test('a page more brings nothing twice', () => {
  const after = extended(page('abc', 'x'), page('cde', null));
  expect(ids(after)).toBe('abcde');
  expect(after.cursor).toBeNull();
});

test('an entry that is known to be gone goes from any page', () => {
  const known = page('abc', 'x');
  const after = without(known, 'c');
  expect(ids(after)).toBe('ab');
  expect(after.cursor).toBe('x');
  expect(without(known, 'z')).toBe(known);
});
