// `countersign hook`: lets a coding agent ask before it runs a tool.
import { readFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { type AgentName, CODING_AGENTS } from '../../coding-agents/agent-names.ts';
import { defined } from '../../defined.ts';
import { EXIT, type ExitCode, failureOf } from '../failure.ts';
import type { Output } from '../print/output.ts';
import { failClosed } from '../runtime/fail-closed.ts';
import { type PermitCommandOptions, rulesOf, withPermits } from './mcp.ts';
import { type Action, httpUrl, withExamples } from './options.ts';
import { readValue } from './value.ts';

type HookCommandOptions = PermitCommandOptions & {
  readonly rules?: string;
  readonly defer?: boolean;
  readonly from?: AgentName;
  readonly url?: string;
  readonly tokenFile?: string;
};

export function addHook(program: Command, action: Action): void {
  const command = program
    .command('hook')
    .summary('a hook for coding agents: ask before a tool runs')
    .description(
      [
        'Reads an event of a coding agent from standard input and prints the answer. `countersign agents install` writes it into the settings of agents.',
        'PreToolUse and PermissionRequest ask a person, PostToolUse and PostToolUseFailure record the end. Other agents name them differently.',
        'An allowed call without an end is in doubt after --lease. Exit code 2 blocks the call: every failure ends with it.',
      ].join('\n\n'),
    )
    .option('--rules <file>', 'which tools ask: JSON, or a module (default: all that the agent sends here)')
    .addOption(
      new Option('--from <agent>', 'the agent (default: Claude Code or Codex, by the event)').choices(CODING_AGENTS),
    )
    .option('--url <url>', 'people decide on this server; --store only remembers open calls', httpUrl)
    .option('--token-file <file>', 'a file with the token for the server (default: COUNTERSIGN_TOKEN)')
    .option('--defer', 'while a request is pending, end the turn of Claude Code instead of denying the call')
    .action(action(hook));
  withExamples(
    withPermits(command, 50),
    ['countersign hook --wait 3500 < event.json', 'answer one event'],
    ['countersign hook --rules agent-rules.json', 'ask only for some tools'],
  );
}

/** How long opening the store and writing the answer may take, beside --wait. */
const MARGIN_MS = 20_000;

async function hook(output: Output, options: HookCommandOptions): Promise<ExitCode | undefined> {
  const { wait, lease, defer = false, from, url, tokenFile, ...opening } = options;
  const { answer, refused } = failClosed(1_000 * wait + MARGIN_MS);
  try {
    const text = await readValue('The event', '-');
    const [{ openGate }, { answerHook }] = await Promise.all([
      import('../runtime/opening-gate.ts'),
      import('../../coding-agents/hook.ts'),
    ]);
    const { ai, by, close } = await openGate(opening);
    try {
      const server = url === undefined ? undefined : await serverOf(url, tokenFile);
      const rules = await rulesOf(options.rules, undefined);
      const times = { waitMs: 1_000 * wait, leaseMs: 1_000 * lease };
      const given = await answerHook(text, { ai, by, server, rules, from, defer, ...times });
      await answer(given === undefined ? '' : `${JSON.stringify(given)}\n`);
    } finally {
      await close();
    }
    return undefined;
  } catch (error) {
    const failed = failureOf(error);
    output.failure(failed.saying(`The call is blocked, because asking failed: ${failed.message}`));
    refused();
    return EXIT.usage;
  }
}

async function serverOf(url: string, tokenFile: string | undefined) {
  const { createClient } = await import('../../client/index.ts');
  const token = tokenFile === undefined ? process.env.COUNTERSIGN_TOKEN : readFileSync(tokenFile, 'utf8').trim();
  return createClient(url, defined({ token: token || undefined }));
}
