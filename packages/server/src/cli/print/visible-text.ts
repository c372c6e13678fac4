// Text of strangers, made safe to print: what could move the cursor, hide or turn text around is shown as its code.

/** One line: line breaks are shown too. */
export function visibleLine(text: string): string {
  return visibleText(text).replaceAll('\n', '⏎');
}

/** Several lines: line breaks stay, and tabs become spaces. */
export function visibleText(text: string): string {
  return shownBy(code, text.replaceAll('\r\n', '\n').replaceAll('\t', '  '));
}

/** The same JSON: it may be read by a program, and it may be looked at. */
export function visibleJson(json: string): string {
  return shownBy(escaped, json);
}

const shownBy = (write: (character: string) => string, text: string): string =>
  text
    .replaceAll(HIDDEN, write)
    .replaceAll(PILED_MARKS, (_all, kept: string, more: string) => kept + [...more].map(write).join(''));

/**
 * Controls, lone surrogates, private and unassigned characters, separators of lines, and everything that is made to be
 * invisible: zero width, fillers, tags, marks of direction. A selector that makes a symbol an emoji may stay.
 */
const HIDDEN =
  /(?!\n)[\p{Cc}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Cf}\u2800]|(?<!\p{Extended_Pictographic})\ufe0f|(?!\ufe0f)\p{Default_Ignorable_Code_Point}/gu;

/** Marks without end would write over the lines above and below. */
const PILED_MARKS = /(\p{M}{4})(\p{M}+)/gu;

const code = (character: string): string =>
  `<U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}>`;

const escaped = (character: string): string =>
  character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
