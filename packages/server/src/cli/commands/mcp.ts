// `countersign mcp`: a gate before any MCP server, and the permission tool of coding agents.
import { readFileSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Command } from 'commander';
import type { McpRules } from '../../mcp-gate/rules.ts';
import { CommandFailure, EXIT, failureOf, usageFailure } from '../failure.ts';
import type { Output } from '../print/output.ts';
import { visibleLine } from '../print/visible-text.ts';
import type { OpenedGate } from '../runtime/opening.ts';
import { stopSignal, survivingLostOutput } from '../runtime/stopping.ts';
import { type Action, type StoreOptions, wholeNumber, withExamples, withStore } from './options.ts';

type GateOptions = StoreOptions & {
  readonly name?: string;
  readonly rules?: string;
  readonly by?: string;
  readonly hold: number;
};

export function addMcp(program: Command, action: Action): void {
  const mcp = program
    .command('mcp')
    .summary('put a gate before MCP servers, and ask for coding agents')
    .description('Model Context Protocol: a gate before the tools of any MCP server.');
  const gate = mcp
    .command('gate [command...]')
    .summary('run an MCP server behind a gate')
    .description(
      [
        'Starts an MCP server and stands between it and its client. Everything passes through; calls of tools that the rules name wait for a person. Without rules, every call of a tool waits.',
        'Each approved call is sent at most once. If its result is lost, a person is asked what happened.',
      ].join('\n\n'),
    )
    .option('--rules <file>', 'which tools ask: JSON, or a module (default: `mcp` in countersign.config.ts)')
    .option('--name <name>', 'name of the MCP server in the inbox (default: from the command)', serverName)
    .option('--by <person>', 'whom the calls are made for (default: $USER)')
    .option('--hold <seconds>', 'how long a call waits before its client gets an answer', wholeNumber(1, 3_600), 50)
    .action(action(survivingLostOutput(gateServer)));
  withExamples(
    withStore(gate),
    ['countersign mcp gate -- npx -y @modelcontextprotocol/server-filesystem /data', 'ask before each call of a tool'],
    ['countersign mcp gate --rules mcp-rules.json -- node server.js', 'ask before those that the rules name'],
  );
  const permission = mcp
    .command('permission')
    .summary('serve the permission tool of a coding agent')
    .description('An MCP server with the tool approve, for claude --permission-prompt-tool mcp__countersign__approve.')
    .action(action(survivingLostOutput(servePermission)));
  withExamples(withPermits(permission, 3_600), [
    'countersign mcp permission',
    'as a server in the settings of the agent',
  ]);
}

export type PermitCommandOptions = StoreOptions & {
  readonly by?: string;
  readonly wait: number;
  readonly lease: number;
};

/** The options of commands that let a coding agent run a call. */
export const withPermits = (command: Command, wait: number): Command =>
  withStore(command)
    .option('--by <person>', 'whom the agent works for (default: $USER)')
    .option('--wait <seconds>', 'how long to wait for the decision', wholeNumber(1, 86_400), wait)
    .option('--lease <seconds>', 'how long an allowed call may run', wholeNumber(1, 86_400), 600);

async function servePermission(_output: Output, options: PermitCommandOptions): Promise<undefined> {
  console.log = console.error;
  const [{ openGate }, { servePermissions }] = await Promise.all([
    import('../runtime/opening.ts'),
    import('../../coding-agents/permission-server.ts'),
  ]);
  const { ai, by, close } = await openGate(options);
  const times = { waitMs: 1_000 * options.wait, leaseMs: 1_000 * options.lease };
  await servePermissions({ ai, by, ...times }, stopSignal());
  await close();
  return undefined;
}

const serverName = (name: string): string => {
  if (/^[\w-]{1,40}$/.test(name)) return name;
  throw usageFailure(`Invalid name “${visibleLine(name)}”: use up to 40 letters, digits, "_" and "-".`);
};

async function gateServer(output: Output, words: readonly string[], options: GateOptions): Promise<undefined> {
  const [command, ...args] = words;
  if (command === undefined)
    throw usageFailure('Missing the MCP server to start.', 'Example: countersign mcp gate -- npx -y some-mcp-server');
  // Standard output belongs to the protocol.
  console.log = console.error;
  const { openGate } = await import('../runtime/opening.ts');
  const opened = await openGate(options);
  try {
    const [{ McpGate }, { relay }, { nameOfCommand }] = await Promise.all([
      import('../../mcp-gate/mcp-gate.ts'),
      import('../../mcp-gate/relay.ts'),
      import('../../mcp-gate/server-name.ts'),
    ]);
    const name = options.name ?? nameOfCommand(words);
    const onError = (error: unknown) =>
      output.note(`${output.style('red', 'error')}: ${visibleLine(failureOf(error).message)}`);
    const rules = await rulesOf(options.rules, opened.mcp);
    const gate = await McpGate.open({ ai: opened.ai, name, rules, holdMs: 1_000 * options.hold, onError });
    const { client, server } = await stdioConnections(command, args);
    client.onerror = onError;
    server.onerror = onError;
    const stop = new AbortController();
    void stopSignal().then(() => stop.abort());
    output.note(`Gate before ${name}, on ${opened.where}.`);
    await relay({ client, server, gate, principal: opened.by, by: opened.by, stop: stop.signal });
  } finally {
    await opened.close();
  }
  return undefined;
}

const MOST_BYTES = 64 * 1024 * 1024;

async function stdioConnections(command: string, args: readonly string[]) {
  const [{ StdioServerTransport }, { StdioClientTransport }] = await Promise.all([
    import('@modelcontextprotocol/server/stdio'),
    import('@modelcontextprotocol/client/stdio'),
  ]);
  const env = Object.fromEntries(Object.entries(process.env).filter(([, value]) => value !== undefined));
  const server = new StdioClientTransport({
    command,
    args: [...args],
    env: env as Record<string, string>,
    maxBufferSize: MOST_BYTES,
  });
  return { client: new StdioServerTransport(undefined, undefined, { maxBufferSize: MOST_BYTES }), server };
}

/** A mistake in the rules would leave calls unprotected, so it ends the command. */
export async function rulesOf(named: string | undefined, mcp: OpenedGate['mcp']): Promise<McpRules> {
  const { parseRules } = await import('../../mcp-gate/rules.ts');
  if (named !== undefined) return parseRules(await readRules(named), named);
  return mcp ? parseRules(mcp.rules, `\`mcp\` of ${mcp.file}`) : {};
}

async function readRules(file: string): Promise<unknown> {
  try {
    if (extname(file) === '.json') return JSON.parse(readFileSync(resolve(file), 'utf8'));
    const module = await import(pathToFileURL(resolve(file)).href);
    return module.mcp ?? module.default?.mcp ?? module.default;
  } catch (cause) {
    const message = `Cannot read the rules in ${visibleLine(file)}: ${(cause as Error).message}`;
    throw new CommandFailure(EXIT.failure, 'gate-rules', message, { cause });
  }
}
