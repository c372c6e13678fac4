// What the inbox asks below a card: yes or no, one of several, a line of text, the fields of a form.
import type { JsonSchema } from 'countersign';
import { padded, widthOf, wrap } from '../print/text-width.ts';
import { visibleLine } from '../print/visible-text.ts';
import { bodyRoom, frame, type Notice, type Row, readTo, scrolledBy, scrolledTo } from './frame.ts';
import { edited, type Line, shownLine } from './line.ts';
import { type Field, fieldKind, readTyped, typedOf } from './schema-form.ts';
import type { Frame, Size, Terminal } from './terminal.ts';

/** What stays in view while something is asked. */
export type Backdrop = {
  readonly title: string;
  readonly aside: string;
  body(columns: number): readonly Row[];
  /** The first row in view, and the last one that the person has seen so far. */
  readonly top: number;
  readonly seen: number;
  /** What they should know before they decide, as it is now. */
  warnings(): readonly string[];
};

/** Undefined: the person went back. */
type Answer<T> = Promise<T | undefined>;

export type Prompts = ReturnType<typeof createPrompts>;

const BACK = 'esc back';
const NOT_SEEN: Row = { text: ' You have not seen all of it: ↓ shows the rest.', format: 'yellow' };

export function createPrompts({ ask, style }: Pick<Terminal, 'ask' | 'style'>) {
  /** Only `y` says yes: Enter may have been meant for what was on the screen before. */
  const confirm = async (
    backdrop: Backdrop,
    question: readonly Row[],
    notice?: Notice,
  ): Promise<'yes' | 'no' | 'edit'> => {
    let { top, seen } = backdrop;
    let room = 1;
    const draw = (size: Size): Frame => {
      const body = backdrop.body(size.columns);
      const keys = ['y yes', 'n no', ...(notice === undefined ? [] : ['e edit again']), '↑↓ scroll'];
      const isUnseen = notice === undefined && seen < body.length;
      const panel = within([...question, ...warningRows(backdrop), ...(isUnseen ? [NOT_SEEN] : [])], size);
      const parts = { panel, notice, keys };
      room = bodyRoom(size, parts);
      top = Math.max(0, Math.min(top, body.length - room));
      seen = readTo(seen, top, room);
      // Whoever sees the last of it just now is not told otherwise.
      if (isUnseen && seen >= body.length) return draw(size);
      return frame(size, style, { ...backdrop, ...parts, body, top });
    };
    return ask(draw, (text, key) => {
      if (text === 'y' || text === 'Y') return 'yes';
      if (text === 'n' || text === 'N' || key.name === 'escape') return 'no';
      if (text === 'e' && notice !== undefined) return 'edit';
      top = scrolledBy(text, key.name, top, room) ?? top;
      return undefined;
    });
  };

  const choose = async (backdrop: Backdrop, question: string, choices: readonly string[]): Answer<number> => {
    let at = 0;
    const answer = await ask<{ readonly index?: number }>(
      (size) => {
        const entries = choices.map((choice, index) => `${index + 1}. ${visibleLine(choice)}`);
        const rows = (room: number) => listed(entries, at, room);
        return below(size, style, backdrop, { question, rows, keys: ['↑↓ or a number', 'enter choose', BACK] });
      },
      (text, key) => {
        if (key.name === 'escape') return {};
        if (key.name === 'down' || text === 'j' || key.name === 'tab') at = (at + 1) % choices.length;
        else if (key.name === 'up' || text === 'k') at = (at + choices.length - 1) % choices.length;
        else if (key.name === 'return' || key.name === 'enter') return { index: at };
        else if (/^[1-9]$/.test(text) && Number(text) <= choices.length) at = Number(text) - 1;
        return undefined;
      },
    );
    return answer.index;
  };

  /** `read` turns what was typed into a value, or says what is wrong with it. */
  const write = async <T>(
    backdrop: Backdrop,
    question: string,
    begin: string,
    read: (typed: string) => { readonly value: T } | { readonly problem: string },
  ): Promise<{ readonly value: T } | undefined> => {
    let line: Line = { before: begin, after: '' };
    let problem: string | undefined;
    const answer = await ask<{ readonly value: T } | 'back'>(
      (size) => {
        const { shown, column } = shownLine(line, size.columns - 4);
        return below(size, style, backdrop, {
          question,
          rows: () => [{ text: ` › ${shown}` }],
          notice: problem === undefined ? undefined : { tone: 'bad', text: problem },
          keys: ['enter done', BACK],
          cursorAt: column + 3,
        });
      },
      (text, key) => {
        if (key.name === 'escape') return 'back';
        if (key.name === 'return' || key.name === 'enter') {
          const found = read(line.before + line.after);
          if ('value' in found) return found;
          problem = found.problem;
          return undefined;
        }
        problem = undefined;
        line = edited(line, text, key);
        return undefined;
      },
      (text) => {
        line = { ...line, before: line.before + text.replaceAll(/[\r\n]+/g, ' ') };
      },
    );
    return answer === 'back' ? undefined : answer;
  };

  /** One value, asked for as its schema says. */
  const value = async (
    backdrop: Backdrop,
    question: string,
    schema: JsonSchema | null,
    begin: unknown,
    offered: readonly string[] = [],
  ): Promise<{ readonly value: unknown } | undefined> => {
    const kind = fieldKind(schema);
    switch (kind.type) {
      case 'choice': {
        const index = await choose(backdrop, question, kind.choices.map(choiceText));
        return index === undefined ? undefined : { value: kind.choices[index] };
      }
      case 'fields':
        return fields(backdrop, question, kind.fields, begin);
      case 'text':
        if (offered.length > 0) return offer(backdrop, question, offered);
        return write(backdrop, question, typedOf(begin, kind), (typed) => readTyped(typed, kind));
      case 'number':
      case 'json':
        return write(backdrop, `${question}${kind.type === 'json' ? ' (JSON)' : ''}`, typedOf(begin, kind), (typed) =>
          readTyped(typed, kind),
        );
    }
  };

  /** One of what the asker offers, or own words. */
  const offer = async (
    backdrop: Backdrop,
    question: string,
    offered: readonly string[],
  ): Promise<{ readonly value: string } | undefined> => {
    for (;;) {
      const index = await choose(backdrop, question, [...offered, 'something else …']);
      if (index === undefined) return undefined;
      const chosen = offered[index];
      if (chosen !== undefined) return { value: chosen };
      const written = await write(backdrop, question, '', (typed) => ({ value: typed }));
      if (written) return written;
    }
  };

  const fields = async (
    backdrop: Backdrop,
    question: string,
    all: readonly Field[],
    begin: unknown,
  ): Promise<{ readonly value: unknown } | undefined> => {
    const values = new Map(Object.entries(typeof begin === 'object' && begin !== null ? begin : {}));
    let at = 0;
    for (;;) {
      const pressed = await ask<'open' | 'done' | 'back' | 'empty'>(
        (size) => fieldsFrame(size, backdrop, question, all, values, at, style),
        (text, key) => {
          if (key.name === 'escape') return 'back';
          if (key.name === 'down' || text === 'j' || key.name === 'tab') at = Math.min(all.length, at + 1);
          else if (key.name === 'up' || text === 'k') at = Math.max(0, at - 1);
          else if (key.name === 'return' || key.name === 'enter') return at === all.length ? 'done' : 'open';
          else if (text === 'x') return 'empty';
          return undefined;
        },
      );
      const field = all[at];
      if (pressed === 'back') return undefined;
      if (pressed === 'done' || field === undefined) return { value: Object.fromEntries(values) };
      if (pressed === 'empty') values.delete(field.name);
      else {
        const about = field.about === '' ? field.name : `${field.name}: ${field.about}`;
        const given = await value(backdrop, about, field.schema, values.get(field.name));
        if (!given) continue;
        values.set(field.name, given.value);
        at++;
      }
    }
  };

  return { confirm, choose, write, value };
}

