// Measures text in terminal columns, and clips, pads and wraps it to fit.
import stringWidth from 'fast-string-width';
import { wrapAnsi } from 'fast-wrap-ansi';

/** Counts the columns of a text. */
export const widthOf = (text: string): number => stringWidth(text);

/** Clips a text to `width` columns and marks the cut with “…”. */
export function clip(text: string, width: number): string {
  if (width < 1) return '';
  // Only the start of a long text can be shown, so the rest is not measured.
  const head = text.slice(0, width * 8);
  if (head === text && widthOf(text) <= width) return text;
  const [kept = ''] =
    width === 1 ? [] : wrapAnsi(head, width - 1, { hard: true, wordWrap: false, trim: false }).split('\n');
  return `${kept}…`;
}

/** Pads a text to at least `width` columns. */
export const padded = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - widthOf(text)));

/**
 * Wraps text to `width` columns, between words where possible. Continuation lines keep the indentation and get `hang` more
 * spaces, so that they cannot pass for new lines.
 */
export function wrap(text: string, width: number, hang = 0): readonly string[] {
  return text.split('\n').flatMap((line) => {
    if (widthOf(line) <= width) return [line];
    const [indent = ''] = /^ */.exec(line) ?? [];
    const half = Math.floor(width / 2);
    const margins = [indent.length, indent.length + hang].map((columns) => ' '.repeat(Math.min(half, columns)));
    const [first = '', next = ''] = margins;
    const rows = wrapAnsi(line.trim(), Math.max(1, width - next.length), { hard: true }).split('\n');
    return rows.map((row, index) => `${index === 0 ? first : next}${row}`);
  });
}
