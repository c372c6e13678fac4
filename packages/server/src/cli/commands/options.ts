// Options that several commands share, and how their values are parsed.
import { Command, InvalidArgumentError, Option } from 'commander';
import { visibleLine } from '../../text/visible-text.ts';
import type { ExitCode } from '../failure.ts';
import type { Output } from '../print/output.ts';

/** The work of a command: gets the output, the arguments and the options, and may return an exit code. */
export type Work<Args extends unknown[]> = (output: Output, ...args: Args) => Promise<ExitCode | undefined>;

/** Wraps the work of a command as a commander action, and keeps the exit code that it returns. */
export type Action = <Args extends unknown[]>(work: Work<Args>) => (...args: Args) => Promise<void>;

export type StoreOptions = { readonly store?: string; readonly agents?: string };

export type BackendOptions = StoreOptions & {
  readonly url?: string;
  readonly token?: string;
  readonly by?: string;
  readonly role?: readonly string[];
};

export type AddressOptions = { readonly port: number; readonly host: string; readonly publicUrl?: string };

const SCOPES = ['start', 'read', 'decide'] as const;
type Scope = (typeof SCOPES)[number];

export type RightsOptions = {
  readonly scopes?: readonly Scope[];
  readonly all?: boolean;
  readonly role?: readonly string[];
};

export type PageOptions = { readonly limit: number; readonly cursor?: string };

/** A command that only has other commands. */
export const groupOf = (program: Command, name: string): Command =>
  program
    .command(name)
    .addHelpCommand(new Command('help').argument('[command]').description('show help for a command'));

/** `start` begins the description of each option. */
export const withFilters = (command: Command, start = 'only'): Command =>
  command
    .option('--agent <name>', `${start} requests of this agent`)
    .option('--tool <name>', `${start} requests of this tool`)
    .option('--run <run>', `${start} requests of this run`)
    .option('--search <words>', `${start} requests that contain these words`);

const AGENTS: readonly [flags: string, about: string] = [
  '--agents <file>',
  'file with your agents (default: countersign.config.ts or agents.ts)',
];

export const withStore = (command: Command, agents = AGENTS): Command =>
  command
    .option('--store <address>', 'sqlite:./file.sqlite or postgres://… (env: COUNTERSIGN_STORE)')
    .option(...agents);

export const withBackend = (command: Command, agents = AGENTS): Command =>
  withStore(command, agents)
    .option('--url <url>', 'use a running server (env: COUNTERSIGN_URL)')
    .option('--token <token>', 'token for the server (better: env COUNTERSIGN_TOKEN)');

/** A user with the store can write anything to it, so the command believes the name that they give. */
export const withDecider = (command: Command): Command =>
  command
    .option('--by <person>', 'the person to decide as (default: $USER); a server uses the token instead')
    .option('--role <name>', 'a role of this person, for policies; repeat it for several', collectRole);

export const withRights = (command: Command): Command =>
  command
    .option('--scopes <list>', `the rights of the token: any of ${SCOPES.join(',')} (default: all)`, parseScopes)
    .option('--all', "give access to everyone's runs")
    .option('--role <name>', 'a role that policies may ask for; repeat it for several', collectRole);

/** As in `read, decide; all runs; role finance`. */
export function rightsText({ scopes, reach, roles }: Rights): string {
  const rights = `${scopes.join(', ')}; ${reach === 'all' ? 'all runs' : 'their own runs'}`;
  if (roles.length === 0) return rights;
  return `${rights}; ${roles.length === 1 ? 'role' : 'roles'} ${roles.map(visibleLine).join(', ')}`;
}

type Rights = { readonly scopes: readonly Scope[]; readonly reach: 'own' | 'all'; readonly roles: readonly string[] };

export const withPage = (command: Command): Command =>
  command
    .option('--limit <number>', 'page size, 1 to 200', wholeNumber(1, 200), 50)
    .option('--cursor <cursor>', 'continue after an earlier page');

export const DEFAULT_PORT = 3000;

export const withAddress = (command: Command): Command =>
  command
    .addOption(
      new Option('--port <number>', 'port to listen on; 0 picks a free one')
        .env('PORT')
        .default(DEFAULT_PORT)
        // An empty PORT counts as not set.
        .argParser((text) => (text === '' ? DEFAULT_PORT : wholeNumber(0, 65_535)(text))),
    )
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--public-url <url>', 'address that browsers use, e.g. https://approvals.example.com', httpUrl);

type Example = readonly [line: string, about: string];

const examples = new WeakMap<Command, readonly Example[]>();

/** The examples of a command, for its help as JSON. */
export const examplesOf = (command: Command): readonly { readonly command: string; readonly description: string }[] =>
  (examples.get(command) ?? []).map(([line, about]) => ({ command: line, description: about }));

/** Adds examples below the help of a command. */
export function withExamples(command: Command, ...given: readonly Example[]): Command {
  examples.set(command, given);
  const lines = given.map(([line, about]) => `  ${line}\n      ${about}`);
  return command.addHelpText('after', ['', 'Examples:', ...lines].join('\n'));
}

export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^-?\d+$/.test(text) && number >= least && number <= most) return number;
    throw new InvalidArgumentError(`Expected a whole number from ${least} to ${most}.`);
  };
}

function parseScopes(text: string): readonly Scope[] {
  return text.split(',').map((word) => {
    const scope = SCOPES.find((known) => known === word.trim());
    if (scope) return scope;
    throw new InvalidArgumentError(`Expected any of ${SCOPES.join(',')}.`);
  });
}

const collectRole = (role: string, earlier: readonly string[] = []): readonly string[] => [...earlier, role];

export function httpUrl(text: string): string {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text;
  throw new InvalidArgumentError('Expected a URL such as https://approvals.example.com.');
}

/** Adds `--json` to each command, and rejects an option where a value is missing, as in `--respond --wait`. */
export function completeOptions(command: Command): void {
  if (command.commands.length === 0) command.option('--json', 'print JSON, also for errors');
  for (const option of command.options) {
    if (!option.required) continue;
    const parse = option.parseArg;
    option.argParser((text, previous) => {
      if (/^--[a-z]/.test(text)) throw new InvalidArgumentError('A value is missing.');
      return parse ? parse(text, previous) : text;
    });
  }
  for (const subcommand of command.commands) completeOptions(subcommand);
}
