// Sums and comparisons of decimals, case by case.
import { expect, test } from 'vitest';
import { compareDecimals, sumOf } from './decimal.ts';

test.for([
  [[], '0'],
  [[0.1, 0.2], '0.3'],
  [[1.5, 1.5], '3'],
  [[950, 49.99, 0.01], '1000'],
  [[-5.5, 2], '-3.5'],
  [[0.001, -0.0005], '0.0005'],
  [['19.90', '0.10'], '20'],
  [[1e21, 1], '1000000000000000000001'],
  [[1e-7, 2e-7], '0.0000003'],
  [Array.from({ length: 1_000 }, () => 0.1), '100'],
] as const)('the sum of %j is %s', ([values, sum]) => {
  expect(sumOf(values)).toBe(sum);
});

test.for([
  [1, 2, -1],
  ['2.50', 2.5, 0],
  [1e21, 5, 1],
  [-1, -2, 1],
] as const)('%s beside %s compares as %d', ([one, other, expected]) => {
  expect(compareDecimals(one, other)).toBe(expected);
});
