// Measures text in terminal columns, and clips, pads and wraps it to fit.

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
const PLAIN = /^[ -~]*$/;

/** Splits text into graphemes: what people see as single characters. */
export function graphemesOf(text: string): readonly string[] {
  if (PLAIN.test(text)) return [...text];
  return [...segmenter.segment(text)].map((part) => part.segment);
}

const WIDE =
  /^[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\ufe0f/u;

const cellsOf = (grapheme: string): number => (WIDE.test(grapheme) ? 2 : 1);

/** Counts the columns of a text without colours. */
export function widthOf(text: string): number {
  if (PLAIN.test(text)) return text.length;
  return graphemesOf(text).reduce((sum, grapheme) => sum + cellsOf(grapheme), 0);
}

/** Clips a text to `width` columns and marks the cut with “…”. */
export function clip(text: string, width: number): string {
  // Only the start of a long text can be shown, so the rest is not measured.
  const head = text.length > width * 8 ? text.slice(0, width * 8) : text;
  if (head === text && widthOf(text) <= width) return text;
  let kept = '';
  let used = 0;
  for (const grapheme of graphemesOf(head)) {
    const cells = cellsOf(grapheme);
    if (used + cells >= width) break;
    kept += grapheme;
    used += cells;
  }
  return width < 1 ? '' : `${kept}…`;
}

/** Pads a text to at least `width` columns. */
export const padded = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - widthOf(text)));

/**
 * Wraps text to `width` columns, between words where possible. Continuation lines keep the indentation and get `hang` more
 * spaces, so that they cannot pass for new lines.
 */
export function wrap(text: string, width: number, hang = 0): readonly string[] {
  return text.split('\n').flatMap((line) => wrapLine(line, Math.max(1, width), hang));
}

function wrapLine(line: string, width: number, hang: number): readonly string[] {
  if (line.length <= width && widthOf(line) <= width) return [line];
  const [indent = ''] = /^ */.exec(line) ?? [];
  const half = Math.floor(width / 2);
  let margin = indent.slice(0, half);
  const lines: string[] = [];
  let current = margin;
  let used = margin.length;
  const flush = () => {
    lines.push(current.trimEnd());
    margin = ' '.repeat(Math.min(half, indent.length + hang));
    current = margin;
    used = margin.length;
  };
  for (const word of line.slice(indent.length).match(/\s+|\S+/g) ?? []) {
    const cells = widthOf(word);
    if (used + cells <= width) {
      current += word;
      used += cells;
    } else if (word.trim() === '') flush();
    else {
      if (used > margin.length) flush();
      for (const grapheme of graphemesOf(word)) {
        const cell = cellsOf(grapheme);
        if (used + cell > width && used > margin.length) flush();
        current += grapheme;
        used += cell;
      }
    }
  }
  if (used > margin.length || lines.length === 0) flush();
  return lines;
}
