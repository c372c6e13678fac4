// Lines of CSV for spreadsheets. Names and texts come from models, tools and people, so no cell can be a formula.

export type Cell = string | number | null;

/** One line, with its end. */
export const csvLine = (cells: readonly Cell[]): string => `${cells.map(cellText).join(',')}\r\n`;

/** The headers of a download. */
export const csvHeaders = (file: string): Record<string, string> => ({
  'content-type': 'text/csv; charset=utf-8; header=present',
  'content-disposition': `attachment; filename="${file}"`,
});

/** Spreadsheets run text that begins like this. The wide forms of the signs count too. */
const FORMULA = /^[\s\p{Cc}\p{Cf}]*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]|^[\t\r\n]/u;

function cellText(cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell === 'number') return String(cell);
  // An apostrophe makes a spreadsheet show what follows as text.
  const text = FORMULA.test(cell) ? `'${cell}` : cell;
  return /[",\r\n;']|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
