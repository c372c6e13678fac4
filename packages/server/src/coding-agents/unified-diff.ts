// The difference between two versions of a file, as `diff -u` prints it.

const CONTEXT = 3;
const NO_NEWLINE = '\\ No newline at end of file';

type Line = { readonly sign: ' ' | '-' | '+'; readonly text: string };

/** Undefined: the file does not exist before, or after. */
export function unifiedDiff(file: string, before: string | undefined, after: string | undefined): readonly string[] {
  const lines = linesOf(before, after);
  const heads = [`--- ${before === undefined ? '/dev/null' : file}`, `+++ ${after === undefined ? '/dev/null' : file}`];
  const changed = lines.flatMap(({ sign }, index) => (sign === ' ' ? [] : [index]));
  const hunks: [from: number, to: number][] = [];
  for (const index of changed) {
    const last = hunks.at(-1);
    const [from, to] = [Math.max(0, index - CONTEXT), Math.min(lines.length, index + CONTEXT + 1)];
    if (last && from <= last[1]) last[1] = to;
    else hunks.push([from, to]);
  }
  return hunks.length === 0 ? [] : [...heads, ...hunks.flatMap(([from, to]) => hunk(lines, from, to))];
}

function hunk(lines: readonly Line[], from: number, to: number): readonly string[] {
  const count = (part: readonly Line[], other: '-' | '+') => part.filter(({ sign }) => sign !== other).length;
  const range = (other: '-' | '+') => {
    const length = count(lines.slice(from, to), other);
    return `${count(lines.slice(0, from), other) + (length === 0 ? 0 : 1)},${length}`;
  };
  const shown = lines.slice(from, to).map(({ sign, text }) => (text === NO_NEWLINE ? text : `${sign}${text}`));
  return [`@@ -${range('+')} +${range('-')} @@`, ...shown];
}

function linesOf(before: string | undefined, after: string | undefined): readonly Line[] {
  const [old, young] = [split(before), split(after)];
  // The length of the longest common rest, from each pair of lines on.
  const common = Array.from({ length: old.length + 1 }, () => new Uint32Array(young.length + 1));
  const at = (i: number, j: number) => common[i]?.[j] ?? 0;
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = young.length - 1; j >= 0; j--)
      (common[i] as Uint32Array)[j] = old[i] === young[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const lines: Line[] = [];
  for (let [i, j] = [0, 0]; i < old.length || j < young.length; ) {
    const [removed, added] = [old[i], young[j]];
    if (removed !== undefined && removed === added) {
      lines.push({ sign: ' ', text: removed });
      i++;
      j++;
    } else if (added === undefined || (removed !== undefined && at(i + 1, j) >= at(i, j + 1))) {
      lines.push({ sign: '-', text: removed ?? '' });
      i++;
    } else {
      lines.push({ sign: '+', text: added });
      j++;
    }
  }
  return lines;
}

function split(text: string | undefined): readonly string[] {
  const lines = (text ?? '').split('\n');
  if (lines.at(-1) === '') lines.pop();
  else if (text !== undefined) lines.push(NO_NEWLINE);
  return lines;
}
