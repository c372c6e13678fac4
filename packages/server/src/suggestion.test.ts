import { expect, test } from 'vitest';
import { nearest } from './suggestion.ts';

test.each([
  ['inbx', 'inbox'],
  ['runns', 'runs'],
  ['decied', 'decide'],
  ['doc', 'doctor'],
  ['SERVE', undefined],
  ['banana', undefined],
  ['', undefined],
])('%s suggests %s', (given, meant) => {
  expect(nearest(given, ['inbox', 'runs', 'decide', 'doctor', 'serve'])).toBe(meant);
});
