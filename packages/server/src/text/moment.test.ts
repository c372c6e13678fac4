import { expect, test } from 'vitest';
import { durationText, roughDuration } from './moment.ts';

test.each([
  [-5, '0 ms', 'now'],
  [999, '999 ms', 'now'],
  [1_000, '1.0 s', '1 s'],
  [59_949, '59.9 s', '59 s'],
  [59_999, '1 min', '1 min'],
  [3_599_999, '1 h', '1 h'],
  [3_600_000, '1 h', '1 h'],
  [90 * 60_000, '1 h 30 min', '1 h'],
  [50 * 3_600_000, '2 d 2 h', '2 d'],
])('%d ms is %s', (ms, text, rough) => {
  expect(durationText(ms)).toBe(text);
  expect(roughDuration(ms)).toBe(rough);
});
