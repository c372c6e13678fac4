// The screen of a terminal as a person sees it, made from what a program writes to it: enough for what the inbox writes.

const ESCAPE = '\u001b';

export function createScreen(rowsAtFirst: number, columnsAtFirst: number) {
  let [rows, columns] = [rowsAtFirst, columnsAtFirst];
  let cells: string[][] = [];
  let row = 0;
  let column = 0;
  /** The program has the whole screen; what is written otherwise is not of interest. */
  let isOpen = false;
  /** What was written but is not whole yet. */
  let rest = '';
  const clear = () => {
    cells = Array.from({ length: rows }, () => Array.from({ length: columns }, () => ' '));
  };
  clear();
  const overflows: string[] = [];

  function control(parameters: string, final: string): void {
    const [first = 1, second = 1] = parameters.split(';').map((text) => Number(text) || 1);
    if (final === 'H') [row, column] = [first - 1, second - 1];
    else if (final === 'K') for (let at = column; at < columns; at++) (cells[row] ?? [])[at] = ' ';
    else if (parameters === '?1049') {
      isOpen = final === 'h';
      if (isOpen) clear();
    } else if (final === 'J') clear();
    else if (!'mhl'.includes(final)) throw new Error(`The screen does not know ${ESCAPE}[${parameters}${final}`);
  }

  function put(character: string): void {
    if (!isOpen) return;
    if (column >= columns) overflows.push(`row ${row}: ${character}`);
    else (cells[row] ?? [])[column] = character;
    column++;
  }

  return {
    write(text: string): void {
      rest += text;
      for (;;) {
        if (rest === '') return;
        if (rest.startsWith(ESCAPE)) {
          const sequence = /^.\[([?\d;]*)([A-Za-z])/s.exec(rest);
          if (!sequence) return;
          control(sequence[1] ?? '', sequence[2] ?? '');
          rest = rest.slice(sequence[0].length);
          continue;
        }
        const [character = ''] = rest;
        rest = rest.slice(character.length);
        if (character === '\r') column = 0;
        else if (character === '\n') row = Math.min(rows - 1, row + 1);
        else if (character >= ' ') put(character);
        else if (isOpen) throw new Error(`A raw control character was written: ${JSON.stringify(character)}`);
      }
    },
    /** What was there is not kept: a program draws everything again. */
    resize(newRows: number, newColumns: number): void {
      [rows, columns] = [newRows, newColumns];
      clear();
    },
    text: (): string => cells.map((line) => line.join('').trimEnd()).join('\n'),
    /** What was written beyond the right edge. */
    overflows,
  };
}
