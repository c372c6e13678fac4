import { expect, test } from 'vitest';
import { escapeOf, stretchesOf } from './visible.ts';

const shown = (text: string): string =>
  stretchesOf(text)
    .map((stretch) => (stretch.is === 'text' ? stretch.text : escapeOf(stretch.codePoints)))
    .join('');

test.for([
  ['a bidirectional override', 'a\u202Eb', 'a⟦U+202E⟧b'],
  ['isolates and marks', '\u2066a\u2069\u200F\u061C', '⟦U+2066⟧a⟦U+2069 U+200F U+061C⟧'],
  ['a zero-width space', 'a\u200Bb', 'a⟦U+200B⟧b'],
  ['many of the same', `a${'\u200B'.repeat(300)}b`, 'a⟦U+200B ×300⟧b'],
  ['a joiner between Latin letters', 'a\u200Db\u200Cc', 'a⟦U+200D⟧b⟦U+200C⟧c'],
  ['a joiner at the end of an emoji', '😀\u200Dx', '😀⟦U+200D⟧x'],
  ['a selector after a letter', 'a\uFE0Fb', 'a⟦U+FE0F⟧b'],
  ['a message in tag characters', 'hi\u{E0068}\u{E0069}', 'hi⟦U+E0068 U+E0069⟧'],
  ['tags after a flag that is none', '🏴\u{E0068}\u{E0069}', '🏴⟦U+E0068 U+E0069⟧'],
  ['fillers that count as letters', '\u3164\uFFA0\u115F', '⟦U+3164 U+FFA0 U+115F⟧'],
  ['a blank that counts as a symbol', '\u2800', '⟦U+2800⟧'],
  ['spaces that are not the space', 'a\u00A0b\u2009c\u3000d', 'a⟦U+00A0⟧b⟦U+2009⟧c⟦U+3000⟧d'],
  ['control characters', '\u0000\u001B[2J\u007F', '⟦U+0000 U+001B⟧[2J⟦U+007F⟧'],
  ['a return that would overwrite the line', 'a\rb', 'a⟦U+000D⟧b'],
  ['the end of a line of two characters', 'a\r\nb', 'a⟦U+000D⟧\nb'],
  ['other ends of lines', 'a\u2028b\u0085c', 'a⟦U+2028⟧b⟦U+0085⟧c'],
  ['a byte order mark and a soft hyphen', '\uFEFFa\u00ADb', '⟦U+FEFF⟧a⟦U+00AD⟧b'],
  ['half a character', 'a\uD800b', 'a⟦U+D800⟧b'],
  ['private characters', '\uE000', '⟦U+E000⟧'],
  ['a pile of marks', `Z${'\u0301'.repeat(10)}`, `Z${'\u0301'.repeat(8)}⟦U+0301 ×2⟧`],
] as const)('%s is shown', ([, text, expected]) => {
  expect(shown(text)).toBe(expected);
});

test.for([
  'plain text, with\ttabs\nand lines',
  'Zoë, naïve, Ångström, e\u0301',
  'Привет, мир! Γειά σου',
  'می‌خواهم سلام',
  'क्‍ष नमस्ते',
  'שלום עולם',
  'สวัสดีครับ',
  '山田　太郎、こんにちは',
  '葛\u{E0100}城',
  '👨‍👩‍👧 👍🏽 🏳️‍🌈 🏴󠁧󠁢󠁥󠁮󠁧󠁿 🇩🇪 ❤️ 1️⃣ ☎︎',
  '€ ≤ ½ — “quotes” …',
])('%j stays unchanged', (text) => {
  expect(shown(text)).toBe(text);
});

test('a hidden message is shown whole, so that two of them differ', () => {
  const hidden = Array.from({ length: 20 }, (_, index) => String.fromCodePoint(0xe0061 + index)).join('');
  expect(shown(hidden)).toMatch(/^⟦(U\+E00[67][0-9A-F] ?){20}⟧$/);
});

test('half a million hidden characters are one stretch', () => {
  expect(shown(`a${'\u200B'.repeat(500_000)}b`)).toBe('a⟦U+200B ×500000⟧b');
});
