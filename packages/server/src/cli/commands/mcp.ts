// `countersign mcp`: a gate before any MCP server, the permission tool of coding agents, and the inbox for MCP clients.
import { readFileSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Command } from 'commander';
import type { McpGate } from '../../mcp-gate/mcp-gate.ts';
import type { McpRules } from '../../mcp-gate/rules.ts';
import { visibleLine } from '../../text/visible-text.ts';
import { CommandFailure, EXIT, failureOf, usageFailure } from '../failure.ts';
import type { Output } from '../print/output.ts';
import type { OpenedGate } from '../runtime/opening-gate.ts';
import { stopSignal, survivingLostOutput } from '../runtime/stopping.ts';
import { addMcpInbox } from './mcp-inbox.ts';
import { type Action, httpUrl, type StoreOptions, wholeNumber, withExamples, withStore } from './options.ts';
import { parseJson } from './value.ts';

type GateOptions = StoreOptions & {
  readonly name?: string;
  readonly rules?: string;
  readonly by?: string;
  readonly url?: string;
  readonly listen?: number;
  readonly host: string;
  readonly hold: number;
  readonly decideInClient?: boolean;
};

export function addMcp(program: Command, action: Action): void {
  const mcp = program
    .command('mcp')
    .summary('put a gate before MCP servers, ask for coding agents, decide in clients')
    .description('Model Context Protocol: a gate before the tools of any MCP server, and the inbox as an MCP server.');
  withExamples(mcp, ['countersign mcp gate -- npx -y some-mcp-server', 'ask before each call of a tool']);
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
    .option('--url <url>', 'the MCP server to stand before, instead of a command; with --listen', httpUrl)
    .option('--listen <port>', 'serve Streamable HTTP on this port; 0 picks a free one', wholeNumber(0, 65_535))
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--decide-in-client', 'let the user of the client decide there, too; off by default')
    .option('--hold <seconds>', 'how long a call waits before its client gets an answer', wholeNumber(1, 3_600), 50)
    .action(action(survivingLostOutput(gateServer)));
  withExamples(
    withStore(gate),
    ['countersign mcp gate -- npx -y @modelcontextprotocol/server-filesystem /data', 'ask before each call of a tool'],
    ['countersign mcp gate --rules mcp-rules.json -- node server.js', 'ask before those that the rules name'],
    ['countersign mcp gate --url https://example.com/mcp --listen 4000', 'before an MCP server on the network'],
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
  addMcpInbox(mcp, action);
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
    .option('--wait <seconds>', 'how long to wait for the decision', wholeNumber(0, 86_400), wait)
    .option('--lease <seconds>', 'how long an allowed call may run', wholeNumber(1, 86_400), 600);

async function servePermission(_output: Output, options: PermitCommandOptions): Promise<undefined> {
  console.log = console.error;
  const [{ openGate }, { servePermissions }] = await Promise.all([
    import('../runtime/opening-gate.ts'),
    import('../../coding-agents/permission-server.ts'),
  ]);
  const { ai, by, close } = await openGate(options);
  const times = { waitMs: 1_000 * options.wait, leaseMs: 1_000 * options.lease };
  await servePermissions({ ai, by, ...times }, stopSignal());
  await close();
  return undefined;
}

/** Tools are recorded as `mcp__server__tool`, so the name of a server must end where the first `__` begins. */
const serverName = (name: string): string => {
  if (/^[\w-]{1,40}$/.test(name) && !/__|_$/.test(name)) return name;
  throw usageFailure(
    `Invalid name “${visibleLine(name)}”: use up to 40 letters, digits, "_" and "-", without "__" and without "_" at the end.`,
  );
};

async function gateServer(output: Output, words: readonly string[], options: GateOptions): Promise<undefined> {
  const { url, listen } = options;
  if ((url === undefined) === (words.length === 0))
    throw usageFailure(
      'Name the MCP server: a command after --, or --url.',
      'Example: countersign mcp gate -- npx -y some-mcp-server',
    );
  if ((url === undefined) !== (listen === undefined)) throw usageFailure('--url and --listen work together.');
  // Standard output belongs to the protocol.
  console.log = console.error;
  const { openGate } = await import('../runtime/opening-gate.ts');
  const { url: _upstream, ...own } = options;
  const opened = await openGate(own);
  try {
    const [{ McpGate }, { nameOfCommand, nameOfUrl }] = await Promise.all([
      import('../../mcp-gate/mcp-gate.ts'),
      import('../../mcp-gate/server-name.ts'),
    ]);
    const name = options.name ?? (url === undefined ? nameOfCommand(words) : nameOfUrl(url));
    const onError = (error: unknown) =>
      output.note(`${output.style('red', 'error')}: ${visibleLine(failureOf(error).message)}`);
    const rules = await rulesOf(options.rules, opened.mcp);
    const { decideInClient = false, hold } = options;
    const gate = await McpGate.open({ ai: opened.ai, name, rules, holdMs: 1_000 * hold, decideInClient, onError });
    const say = (where: string) => output.note(`Gate before ${name}${where}, on ${opened.where}.`);
    const front = { gate, by: opened.by, onError, say, stop: stopSignal() };
    if (url === undefined) await overStdio(words, front);
    else await overHttp({ url, host: options.host, port: listen ?? 0 }, front);
  } finally {
    await opened.close();
  }
  return undefined;
}

type Front = {
  readonly gate: McpGate;
  readonly by: string;
  readonly onError: (error: unknown) => void;
  readonly say: (where: string) => void;
  readonly stop: Promise<unknown>;
};

const MOST_BYTES = 64 * 1024 * 1024;

async function overStdio([command = '', ...args]: readonly string[], { gate, by, onError, say, stop }: Front) {
  const [{ relay }, { StdioClient }, { StdioClientTransport }] = await Promise.all([
    import('../../mcp-gate/relay.ts'),
    import('../../mcp-gate/stdio-client.ts'),
    import('@modelcontextprotocol/client/stdio'),
  ]);
  const env = Object.fromEntries(Object.entries(process.env).filter(([, value]) => value !== undefined));
  const server = new StdioClientTransport({
    command,
    args: [...args],
    env: env as Record<string, string>,
    maxBufferSize: MOST_BYTES,
  });
  server.onerror = onError;
  const stopping = new AbortController();
  void stop.then(() => stopping.abort());
  say('');
  await relay({ client: new StdioClient(), server, gate, by, onError, stop: stopping.signal });
}

async function overHttp(at: { readonly url: string; readonly host: string; readonly port: number }, front: Front) {
  const { serveProxy } = await import('../../mcp-gate/serve-proxy.ts');
  const { cannotListen } = await import('../runtime/serving.ts');
  const served = await serveProxy({ ...at, gate: front.gate, by: front.by }).catch((error: unknown) => {
    throw cannotListen(error, at.host, at.port);
  });
  front.say(` at ${served.url}`);
  await front.stop;
  await served.close();
  await front.gate.close();
}

/** A mistake in the rules would leave calls unprotected, so it ends the command. */
export async function rulesOf(named: string | undefined, mcp: OpenedGate['mcp']): Promise<McpRules> {
  const { parseRules } = await import('../../mcp-gate/rules.ts');
  if (named !== undefined) return parseRules(await readRules(named), named);
  return mcp ? parseRules(mcp.rules, `\`mcp\` of ${mcp.file}`) : {};
}

async function readRules(file: string): Promise<unknown> {
  try {
    if (extname(file) === '.json') return parseJson('The file', readFileSync(resolve(file), 'utf8'));
    const module = await import(pathToFileURL(resolve(file)).href);
    return module.mcp ?? module.default?.mcp ?? module.default;
  } catch (cause) {
    const message = `Cannot read the rules in ${visibleLine(file)}: ${(cause as Error).message}`;
    throw new CommandFailure(EXIT.failure, 'gate-rules', message, { cause });
  }
}
