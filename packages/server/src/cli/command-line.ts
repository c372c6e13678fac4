// The command line: builds the program, runs one command, and turns every outcome into an exit code.
import { readFileSync } from 'node:fs';
import { styleText } from 'node:util';
import { Command, CommanderError } from 'commander';
import { type Action, completeOptions, examplesOf, withExamples } from './commands/options.ts';
import { type CommandFailure, EXIT, type ExitCode, failureOf, usageFailure } from './failure.ts';
import { createOutput } from './print/output.ts';

/** Runs one command line. Never throws. */
export async function runCommandLine(args: readonly string[]): Promise<ExitCode> {
  // What follows -- is for another program.
  const own = args.includes('--') ? args.slice(0, args.indexOf('--')) : args;
  const output = createOutput(own.includes('--json'));
  let exitCode: ExitCode = EXIT.ok;
  let help = '';
  const action: Action =
    (work) =>
    async (...values) => {
      exitCode = (await work(output, ...values)) ?? EXIT.ok;
    };
  const program = await createProgram(args[0] ?? '', action, (text) => {
    help += text;
  });
  try {
    await program.parseAsync(args.length === 0 ? ['--help'] : nestedHelp(args), { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) {
      if (!output.json) output.line(help.trimEnd());
      else if (error.code === 'commander.version') output.document({ version: error.message });
      else output.document(helpDocument(namedCommand(program, args)));
      return EXIT.ok;
    }
    const failure = error instanceof CommanderError ? misuse(program, args, error) : failureOf(error);
    output.failure(failure);
    return failure.exitCode;
  }
}

/** `first`: the first word. If it names a command, the program knows only that one; help and mistakes need all of them. */
async function createProgram(first: string, action: Action, writeHelp: (text: string) => void): Promise<Command> {
  const program = new Command('countersign')
    .description('People approve what AI agents do: a tool call pauses, a person decides, the run resumes.')
    .version(version(), '-v, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .addHelpCommand(
      new Command('help').argument('[command]').description('show help for a command').helpGroup('Maintain:'),
    )
    // Its options come before the command: the digest after `--digest` may begin with -v.
    .enablePositionalOptions()
    .exitOverride()
    // Help goes through our output; errors are printed as failures.
    .configureOutput({ writeOut: writeHelp, writeErr: () => {} })
    .configureHelp({
      helpWidth: 80,
      subcommandTerm: (command) => `${command.name()} ${command.usage()}`.replace(/ \[(options|command)\]/g, ''),
      styleTitle: (text) => styleText('bold', text, { validateStream: false }),
      styleCommandText: (text) => styleText('cyan', text, { validateStream: false }),
      styleOptionTerm: (text) => styleText('cyan', text, { validateStream: false }),
      styleSubcommandTerm: (text) => styleText('cyan', text, { validateStream: false }),
    });
  withExamples(
    program,
    ['countersign dev', 'serve agents.ts in this folder, or a demo, and open the inbox'],
    ['countersign inbox', 'decide pending requests in the terminal'],
  ).addHelpText('after', GENERAL_HELP);
  const named = Object.values(COMMANDS).some((group) => Object.hasOwn(group, first)) ? first : undefined;
  for (const [title, group] of Object.entries(COMMANDS)) {
    program.commandsGroup(title);
    const wanted = Object.entries(group).filter(([name]) => named === undefined || name === named);
    for (const add of await Promise.all(wanted.map(([, load]) => load()))) add(program, action);
  }
  completeOptions(program);
  return program;
}

type Add = (program: Command, action: Action) => void;

/** The commands by group, in the order of the help. A command loads its own file only, so that hooks of coding agents start at once. */
const COMMANDS: Readonly<Record<string, Readonly<Record<string, () => Promise<Add>>>>> = {
  'Run:': {
    init: async () => (await import('./commands/operations/init.ts')).addInit,
    dev: async () => (await import('./commands/operations/dev.ts')).addDev,
    serve: async () => (await import('./commands/operations/serve.ts')).addServe,
    worker: async () => (await import('./commands/operations/worker.ts')).addWorker,
    gate: async () => (await import('./commands/gate.ts')).addGate,
    mcp: async () => (await import('./commands/mcp.ts')).addMcp,
    hook: async () => (await import('./commands/hook.ts')).addHook,
    agents: async () => (await import('./commands/operations/agents.ts')).addAgents,
  },
  'Decide:': {
    inbox: async () => (await import('./commands/inbox.ts')).addInbox,
    watch: async () => (await import('./commands/watch.ts')).addWatch,
    decide: async () => (await import('./commands/decide.ts')).addDecide,
    approve: async () => (await import('./commands/decide-many.ts')).addApprove,
    reject: async () => (await import('./commands/decide-many.ts')).addReject,
    recall: async () => (await import('./commands/undo.ts')).addRecall,
    undo: async () => (await import('./commands/undo.ts')).addUndo,
    assign: async () => (await import('./commands/assign.ts')).addAssign,
    comment: async () => (await import('./commands/comment.ts')).addComment,
    away: async () => (await import('./commands/away.ts')).addAway,
    grants: async () => (await import('./commands/grants.ts')).addGrants,
    freeze: async () => (await import('./commands/freezes.ts')).addFreeze,
    unfreeze: async () => (await import('./commands/freezes.ts')).addUnfreeze,
    freezes: async () => (await import('./commands/freezes.ts')).addFreezes,
  },
  'Inspect:': {
    runs: async () => (await import('./commands/runs.ts')).addRuns,
    show: async () => (await import('./commands/show.ts')).addShow,
    stats: async () => (await import('./commands/stats.ts')).addStats,
    replay: async () => (await import('./commands/operations/replay.ts')).addReplay,
    policies: async () => (await import('./commands/operations/policies.ts')).addPolicies,
    evidence: async () => (await import('./commands/evidence.ts')).addEvidence,
    verify: async () => (await import('./commands/verify.ts')).addVerify,
  },
  'Maintain:': {
    login: async () => (await import('./commands/operations/login.ts')).addLogin,
    logout: async () => (await import('./commands/operations/login.ts')).addLogout,
    link: async () => (await import('./commands/operations/link.ts')).addLink,
    people: async () => (await import('./commands/operations/people.ts')).addPeople,
    tokens: async () => (await import('./commands/operations/tokens.ts')).addTokens,
    passkeys: async () => (await import('./commands/operations/passkeys.ts')).addPasskeys,
    'vapid-keys': async () => (await import('./commands/operations/vapid-keys.ts')).addVapidKeys,
    channels: async () => (await import('./commands/operations/channels.ts')).addChannels,
    doctor: async () => (await import('./commands/operations/doctor.ts')).addDoctor,
    migrate: async () => (await import('./commands/operations/migrate.ts')).addMigrate,
    rebuild: async () => (await import('./commands/operations/rebuild.ts')).addRebuild,
  },
};

const GENERAL_HELP = `
Where runs are stored, first match wins:
  --store
  the store in your agents file (countersign.config.ts or agents.ts)
  COUNTERSIGN_STORE
  sqlite:./.countersign/runs.sqlite
Or use a server: --url and --token, or COUNTERSIGN_URL and COUNTERSIGN_TOKEN,
or the token of countersign login.

Exit codes: 0 ok, 1 failed, 2 wrong usage, 3 not found,
            4 conflict (someone decided differently)`;

/** Reads `help tokens create` as `tokens create --help`: the command `help` itself takes one word. */
function nestedHelp(args: readonly string[]): readonly string[] {
  const words = args.filter((word) => word !== 'help');
  const isNested = args[0] === 'help' && words.filter((word) => !word.startsWith('-')).length !== 1;
  return isNested ? [...words, '--help'] : args;
}

/** The help of a command, for programs. */
function helpDocument(command: Command): object {
  const help = command.createHelp();
  const options = help.visibleOptions(command).map(({ flags, description }) => ({ flags, description }));
  const commands = help.visibleCommands(command).filter((subcommand) => subcommand.name() !== 'help');
  return {
    name: command.name(),
    usage: help.commandUsage(command),
    description: command.description(),
    options,
    examples: examplesOf(command),
    ...(commands.length > 0 && { commands: commands.map(helpDocument) }),
  };
}

/** Follows the words of the command line as far as they name a command. */
function namedCommand(program: Command, args: readonly string[]): Command {
  let found = program;
  for (const word of args.filter((arg) => arg !== 'help' && !arg.startsWith('-'))) {
    const next = found.commands.find((command) => command.name() === word);
    if (!next) break;
    found = next;
  }
  return found;
}

function misuse(program: Command, args: readonly string[], { code, message }: CommanderError): CommandFailure {
  const command = namedCommand(program, args);
  const path = command
    .createHelp()
    .commandUsage(command)
    .replace(/ [[<].*/, '');
  const names = command.commands.map((subcommand) => subcommand.name()).join(', ');
  const text =
    code === 'commander.help'
      ? `${path} needs one of: ${names}.`
      : message.replace(/^error: /, '').replace(/\n\((Did you mean .*)\)$/, '. $1');
  const sentence = text.startsWith('countersign') ? text : `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
  return usageFailure(/[.?]$/.test(sentence) ? sentence : `${sentence}.`, `See: ${path} --help`);
}

function version(): string {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;
}
