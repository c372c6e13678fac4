// A line that is being written: what each key does to it, and the part of it that is shown.
import type { Key } from 'node:readline';
import { clip, graphemesOf, widthOf } from '../print/text-width.ts';
import { visibleLine } from '../print/visible-text.ts';

/** The cursor stands between the two. */
export type Line = { readonly before: string; readonly after: string };

/** The line after one key. */
export function edited(line: Line, typed: string, { name, ctrl, meta }: Key): Line {
  const { before, after } = line;
  const last = graphemesOf(before).at(-1) ?? '';
  const [first = ''] = graphemesOf(after);
  const less = before.slice(0, before.length - last.length);
  const rest = after.slice(first.length);
  if (name === 'backspace') return { before: less, after };
  if (name === 'delete') return { before, after: rest };
  if (name === 'left') return { before: less, after: last + after };
  if (name === 'right') return { before: before + first, after: rest };
  if (name === 'home' || (ctrl && name === 'a')) return { before: '', after: before + after };
  if (name === 'end' || (ctrl && name === 'e')) return { before: before + after, after: '' };
  if (ctrl && name === 'u') return { before: '', after };
  if (ctrl && name === 'k') return { before, after: '' };
  if (ctrl && name === 'w') return { before: before.replace(/\S*\s*$/, ''), after };
  const isText = typed !== '' && !ctrl && !meta && !/[\p{Cc}\p{Bidi_Control}]/u.test(typed);
  return isText ? { before: before + typed, after } : line;
}

/** The part of a line that fits, with the cursor in it. */
export function shownLine(line: Line, width: number): { readonly shown: string; readonly column: number } {
  const before = visibleLine(line.before);
  let left = '';
  for (const grapheme of graphemesOf(before).toReversed()) {
    if (widthOf(grapheme + left) >= width) break;
    left = grapheme + left;
  }
  return { shown: clip(left + visibleLine(line.after), width), column: widthOf(left) };
}
