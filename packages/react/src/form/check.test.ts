import { expect, test } from 'vitest';
import { ENGLISH } from '../appearance.tsx';
import { numberIn } from './check.ts';
import { fieldOf } from './field.ts';

const field = fieldOf({ type: 'number' }) as Parameters<typeof numberIn>[1];

test.for(['9007199254740993', '9007199254740993.0', '12345678901234567.89', '0.12345678901234567890', '1e-400'])(
  '%s has more digits than can be kept',
  (text) => {
    expect(numberIn(text, field, ENGLISH)).toEqual({ problem: ENGLISH.tooManyDigits });
  },
);

test.for([
  ['1.50', 1.5],
  ['+007', 7],
  ['-0.0', -0],
  ['.1', 0.1],
  ['5.', 5],
  ['1200e-2', 12],
  ['1E21', 1e21],
  ['0.30000000000000004', 0.1 + 0.2],
  ['5e-324', 5e-324],
] as const)('%s is kept', ([text, number]) => {
  expect(numberIn(text, field, ENGLISH)).toEqual({ number });
});
