// The command line: finds the command, gives help, runs it, and turns whatever happens into an exit code.
import { readFileSync } from 'node:fs';
import { nearest } from '../suggestion.ts';
import type { Command } from './command.ts';
import { GROUPS } from './commands.ts';
import { type CommandFailure, EXIT, type ExitCode, failureOf, usageFailure } from './failure.ts';
import { parseArguments } from './parse-arguments.ts';
import { commandDocument, commandHelp, generalHelp } from './print/help.ts';
import { createOutput, type Output } from './print/output.ts';

const COMMANDS: readonly Command[] = GROUPS.flatMap(({ commands }) => commands);

/** Runs one command line. Never throws. */
export async function runCommandLine(args: readonly string[]): Promise<ExitCode> {
  const output = createOutput(args.includes('--json'));
  try {
    const [first] = args;
    if (first === undefined || first === 'help' || first === '--help' || first === '-h')
      return help(args.slice(1), output);
    if (first === '--version' || first === '-v' || first === 'version') {
      if (output.json) output.document({ version: version() });
      else output.line(version());
      return EXIT.ok;
    }
    const { command, rest } = findCommand(args);
    if (asksForHelp(rest)) return helpOn(command, output);
    return (await command.run(parseArguments(command, rest, createOutput))) ?? EXIT.ok;
  } catch (error) {
    const failure = failureOf(error);
    output.failure(failure);
    if (process.env.DEBUG?.includes('countersign') && failure.cause instanceof Error)
      process.stderr.write(`${failure.cause.stack}\n`);
    return failure.exitCode;
  }
}

function help(words: readonly string[], output: Output): ExitCode {
  const named = words.filter((word) => !word.startsWith('-'));
  if (named.length > 0) return helpOn(findCommand(named).command, output);
  if (output.json) output.document({ version: version(), commands: COMMANDS.map(commandDocument) });
  else output.line(generalHelp(GROUPS, version(), output.style));
  return EXIT.ok;
}

function helpOn(command: Command, output: Output): ExitCode {
  if (output.json) output.document(commandDocument(command));
  else output.line(commandHelp(command, output.style));
  return EXIT.ok;
}

/** Before `--`, where everything is an argument. */
function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return args.slice(0, end < 0 ? undefined : end).some((word) => word === '--help' || word === '-h');
}

function findCommand(args: readonly string[]): { readonly command: Command; readonly rest: readonly string[] } {
  const [first = '', second = ''] = args;
  const two = COMMANDS.find(({ name }) => name === `${first} ${second}`);
  if (two) return { command: two, rest: args.slice(2) };
  const one = COMMANDS.find(({ name }) => name === first);
  if (one) return { command: one, rest: args.slice(1) };
  throw unknownCommand(first, second);
}

function unknownCommand(first: string, second: string): CommandFailure {
  const below = COMMANDS.map(({ name }) => name.split(' ')).filter(
    ([group, word]) => group === first && word !== undefined,
  );
  if (below.length > 0) {
    const words = below.map(([, word = '']) => word);
    const given =
      second === '' || second.startsWith('-') ? `${first} needs one of` : `${first} has no “${second}”; it has`;
    return usageFailure(
      `countersign ${given} ${words.join(', ')}.`,
      `As in: countersign ${first} ${nearest(second, words) ?? words[0]}`,
    );
  }
  if (first.startsWith('-'))
    return usageFailure(`countersign has no option ${first}; options follow a command.`, 'See: countersign --help');
  const meant = nearest(first, [...new Set(COMMANDS.map(({ name }) => name.split(' ')[0] ?? ''))]);
  return usageFailure(
    `There is no command “${first}”.${meant === undefined ? '' : ` Did you mean “${meant}”?`}`,
    'See: countersign --help',
  );
}

function version(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  return version;
}
