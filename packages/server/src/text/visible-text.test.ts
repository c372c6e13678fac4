import { expect, test } from 'vitest';
import { visibleJson, visibleLine, visibleText } from './visible-text.ts';

test.each([
  ['an escape sequence', '\u001b[31mred\u001b[0m', '<U+001B>[31mred<U+001B>[0m'],
  ['a C1 control', 'a\u009b2Jb', 'a<U+009B>2Jb'],
  ['a bell and a backspace', 'pay 10\u0008\u00081000\u0007', 'pay 10<U+0008><U+0008>1000<U+0007>'],
  ['a carriage return that would write over the line', 'pay 1\rpay 9', 'pay 1<U+000D>pay 9'],
  ['text that is turned around', 'a\u202egnp.exe', 'a<U+202E>gnp.exe'],
  ['an isolate', '\u2066x\u2069', '<U+2066>x<U+2069>'],
  ['zero width', 'pay\u200bpal\u200d\ufeff', 'pay<U+200B>pal<U+200D><U+FEFF>'],
  ['tags', 'a\u{e0061}\u{e007f}', 'a<U+E0061><U+E007F>'],
  ['a soft hyphen and fillers', '\u00ad\u115f\u3164\uffa0\u2800', '<U+00AD><U+115F><U+3164><U+FFA0><U+2800>'],
  ['a lone surrogate', 'a\ud800b', 'a<U+D800>b'],
  ['private use and non-characters', '\ue000\uffff', '<U+E000><U+FFFF>'],
  ['separators of lines', 'a\u2028b\u2029c', 'a<U+2028>b<U+2029>c'],
])('%s is shown as its code', (_name, text, shown) => {
  expect(visibleText(text)).toBe(shown);
});

test('ordinary text in any script is unchanged', () => {
  for (const text of ['Grüße, Ω, привет, 你好, नमस्ते, שלום, مرحبا', 'naïve café', '❤️ 🔥 👍', 'x\u0301'])
    expect(visibleText(text)).toBe(text);
});

test('stacked marks do not draw over other lines', () => {
  expect(visibleText(`a${'\u0301'.repeat(6)}`)).toBe(`a${'\u0301'.repeat(4)}<U+0301><U+0301>`);
});

test('JSON keeps its value, with nothing hidden', () => {
  const value = { 'a\u202e': 'b\u009b2J\u200b\u{e0041}\u007f', c: `x${'\u0301'.repeat(9)}`, d: 'Grüße 👍\ud800' };
  const shown = visibleJson(JSON.stringify(value, null, 2));
  expect(JSON.parse(shown)).toEqual(value);
  expect(shown).toContain('"a\\u202e": "b\\u009b2J\\u200b\\udb40\\udc41\\u007f"');
  expect(shown).toContain('Grüße 👍');
});

test('line breaks are kept in texts and shown in lines', () => {
  expect(visibleText('a\r\nb\n\tc')).toBe('a\nb\n  c');
  expect(visibleLine('a\nb')).toBe('a⏎b');
});
