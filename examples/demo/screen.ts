// The demo's layout: a margin, lines that fit the terminal, and colours where they are wanted.
import type { WriteStream } from 'node:tty';
import { styleText } from 'node:util';

type Style = Parameters<typeof styleText>[0];

export type Screen = ReturnType<typeof createScreen>;

export const MARGIN = '  ';

export function createScreen(output: WriteStream) {
  const width = (): number => Math.max(20, Math.min(output.columns || 80, 80) - 2 * MARGIN.length);
  // Leaves the text plain where colours are not wanted: no terminal, NO_COLOR, TERM=dumb.
  const style = (format: Style, text: string): string => styleText(format, text, { stream: output });
  const line = (text = ''): void => {
    output.write(text === '' ? '\n' : `${MARGIN}${text}\n`);
  };
  const paragraph = (text: string, format?: Style): void => {
    for (const row of wrap(text, width())) line(format ? style(format, row) : row);
  };
  return {
    width,
    style,
    line,
    paragraph,
    /** Begins a line that the person ends. */
    prompt: () => output.write(`${MARGIN}> `),
    rule: () => line(style('dim', '─'.repeat(width()))),
    /** Two columns: a name, and an amount at the right edge. */
    entry(name: string, amount: string, format?: Style) {
      const room = Math.min(width(), 60) - widthOf(amount) - 1;
      const rows = wrap(name, room);
      for (const row of rows.slice(0, -1)) line(row);
      const last = rows.at(-1) ?? '';
      const text = `${last}${' '.repeat(room - widthOf(last) + 1)}${amount}`;
      line(format ? style(format, text) : text);
    },
    /** Text that arrives in pieces, broken between words. `end` closes its last line. */
    flow: createFlow((text) => output.write(text), width),
    wrap: (text: string) => wrap(text, width()),
    /** A mark and a text beside it, whose further lines stand below its first, with `next` before them. */
    item(mark: string, text: string, format: Style, next = ' ') {
      for (const [index, row] of wrap(text, width() - 2).entries())
        line(`${style(format, index === 0 ? mark : next)} ${row}`);
    },
  };
}

function createFlow(write: (text: string) => void, width: () => number) {
  let column = 0;
  // A word may arrive in pieces, so that it is known only when something follows it.
  let word = '';
  const breakLine = () => {
    write('\n');
    column = 0;
  };
  const put = () => {
    if (word === '') return;
    if (column > 0 && column + 1 + widthOf(word) > width()) breakLine();
    for (const [index, piece] of pieces(word, width()).entries()) {
      if (index > 0) breakLine();
      write(column === 0 ? `${MARGIN}${piece}` : ` ${piece}`);
      column += widthOf(piece) + (column === 0 ? 0 : 1);
    }
    word = '';
  };
  return {
    add(text: string) {
      for (const token of text.match(/\s+|\S+/g) ?? []) {
        if (token.trim() !== '') word += token;
        else {
          put();
          if (token.includes('\n') && column > 0) breakLine();
        }
      }
    },
    end() {
      put();
      if (column > 0) breakLine();
    },
  };
}

/** Lines of at most `width` cells. */
function wrap(text: string, width: number): readonly string[] {
  let all = '';
  const flow = createFlow(
    (written) => {
      all += written;
    },
    () => width,
  );
  flow.add(text);
  flow.end();
  return all
    .split('\n')
    .slice(0, -1)
    .map((row) => row.slice(MARGIN.length));
}

/** A word that is wider than a line is cut. */
function pieces(word: string, width: number): readonly string[] {
  const cut: string[] = [''];
  for (const grapheme of graphemesOf(word)) {
    const last = cut.at(-1) ?? '';
    if (widthOf(last) + widthOf(grapheme) > width) cut.push(grapheme);
    else cut[cut.length - 1] = last + grapheme;
  }
  return cut;
}

/** As much of a text as fits. */
export function clip(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = '';
  for (const grapheme of graphemesOf(text)) {
    if (widthOf(kept + grapheme) >= width) break;
    kept += grapheme;
  }
  return `${kept}…`;
}

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

export const graphemesOf = (text: string): readonly string[] =>
  [...segmenter.segment(text)].map((part) => part.segment);

const WIDE =
  /^[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\ufe0f/u;

/** How many cells of a terminal a text takes, colours aside. */
export const widthOf = (text: string): number =>
  graphemesOf(text).reduce((sum, grapheme) => sum + (WIDE.test(grapheme) ? 2 : 1), 0);

/** The person's text, without characters that move the cursor or reverse the text. */
export const inert = (text: string): string => text.replaceAll(/[\p{Cc}\p{Bidi_Control}]/gu, '').trim();
