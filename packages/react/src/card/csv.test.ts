import { expect, test } from 'vitest';
import { rowsOfCsv } from './csv.ts';

const rowsOf = (text: string) => rowsOfCsv(btoa(text));

test.each<[string, readonly (readonly string[])[] | undefined]>([
  [
    'a,b\n1,2',
    [
      ['a', 'b'],
      ['1', '2'],
    ],
  ],
  [
    'a,b\r\n1,2\r\n',
    [
      ['a', 'b'],
      ['1', '2'],
    ],
  ],
  [
    'a,b\n"x, ""y""\n",',
    [
      ['a', 'b'],
      ['x, "y"\n', ''],
    ],
  ],
  [
    'a,b\n,',
    [
      ['a', 'b'],
      ['', ''],
    ],
  ],
  ['a,b\n1', undefined],
  ['a\n1', undefined],
  ['a,b', undefined],
  ['', undefined],
  ['a,b\n"x,2', undefined],
  [`a,b\n${'1,2\n'.repeat(101)}`, undefined],
])('%j', (text, rows) => expect(rowsOf(text)).toEqual(rows));

test('what is not base64, or not UTF-8, is no table', () => {
  expect(rowsOfCsv('%')).toBeUndefined();
  expect(rowsOfCsv(btoa('a,b\n\xff,1'))).toBeUndefined();
});
