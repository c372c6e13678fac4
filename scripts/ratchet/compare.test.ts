// The ratchet of costs: what it lets pass.
import { expect, test } from 'vitest';
import { compare, updated } from './compare.mjs';

const recorded = { pause: { bytes: 1_000, statements: 4, cpu: 3 } };
const verdicts = (cost: object) => compare(recorded, { pause: cost }).map(({ what, verdict }) => `${what} ${verdict}`);

test('a number may rise by 3 % and fall by 10 %', () => {
  expect(verdicts({ bytes: 1_030, statements: 4, cpu: 3 })).toEqual(['bytes same', 'statements same', 'cpu same']);
  expect(verdicts({ bytes: 1_031, statements: 5, cpu: 3.7 })).toEqual([
    'bytes raised',
    'statements raised',
    'cpu same',
  ]);
  expect(verdicts({ bytes: 899, statements: 3, cpu: 2.2 })).toEqual([
    'bytes lowered',
    'statements lowered',
    'cpu lowered',
  ]);
});

test('a cost that is not recorded was zero', () => {
  expect(verdicts({ ...recorded.pause, hashes: 1 })).toContain('hashes raised');
  expect(verdicts({ bytes: 1_000, cpu: 3 })).toContain('statements lowered');
  expect(compare(recorded, { ...recorded, resume: { bytes: 1 } })).toContainEqual(
    expect.objectContaining({ name: 'resume', verdict: 'new' }),
  );
});

test('a program that was not measured is missing', () => {
  expect(compare(recorded, {}).map(({ verdict }) => verdict)).toEqual(['missing', 'missing', 'missing']);
});

test('writing lowers a number by little, and raises none that may stay', () => {
  const written = (bytes: number) => updated(recorded, { pause: { ...recorded.pause, bytes } }).pause?.bytes;
  expect([1_100, 1_020, 998, 990, 500].map(written)).toEqual([1_100, 1_000, 1_000, 990, 500]);
});
