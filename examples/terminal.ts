// How the examples talk to the user: in a terminal they ask, elsewhere they take the first choice.
import { createInterface } from 'node:readline/promises';

export type Terminal = {
  /** Gives one of the choices, or what the person wrote instead. */
  readonly ask: (question: string, choices: readonly string[]) => Promise<string>;
  readonly print: (line: string) => void;
  /** Prints without ending the line. */
  readonly write: (text: string) => void;
};

export const terminal: Terminal = {
  async ask(question, choices) {
    console.log(`\n${question}`);
    for (const [index, choice] of choices.entries()) console.log(`  ${index + 1}. ${choice}`);
    if (process.stdin.isTTY) return pick(await readAnswer(), choices);
    console.log(`> ${choices[0]} (the first choice, because this is not a terminal)\n`);
    return choices[0] ?? '';
  },
  print: (line) => console.log(line),
  write: (text) => {
    process.stdout.write(text);
  },
};

async function readAnswer(): Promise<string> {
  const reader = createInterface({ input: process.stdin, output: process.stdout });
  try {
    for (;;) {
      const answer = (await reader.question('> ')).trim();
      if (answer !== '') return answer;
      console.log('A number, or your own words.');
    }
  } catch {
    // Ctrl-C or Ctrl-D: the person has left.
    console.log('\nStopped.');
    return process.exit(130);
  } finally {
    reader.close();
  }
}

const pick = (answer: string, choices: readonly string[]): string => choices[Number(answer) - 1] ?? answer;
