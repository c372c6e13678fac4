// The help texts, of the whole and of one command.
import type { Command, Options } from '../command.ts';
import { COMMON_OPTIONS } from '../parse-arguments.ts';
import type { Format } from './output.ts';
import { wrap } from './text-width.ts';

type Style = (format: Format, text: string) => string;

/** What can be done, in groups. */
export type CommandGroup = { readonly title: string; readonly commands: readonly Command[] };

export function generalHelp(groups: readonly CommandGroup[], version: string, style: Style): string {
  const width = Math.max(...groups.flatMap(({ commands }) => commands.map((command) => usageOf(command).length)));
  return [
    `${style('bold', 'countersign')} ${version}: a model's tool call pauses, a person decides, the run goes on`,
    '',
    `${style('bold', 'Usage')}: countersign <command> [options]`,
    ...groups.flatMap(({ title, commands }) => [
      '',
      style('bold', title),
      ...commands.flatMap((command) => entry(usageOf(command), command.summary, width, style)),
    ]),
    '',
    style('bold', 'Where the runs are'),
    ...wrap(
      '  --store sqlite:./file.sqlite | postgres://…, or COUNTERSIGN_STORE; else what your agents file says (countersign.config.ts or agents.ts); else sqlite:./.countersign/runs.sqlite. A running server: --url and --token, or COUNTERSIGN_URL and COUNTERSIGN_TOKEN.',
      78,
    ),
    '',
    ...wrap('Exit codes: 0 ok, 1 failed, 2 wrong usage, 3 not found, 4 conflict: somebody decided otherwise.', 78),
    `More: countersign <command> --help`,
  ].join('\n');
}

export function commandHelp(command: Command, style: Style): string {
  const options: Options = { ...command.options, ...COMMON_OPTIONS };
  const names = Object.entries(options).map(([name, { value, short }]) =>
    [short === undefined ? `    --${name}` : `-${short}, --${name}`, value === undefined ? '' : ` <${value}>`].join(''),
  );
  const width = Math.min(30, Math.max(...names.map((name) => name.length)));
  return [
    `${style('bold', 'Usage')}: countersign ${usageOf(command)} [options]`,
    '',
    ...command.description.flatMap((paragraph) => [...wrap(paragraph, 78), '']),
    style('bold', 'Options'),
    ...Object.values(options).flatMap(({ summary, choices }, index) =>
      entry(names[index] ?? '', choices ? `${summary}: ${choices.join(', ')}` : summary, width, style),
    ),
    '',
    style('bold', 'Examples'),
    ...command.examples.flatMap(([line, what]) => [
      `  ${line}`,
      ...wrap(what, 72).map((row) => style('dim', `      ${row}`)),
    ]),
  ].join('\n');
}

/** The same for programs. */
export function commandDocument(command: Command) {
  const { name, summary, description } = command;
  const options = Object.entries({ ...command.options, ...COMMON_OPTIONS }).map(([option, about]) => ({
    name: option,
    ...about,
  }));
  const examples = command.examples.map(([line, what]) => ({ line, what }));
  return { name, usage: `countersign ${usageOf(command)} [options]`, summary, description, options, examples };
}

const usageOf = (command: Command): string =>
  command.arguments === undefined ? command.name : `${command.name} ${command.arguments}`;

/** A name, and what it is beside it, or below it where the name is long. */
function entry(name: string, text: string, width: number, style: Style): readonly string[] {
  const rows = wrap(text, Math.max(30, 78 - width - 4));
  const margin = ' '.repeat(width + 4);
  if (name.length > width) return [`  ${style('cyan', name)}`, ...rows.map((row) => `${margin}${row}`)];
  const [first = '', ...rest] = rows;
  return [
    `  ${style('cyan', name)}${' '.repeat(width - name.length + 2)}${first}`,
    ...rest.map((row) => `${margin}${row}`),
  ];
}
