// A person who answers by lines of text: from a pipe, a file, or a terminal that cannot draw.
import { createInterface } from 'node:readline';
import type { ReadStream } from 'node:tty';
import { type Choice, EndOfInput, type Person } from './person.ts';
import { inert, type Screen } from './screen.ts';

export function linePerson(input: ReadStream, screen: Screen): Person {
  const reader = createInterface({ input, terminal: false });
  const lines = reader[Symbol.asyncIterator]();

  const read = async (): Promise<string> => {
    if (input.isTTY) screen.prompt();
    const { done, value } = await lines.next();
    if (done) throw new EndOfInput();
    const text = inert(value);
    // A terminal echoes its input; a pipe does not.
    if (!input.isTTY) screen.line(screen.style('dim', `> ${text}`));
    return text;
  };

  return {
    async choose(options, allowOther) {
      for (const [index, option] of options.entries()) screen.line(`${index + 1}. ${option}`);
      screen.paragraph(
        `Answer with a number from 1 to ${options.length}${allowOther ? ', or in your own words' : ''}.`,
        'dim',
      );
      for (;;) {
        const text = await read();
        const choice = understand(text, options, allowOther);
        if (choice) return choice;
        screen.paragraph(text === '' ? 'An answer is needed.' : `“${text}” is none of the choices.`, 'yellow');
      }
    },
    async write(hint, fault) {
      screen.paragraph(hint, 'dim');
      for (;;) {
        const text = await read();
        const found = fault(text);
        if (found === undefined) return text;
        screen.paragraph(found, 'yellow');
      }
    },
    close: () => reader.close(),
  };
}

function understand(text: string, options: readonly string[], allowOther: boolean): Choice | undefined {
  if (text === '') return undefined;
  const index = /^\d+$/.test(text)
    ? Number(text) - 1
    : options.findIndex((option) => option.toLowerCase().startsWith(text.toLowerCase()));
  if (options[index] !== undefined) return { option: index };
  return allowOther ? { text } : undefined;
}
