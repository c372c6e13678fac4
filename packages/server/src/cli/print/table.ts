// Formats rows as columns that fit the width; the last column is clipped.
import { clip, widthOf } from '../../text/text-width.ts';

/** `paint` colours a cell after it is measured. */
export type Cell = string | { readonly text: string; readonly paint: (text: string) => string };

export function tableLines(rows: readonly (readonly Cell[])[], width: number): readonly string[] {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => widthOf(textOf(row[column])))),
  );
  return rows.map((row) => {
    let room = width;
    return row
      .map((cell, column) => {
        // No room is left.
        if (room < 1) return '';
        const isLast = column === row.length - 1;
        const text = clip(textOf(cell), room);
        const filled = isLast
          ? text
          : text + ' '.repeat(Math.max(0, Math.min(widths[column] ?? 0, room) - widthOf(text)));
        room -= widthOf(filled) + 2;
        return typeof cell === 'string' ? filled : cell.paint(filled);
      })
      .join('  ')
      .trimEnd();
  });
}

/** For programs: one line per row, with tabs between the cells. */
export function tabbedLine(row: readonly Cell[]): string {
  return row.map((cell) => (typeof cell === 'string' ? cell : cell.paint(cell.text))).join('\t');
}

const textOf = (cell: Cell | undefined): string =>
  cell === undefined ? '' : typeof cell === 'string' ? cell : cell.text;