function fieldsFrame(
  size: Size,
  backdrop: Backdrop,
  question: string,
  all: readonly Field[],
  values: ReadonlyMap<string, unknown>,
  at: number,
  style: Terminal['style'],
) {
  const width = Math.min(20, Math.max(...all.map(({ name }) => widthOf(visibleLine(name)))));
  const entries = [
    ...all.map(({ name, schema, isRequired }) => {
      const given = values.get(name);
      const shown = given === undefined ? (isRequired ? '(missing)' : '(none)') : shownValue(given, schema);
      return `${padded(visibleLine(name), width)}  ${visibleLine(shown)}`;
    }),
    'done',
  ];
  const rows = (room: number) => listed(entries, at, room);
  return below(size, style, backdrop, { question, rows, keys: ['↑↓ move', 'enter change', 'x leave out', BACK] });
}

/** As many entries as there is room for, with the one where the person is among them. */
function listed(entries: readonly string[], at: number, room: number): readonly Row[] {
  const from = scrolledTo(at, 0, room);
  return entries.slice(from, from + room).map((entry, index): Row => {
    const isHere = from + index === at;
    return { text: ` ${isHere ? '›' : ' '} ${entry}`, ...(isHere && { format: 'cyan' }) };
  });
}

type Below = {
  readonly question: string;
  rows(room: number): readonly Row[];
  readonly notice?: Notice | undefined;
  readonly keys: readonly string[];
  /** In the first of the rows. */
  readonly cursorAt?: number;
};

/** What is asked, below the card, which stays where it was scrolled to. */
function below(size: Size, style: Terminal['style'], backdrop: Backdrop, asked: Below): Frame {
  const { question, notice, keys, cursorAt } = asked;
  const head = within([{ text: ` ${visibleLine(question)}`, format: 'bold' }, ...warningRows(backdrop)], size);
  const rows = asked.rows(Math.max(1, size.rows - 7 - head.length));
  const parts = { panel: [...head, ...rows], notice, keys };
  const body = backdrop.body(size.columns);
  return frame(size, style, {
    ...backdrop,
    ...parts,
    body,
    top: Math.max(0, Math.min(backdrop.top, body.length - bodyRoom(size, parts))),
    cursor: cursorAt === undefined ? undefined : { row: head.length, column: cursorAt },
  });
}

const warningRows = (backdrop: Backdrop): readonly Row[] =>
  backdrop.warnings().map((text) => ({ text: ` ${text}`, format: 'yellow' }));

/** A panel must leave room for what it is about; the rest of a long row does not look like another one. */
function within(rows: readonly Row[], { rows: height, columns }: Size): readonly Row[] {
  const wrapped = rows.flatMap((row) => wrap(row.text, columns - 1, 4).map((text) => ({ ...row, text })));
  const room = Math.max(2, height - 6);
  if (wrapped.length <= room) return wrapped;
  return [...wrapped.slice(0, room - 1), { text: ` … ${wrapped.length - room + 1} more lines` }];
}

const shownValue = (value: unknown, schema: JsonSchema): string => {
  const kind = fieldKind(schema);
  return kind.type === 'choice' ? choiceText(value) : typedOf(value, kind);
};

const choiceText = (choice: unknown): string =>
  typeof choice === 'string' ? choice : choice === true ? 'yes' : choice === false ? 'no' : JSON.stringify(choice);
