// Makes untrusted text safe to print: characters that move the cursor, hide text or reverse it are shown as codes.

/** Shows line breaks, too, so that the text stays on one line. */
export function visibleLine(text: string): string {
  return visibleText(text).replaceAll('\n', '⏎');
}

/** Keeps line breaks and turns tabs into spaces. */
export function visibleText(text: string): string {
  return shownBy(code, plain(text));
}

/** Whether the text has characters that nobody sees. Line breaks and tabs do not count. */
export const hidesCharacters = (text: string): boolean => visibleText(text) !== plain(text);

const plain = (text: string): string => text.replaceAll('\r\n', '\n').replaceAll('\t', '  ');

/** Escapes hidden characters in JSON, which stays the same value. */
export function visibleJson(json: string): string {
  return shownBy(escaped, json);
}

const shownBy = (write: (character: string) => string, text: string): string =>
  text
    .replaceAll(HIDDEN, write)
    .replaceAll(PILED_MARKS, (_all, kept: string, more: string) => kept + [...more].map(write).join(''));

/**
 * Control characters, lone surrogates, private and unassigned characters, line separators, and invisible characters: zero
 * width, fillers, tags, direction marks. The selector that turns a symbol into an emoji may stay.
 */
const HIDDEN =
  /(?!\n)[\p{Cc}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Cf}\u2800]|(?<!\p{Extended_Pictographic})\ufe0f|(?!\ufe0f)\p{Default_Ignorable_Code_Point}/gu;

/** Stacked marks would draw over the lines above and below. */
const PILED_MARKS = /(\p{M}{4})(\p{M}+)/gu;

const code = (character: string): string =>
  `<U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}>`;

const escaped = (character: string): string =>
  character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
