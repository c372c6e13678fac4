// A user's folder: agents.ts, a store, and the command line, run in this process or in a child.
import { type ChildProcess, spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sqliteStore } from 'countersign/sqlite';
import { afterEach, beforeEach } from 'vitest';
import { runCommandLine } from '../../src/cli/command-line.ts';
import agents from './fixtures/agents.ts';
import { inTerminal, plainEnvironment, type TerminalOptions, watchOutput } from './pty.ts';

export const MAIN = join(import.meta.dirname, '../../src/cli/main.ts');
export const COMMAND_LINE = join(import.meta.dirname, '../../src/cli/command-line.ts');
export const FIXTURES = join(import.meta.dirname, 'fixtures');

export type Finished = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

export function createWorkplace() {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-cli-'));
  const storeFile = join(folder, '.countersign/runs.sqlite');
  const children: ChildProcess[] = [];
  symlinkSync(join(import.meta.dirname, '../../../../node_modules'), join(folder, 'node_modules'));
  mkdirSync(join(folder, '.countersign'));

  const run = (command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}, input = ''): Promise<Finished> =>
    new Promise((resolve, reject) => {
      const child = spawn(command, args, { cwd: folder, env: { ...plainEnvironment(), ...env } });
      children.push(child);
      let [stdout, stderr] = ['', ''];
      child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
      child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
      child.on('error', reject).on('close', (code) => resolve({ code, stdout, stderr }));
      child.stdin.end(input);
    });
  const begin = (args: readonly string[], env: NodeJS.ProcessEnv = {}, node = process.execPath) => {
    const child = spawn(node, [MAIN, ...args], { cwd: folder, env: { ...plainEnvironment(), ...env } });
    children.push(child);
    return watchOutput(child);
  };
  const countersign = (args: readonly string[], env: NodeJS.ProcessEnv = {}) => inProcess(folder, args, env);
  const json = async <T = any>(...args: readonly string[]): Promise<T> => {
    const { code, stdout, stderr } = await countersign([...args, '--json']);
    if (code !== 0) throw new Error(`countersign ${args.join(' ')} ended with ${code}: ${stderr}`);
    return JSON.parse(stdout);
  };

  return {
    folder,
    path: (name: string) => join(folder, name),
    run,
    withAgents: () => copyFileSync(join(FIXTURES, 'agents.ts'), join(folder, 'agents.ts')),
    /** Runs `countersign …` in this process. */
    countersign,
    /** Runs `countersign …` in a child process. */
    spawned: (args: readonly string[], env: NodeJS.ProcessEnv = {}, input?: string) =>
      run(process.execPath, [MAIN, ...args], env, input),
    /** Returns the JSON that a command prints. */
    json,
    /** Starts runs with these prompts, drives them until they pause, and returns their ids. */
    async start(...prompts: readonly string[]): Promise<readonly string[]> {
      const store = sqliteStore(storeFile);
      const ai = agents({ store });
      const ids: string[] = [];
      for (const prompt of prompts) {
        const started = await ai.agents.get('assistant')?.start(prompt, { by: 'ann' });
        ids.push(started?.id ?? '');
        await ai.runs.wait(started?.id ?? '');
      }
      await ai.runs.settled();
      await store.close();
      return ids;
    },
    /** Starts a command that keeps running; its output can be waited for. */
    begin,
    /** Starts a server with the agents of this folder; payments go to the file `ledger`. */
    async serving(...args: readonly string[]) {
      const port = args.includes('--port') ? [] : ['--port', '0'];
      const server = begin(['serve', 'agents.ts', ...port, ...args], { LEDGER: join(folder, 'ledger') });
      const [, url = ''] = await server.says(/ at (http:\S+)\. Press/);
      return { ...server, url };
    },
    /** Creates a token with access to everyone's runs. */
    tokenFor: async (person: string): Promise<string> => (await json('tokens', 'create', person, '--all')).token,
    terminal(args: readonly string[], options: Omit<TerminalOptions, 'cwd'> = {}) {
      const terminal = inTerminal([process.execPath, MAIN, ...args], { ...options, cwd: folder });
      children.push(terminal.child);
      return terminal;
    },
    close() {
      for (const child of children) if (child.exitCode === null) child.kill('SIGKILL');
      // A killed process may still write.
      rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    },
  };
}

export type Workplace = ReturnType<typeof createWorkplace>;
export type InTerminal = ReturnType<Workplace['terminal']>;

/** Creates a new workplace for each test, with the agents in it unless `agents` is false. */
export function workplaceForEach({ agents: hasAgents = true } = {}): Workplace {
  const place = {} as Workplace;
  beforeEach(() => {
    Object.assign(place, createWorkplace());
    if (hasAgents) place.withAgents();
  });
  afterEach(() => place.close());
  return place;
}

/** Commands share the folder, the environment and the output of this process, so one runs at a time. */
let last: Promise<unknown> = Promise.resolve();

function inProcess(folder: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<Finished> {
  const finished = last.then(async (): Promise<Finished> => {
    const { stdout, stderr } = process;
    const before = { folder: process.cwd(), env: process.env, out: stdout.write, err: stderr.write };
    const printed = { stdout: '', stderr: '' };
    process.chdir(folder);
    process.env = { ...plainEnvironment(), ...env };
    const capture = (stream: 'stdout' | 'stderr') => (text: string) => {
      printed[stream] += text;
      return true;
    };
    Object.assign(stdout, { write: capture('stdout') });
    Object.assign(stderr, { write: capture('stderr') });
    try {
      return { code: await runCommandLine(args), ...printed };
    } finally {
      process.chdir(before.folder);
      process.env = before.env;
      stdout.write = before.out;
      stderr.write = before.err;
    }
  });
  last = finished.catch(() => undefined);
  return finished;
}

export const PAY = 'call transferMoney {"toAccount":"DE02","amount":950}';
export const ASK = 'call askQuestion {"question":"Which grill?","choices":["Gas","Coal"]}';
export const BOOK = 'call bookTable {"question":"A table?"}';
export const HOSTILE = `call transferMoney ${JSON.stringify({ toAccount: 'evil\u001b[2J\u202ex\u200b\u0007', amount: 9 })}`;
