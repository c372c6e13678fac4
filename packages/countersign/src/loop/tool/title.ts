// The title of a request: one short line, safe to show in a list, a mail or a notification.
import type { OptionKind } from '../../core/options.ts';

export const LONGEST_TITLE = 200;

export const aTitle: OptionKind = {
  is: `a text of 1 to ${LONGEST_TITLE} characters`,
  fits: (value) => typeof value === 'string' && isTitle(asTitle(value)),
};

/** What a tool takes as its title. */
export const aTitleOption: OptionKind = {
  is: `${aTitle.is}, or a function that returns one`,
  fits: (value) => typeof value === 'function' || aTitle.fits(value),
};

/** Puts the text on one line, and writes characters that hide or reorder text as codes, such as `⟦U+202E⟧`. */
export function asTitle(text: string): string {
  return text.slice(0, LONGEST_READ).replaceAll(/\s+/g, ' ').trim().replaceAll(HIDDEN, code);
}

export const isTitle = (title: string): boolean => title !== '' && title.length <= LONGEST_TITLE;

/** A longer line is cut, and ends with an ellipsis. No character, and no code of one, is cut in two. */
export function shortTitle(line: string): string {
  if (line.length <= LONGEST_TITLE) return line;
  const cut = line.slice(0, LONGEST_TITLE - 1).replace(/[\ud800-\udbff]$|⟦[^⟧]*$/, '');
  return `${cut.trimEnd()}…`;
}

/** More than enough to see that a text is too long. */
const LONGEST_READ = 10_000;

/**
 * Control characters, lone surrogates, private and unassigned characters, direction marks, and invisible characters that no
 * script or emoji needs. The UI marks the other invisible characters where they stand out of place.
 */
const HIDDEN =
  /[\p{Cc}\p{Cs}\p{Co}\p{Cn}\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0]/gu;

const code = (character: string): string =>
  `⟦U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟧`;
