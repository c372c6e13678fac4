// Rows of a terminal that are drawn over themselves, also when the terminal changes its width.
import { clearScreenDown, cursorTo, moveCursor } from 'node:readline';
import type { WriteStream } from 'node:tty';
import { stripVTControlCharacters } from 'node:util';
import { MARGIN, widthOf } from './screen.ts';

export type Drawing = {
  readonly rows: readonly string[];
  /** Where the cursor is shown; hidden where there is none. */
  readonly cursor?: { readonly row: number; readonly column: number };
};

export function createBlock(output: WriteStream) {
  let drawn: Drawing = { rows: [] };
  const erase = () => {
    if (drawn.rows.length === 0) return;
    const above = drawn.rows.slice(0, drawn.cursor?.row ?? drawn.rows.length);
    moveCursor(output, 0, -above.reduce((sum, row) => sum + heightOf(row, output.columns), 0));
    cursorTo(output, 0);
    clearScreenDown(output);
    output.write(SHOW_CURSOR);
    drawn = { rows: [] };
  };
  return {
    erase,
    draw(drawing: Drawing) {
      erase();
      output.write(drawing.rows.map((row) => `${MARGIN}${row}\n`).join(''));
      if (drawing.cursor) {
        moveCursor(output, 0, drawing.cursor.row - drawing.rows.length);
        cursorTo(output, MARGIN.length + drawing.cursor.column);
      } else output.write(HIDE_CURSOR);
      drawn = drawing;
    },
  };
}

/** A row may have been broken in two by a terminal that has become narrower. */
const heightOf = (row: string, columns: number): number =>
  Math.max(1, Math.ceil((MARGIN.length + widthOf(stripVTControlCharacters(row))) / (columns || 80)));

const HIDE_CURSOR = '\u001b[?25l';
const SHOW_CURSOR = '\u001b[?25h';
