// Reads the arguments of one command. What is not known is a usage failure that says what may have been meant.
import { parseArgs } from 'node:util';
import { nearest } from '../suggestion.ts';
import type { Command, Invocation, Options } from './command.ts';
import { type CommandFailure, usageFailure } from './failure.ts';
import type { Output } from './print/output.ts';

/** Every command has these. */
export const COMMON_OPTIONS: Options = {
  json: { summary: 'write JSON: one document, or one line each while following' },
  help: { short: 'h', summary: 'show this help' },
};

type Given = Map<string, string | true>;

export function parseArguments(
  command: Command,
  args: readonly string[],
  makeOutput: (json: boolean) => Output,
): Invocation {
  const options: Options = { ...command.options, ...COMMON_OPTIONS };
  const { tokens, positionals } = parseArgs({
    args: [...args],
    options: Object.fromEntries(
      Object.entries(options).map(([name, { value, short }]) => [
        name,
        {
          type: value === undefined ? ('boolean' as const) : ('string' as const),
          ...(short !== undefined && { short }),
        },
      ]),
    ),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const given: Given = new Map();
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    given.set(token.name, readOption(command, options, token));
  }
  refuseMorePositionals(command, positionals);
  return {
    positionals,
    output: makeOutput(given.has('json')),
    has: (name) => given.has(name),
    text: (name) => {
      const value = given.get(name);
      return typeof value === 'string' ? value : undefined;
    },
    whole: (name, least, most) => readWhole(command, name, given.get(name), least, most),
  };
}

/** The usage failures of one command all end with where its help is. */
export const misuse = (command: Command, message: string): CommandFailure =>
  usageFailure(message, `See: countersign ${command.name} --help`);

type OptionToken = {
  readonly name: string;
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
};

function readOption(command: Command, options: Options, token: OptionToken): string | true {
  const { name, rawName, value, inlineValue } = token;
  const option = Object.hasOwn(options, name) ? options[name] : undefined;
  if (!option) {
    const meant = nearest(name, Object.keys(options));
    throw misuse(
      command,
      `countersign ${command.name} has no option ${rawName}.${meant ? ` Did you mean --${meant}?` : ''}`,
    );
  }
  if (option.value === undefined) {
    if (value !== undefined) throw misuse(command, `${rawName} takes no value.`);
    return true;
  }
  const isMissing = value === undefined || (!inlineValue && value.startsWith('--'));
  if (isMissing) throw misuse(command, `${rawName} needs a value: ${rawName} <${option.value}>.`);
  if (option.choices && !option.choices.includes(value)) {
    const meant = nearest(value, option.choices);
    throw misuse(
      command,
      `${rawName} is one of ${option.choices.join(', ')}, not “${value}”.${meant ? ` Did you mean ${meant}?` : ''}`,
    );
  }
  return value;
}

function readWhole(
  command: Command,
  name: string,
  value: string | true | undefined,
  least: number,
  most: number,
): number | undefined {
  if (typeof value !== 'string') return undefined;
  const number = Number(value);
  if (value.trim() !== '' && Number.isInteger(number) && number >= least && number <= most) return number;
  throw misuse(command, `--${name} is a whole number from ${least} to ${most}, not “${value}”.`);
}

/** `<run>` has to be there, `[file]` may be. */
function refuseMorePositionals(command: Command, positionals: readonly string[]): void {
  const taken = command.arguments?.match(/<[^>]+>|\[[^\]]+\]/g) ?? [];
  const [extra] = positionals.slice(taken.length);
  if (extra !== undefined) throw misuse(command, `countersign ${command.name} does not take “${extra}”.`);
}

/** The argument that must be there. */
export function required(command: Command, { positionals }: Pick<Invocation, 'positionals'>, index = 0): string {
  const value = positionals[index];
  if (value !== undefined && value !== '') return value;
  throw misuse(
    command,
    `countersign ${command.name} needs ${command.arguments?.match(/<[^>]+>/g)?.[index] ?? 'an argument'}.`,
  );
}
