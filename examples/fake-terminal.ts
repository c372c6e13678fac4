// A terminal for the tests: it gives the answers in order, and keeps the questions and the output.
import type { Terminal } from './terminal.ts';

export function fakeTerminal(...answers: readonly string[]) {
  const asked: { question: string; choices: readonly string[] }[] = [];
  let printed = '';
  const terminal: Terminal = {
    async ask(question, choices) {
      const answer = answers[asked.length];
      if (answer === undefined) throw new Error(`No answer left for: ${question}`);
      asked.push({ question, choices });
      return answer;
    },
    print: (line) => {
      printed += `${line}\n`;
    },
    write: (text) => {
      printed += text;
    },
  };
  return { ...terminal, asked, printed: () => printed };
}
