import { expect, test } from 'vitest';
import { clip, padded, widthOf, wrap } from './text-width.ts';

test('wide characters take two columns', () => {
  expect([widthOf('abc'), widthOf('你好'), widthOf('🔥'), widthOf('é'), widthOf('❤️')]).toEqual([3, 4, 2, 1, 2]);
});

test('a clipped text ends with “…”', () => {
  expect(clip('abcdef', 6)).toBe('abcdef');
  expect(clip('abcdef', 5)).toBe('abcd…');
  expect(clip('你好吗', 4)).toBe('你…');
  expect(widthOf(clip('x'.repeat(1_000_000), 10))).toBe(10);
  expect(clip('abc', 0)).toBe('');
});

test.each([
  ['between words', 'one two three', 7, ['one two', 'three']],
  ['inside a word that is wider than the line', 'abcdefgh ij', 3, ['abc', 'def', 'gh', 'ij']],
  ['with the indentation kept', '    one two', 8, ['    one', '    two']],
  ['at line ends', 'a\n\nb', 5, ['a', '', 'b']],
])('lines are broken %s', (_name, text, width, lines) => {
  expect(wrap(text, width)).toEqual(lines);
});

test('continuation lines can be indented further', () => {
  expect(wrap('  one two three\nfour', 8, 2)).toEqual(['  one', '    two', '    thre', '    e', 'four']);
});

test('no line exceeds the width', () => {
  for (let width = 4; width < 40; width++)
    for (const line of wrap('  A long text, 你好吗, with supercalifragilistic 🔥🔥🔥 words', width, 3))
      expect(widthOf(line)).toBeLessThanOrEqual(width);
});

test('padding counts columns, not characters', () => {
  expect(padded('漢字', 6)).toBe('漢字  ');
  expect(padded('e\u0301', 3)).toBe('e\u0301  ');
  expect(padded('long', 2)).toBe('long');
});
