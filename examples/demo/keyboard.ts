// A person at a terminal: arrow keys or numbers to choose, a line to write in.
import { emitKeypressEvents, type Key } from 'node:readline';
import type { ReadStream, WriteStream } from 'node:tty';
import { createBlock, type Drawing } from './block.ts';
import { edited, type Line, visible } from './line-editor.ts';
import { type Choice, EndOfInput, type Person } from './person.ts';
import { clip, inert, type Screen } from './screen.ts';

const OTHER = 'Something else …';

export function keyboardPerson(
  input: ReadStream,
  output: WriteStream,
  screen: Screen,
  onInterrupt: () => void,
): Person {
  let listener: ((text: string, key: Key) => void) | undefined;
  let block = createBlock(output);
  // Keys pressed between questions are dropped: a key must not answer a question that was not shown yet.
  const onKey = (text: string | undefined, key: Key) => {
    if (key.ctrl && key.name === 'c') onInterrupt();
    else listener?.(text ?? '', key);
  };
  emitKeypressEvents(input);
  input.setRawMode(true);
  input.on('keypress', onKey);
  input.resume();

  /** Draws until a key gives a result. */
  const ask = async <T>(draw: () => Drawing, press: (text: string, key: Key) => T | undefined): Promise<T> => {
    block = createBlock(output);
    const redraw = () => block.draw(draw());
    output.on('resize', redraw);
    try {
      redraw();
      return await new Promise<T>((resolve, reject) => {
        listener = (text, key) => {
          if (key.ctrl && key.name === 'd') return reject(new EndOfInput());
          const result = press(text, key);
          if (result === undefined) redraw();
          else resolve(result);
        };
      });
    } finally {
      listener = undefined;
      output.off('resize', redraw);
      block.erase();
    }
  };

  const person: Person = {
    async choose(options, allowOther) {
      const all = allowOther ? [...options, OTHER] : options;
      let at = 0;
      for (;;) {
        const choice: Choice | { readonly begin: string } = await ask(
          () => ({
            rows: [...all.map((option, index) => optionRow(screen, option, index, at)), ...hintRows(screen, CHOOSE)],
          }),
          (text, key) => {
            if (key.name === 'up') at = (at + all.length - 1) % all.length;
            else if (key.name === 'down' || key.name === 'tab') at = (at + 1) % all.length;
            else if (key.name === 'return' || key.name === 'enter')
              return at < options.length ? { option: at } : { begin: '' };
            else if (all[Number(text) - 1] !== undefined) at = Number(text) - 1;
            else if (allowOther && isLetter(text)) return { begin: text };
            return undefined;
          },
        );
        if (!('begin' in choice)) return choice;
        const text = await edit('Your own words, then Enter; Esc goes back', notEmpty, choice.begin);
        if (text !== undefined) return { text };
        at = options.length;
      }
    },
    write: (hint, fault) => edit(`${hint}; Esc goes back`, fault, ''),
    close() {
      block.erase();
      input.off('keypress', onKey);
      input.setRawMode(false);
      input.pause();
    },
  };

  const edit = async (
    hint: string,
    fault: (text: string) => string | undefined,
    begin: string,
  ): Promise<string | undefined> => {
    let line: Line = { before: begin, after: '' };
    let found: string | undefined;
    const { text } = await ask<{ text: string | undefined }>(
      () => {
        const { shown, column } = visible(line, screen.width() - 3);
        return {
          rows: [
            `${screen.style('cyan', '›')} ${shown}`,
            ...(found === undefined ? hintRows(screen, hint) : hintRows(screen, found, 'yellow')),
          ],
          cursor: { row: 0, column: column + 2 },
        };
      },
      (typed, key) => {
        if (key.name === 'escape') return { text: undefined };
        if (key.name === 'return' || key.name === 'enter') {
          const text = inert(line.before + line.after);
          found = fault(text);
          return found === undefined ? { text } : undefined;
        }
        found = undefined;
        line = edited(line, typed, key);
        return undefined;
      },
    );
    return text;
  };

  return person;
}

const CHOOSE = '↑ ↓ or a number, then Enter';

const notEmpty = (text: string): string | undefined => (text === '' ? 'Write something, or press Esc' : undefined);

const isLetter = (text: string): boolean => /^\p{L}$/u.test(text);

function optionRow({ style, width }: Screen, option: string, index: number, at: number): string {
  const text = clip(`${index + 1}. ${option}`, width() - 2);
  return index === at ? style(['cyan', 'bold'], `› ${text}`) : `  ${text}`;
}

const hintRows = ({ style, wrap }: Screen, hint: string, format: 'dim' | 'yellow' = 'dim'): readonly string[] =>
  wrap(hint).map((row) => style(format, row));
