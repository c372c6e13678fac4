import { expect, test } from 'vitest';
import { monotoneClock } from './clock.ts';

test('a clock that trembles does not go back; one that was set back is followed', () => {
  const told = [5_000, 4_990, 5_000.7, 4_001, 1_000, 1_500];
  const clock = monotoneClock(() => told.shift() ?? 0);
  expect([clock(), clock(), clock(), clock(), clock(), clock()]).toEqual([5_000, 5_000, 5_000, 5_000, 1_000, 1_500]);
});
