// What `countersign agents` prints: the agents of this machine, and the differences of their settings.
import { homedir } from 'node:os';
import type { FoundAgent } from '../../coding-agents/finding.ts';
import type { Change } from '../../coding-agents/installing.ts';
import { unifiedDiff } from '../../coding-agents/unified-diff.ts';
import { wrap } from '../../text/text-width.ts';
import { visibleLine } from '../../text/visible-text.ts';
import type { Output } from './output.ts';

/** A path, or an address with one, as people write it. */
export const shown = (text: string): string => visibleLine(text).replace(`${homedir()}/`, '~/');

/** One line for each agent that was found, and one for the others. */
export function foundLines(agents: readonly FoundAgent[], { style }: Output): readonly string[] {
  const [found, others] = [agents.filter(({ isFound }) => isFound), agents.filter(({ isFound }) => !isFound)];
  const rows = found.map(({ agent, version, program }) => ({
    title: agent.title,
    about: version ?? (program === undefined ? 'only its settings' : 'version unknown'),
    place: shown(program ?? agent.folder),
  }));
  const wide = (texts: readonly string[]) => Math.max(0, ...texts.map(({ length }) => length));
  const [titles, abouts] = [wide(rows.map(({ title }) => title)), wide(rows.map(({ about }) => about))];
  const lines = rows.map(
    ({ title, about, place }) =>
      `${style('bold', title.padEnd(titles))}  ${about.padEnd(abouts)}  ${style('dim', place)}`,
  );
  const missing = others.map(({ agent }) => agent.title).join(', ');
  return missing === '' ? lines : [...lines, style('dim', `Not found: ${missing}.`)];
}

const COLOURS = { '+': 'green', '-': 'red', '@': 'cyan' } as const;

/** On a terminal, long lines continue below, further in. Elsewhere the text is what `patch` takes. */
export function diffLines({ file, before, after }: Change, { style, rowWidth }: Output): readonly string[] {
  const [old = '', young = '', ...lines] = unifiedDiff(shown(file), before, after);
  const painted = (line: string) => {
    const colour = COLOURS[line.charAt(0) as keyof typeof COLOURS];
    const rows = Number.isFinite(rowWidth) ? broken(line, rowWidth) : [line];
    return rows.map((row) => (colour ? style(colour, row) : row));
  };
  return [...[old, young].map((line) => style('bold', line)), ...lines.flatMap(painted)];
}

function broken(line: string, width: number): readonly string[] {
  if (line.length <= width) return [line];
  const [, start = '', text = ''] = /^(.\s*)(.*)$/.exec(line) ?? [];
  const room = Math.max(20, width - start.length - 2);
  return wrap(text, room).map((row, index) => (index === 0 ? `${start}${row}` : `${start}  ${row}`));
}
