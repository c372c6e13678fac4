// Reads small tables of comma-separated values, as in RFC 4180.

const MOST_ROWS = 100;
const MOST_COLUMNS = 12;

/** The rows in base64; undefined if they are no table, or more than a card shows. */
export function rowsOfCsv(data: string): readonly (readonly string[])[] | undefined {
  const rows = cellsOf(decoded(data) ?? '');
  const columns = rows[0]?.length ?? 0;
  const isTable = rows.length > 1 && rows.length <= MOST_ROWS && columns > 1 && columns <= MOST_COLUMNS;
  return isTable && rows.every(({ length }) => length === columns) ? rows : undefined;
}

function decoded(data: string): string | undefined {
  try {
    const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    // Not text in UTF-8: the file is a download.
    return undefined;
  }
}

/** Cells in quotes may have commas, line breaks and doubled quotes. */
function cellsOf(text: string): readonly (readonly string[])[] {
  const rows: string[][] = [];
  let row: string[] = [];
  for (const [, quoted, plain = '', end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/gy)) {
    row.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end === ',') continue;
    if (row.length > 1 || row[0] !== '') rows.push(row);
    row = [];
    if (end === '') return rows;
  }
  // A quote stands where none may be.
  return [];
}
