// The help of the inbox.
import { wrap } from '../print/text-width.ts';
import type { Row } from './frame.ts';

/** Where the words begin. */
const MARGIN = 14;

export const helpRows = (columns: number): readonly Row[] => [
  { text: '' },
  ...KEYS.flatMap(([keys, what]) =>
    wrap(what, columns - MARGIN - 1).map((line, index) => ({
      text: ` ${(index === 0 ? keys : '').padEnd(MARGIN - 1)}${line}`,
    })),
  ),
  { text: '' },
  ...wrap(
    'A decision is recorded once. If somebody was first, you are told who, and nothing of yours is recorded.',
    columns - 2,
  ).map((line) => ({ text: ` ${line}` })),
];

const KEYS = [
  ['↑ ↓ j k', 'move, or scroll a card; page up, page down and space by pages, home and end'],
  ['enter → l', 'look at a card'],
  ['esc ← h q', 'back to the list'],
  ['a', 'approve: it runs with exactly what is shown'],
  ['e', 'edit its input in $VISUAL or $EDITOR, or field by field; the change is shown before it is sent'],
  ['r', 'reject, with a reason that the model is told'],
  ['w', 'answer a question, or give the result'],
  ['c', 'cancel, where nobody knows how a call ended'],
  ['t', 'tell the others that you work on it, or do not any more; whoever begins to decide does so until they go back'],
  ['g', 'load again; it also does by itself'],
  ['q ctrl-c', 'quit; ctrl-z goes to the shell, and fg comes back'],
] as const;
