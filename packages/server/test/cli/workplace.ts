// A folder as a user has it: agents.ts, a store, and the command line run in it as a process of its own.
import { type ChildProcess, spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { inTerminal, plainEnvironment, type TerminalOptions } from './pty.ts';

export const MAIN = join(import.meta.dirname, '../../src/cli/main.ts');
export const FIXTURES = join(import.meta.dirname, 'fixtures');

export type Finished = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

export function createWorkplace() {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-cli-'));
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
    return watched(child);
  };
  const json = async <T = any>(...args: readonly string[]): Promise<T> => {
    const { code, stdout, stderr } = await run(process.execPath, [MAIN, ...args, '--json'], {});
    if (code !== 0) throw new Error(`countersign ${args.join(' ')} ended with ${code}: ${stderr}`);
    return JSON.parse(stdout);
  };

  return {
    folder,
    path: (name: string) => join(folder, name),
    run,
    withAgents: () => copyFileSync(join(FIXTURES, 'agents.ts'), join(folder, 'agents.ts')),
    /** `countersign …`, until it has ended. */
    countersign: (args: readonly string[], env: NodeJS.ProcessEnv = {}, input?: string) =>
      run(process.execPath, [MAIN, ...args], env, input),
    /** Its result as a document. */
    json,
    /** Starts runs that say these, and drives them until they rest; gives their ids. */
    async start(...prompts: readonly string[]): Promise<readonly string[]> {
      const file = join(folder, '.countersign/runs.sqlite');
      const { code, stdout, stderr } = await run(process.execPath, [join(FIXTURES, 'start.ts'), file, ...prompts], {});
      if (code !== 0) throw new Error(stderr);
      return stdout.trim().split('\n');
    },
    /** A command that goes on: its output can be waited for. */
    begin,
    /** A server with the agents of this folder; payments go to the file `ledger`. */
    async serving(...args: readonly string[]) {
      const port = args.includes('--port') ? [] : ['--port', '0'];
      const server = begin(['serve', 'agents.ts', ...port, ...args], { LEDGER: join(folder, 'ledger') });
      const [, url = ''] = await server.says(/ at (http:\S+),/);
      return { ...server, url };
    },
    /** A token that reaches the runs of everybody. */
    tokenFor: async (person: string): Promise<string> => (await json('tokens', 'create', person, '--all')).token,
    terminal(args: readonly string[], options: Omit<TerminalOptions, 'cwd'> = {}) {
      const terminal = inTerminal([process.execPath, MAIN, ...args], { ...options, cwd: folder });
      children.push(terminal.child);
      return terminal;
    },
    close() {
      for (const child of children) if (child.exitCode === null) child.kill('SIGKILL');
      // Whoever was ended may still write while it goes.
      rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    },
  };
}

export type Workplace = ReturnType<typeof createWorkplace>;
export type InTerminal = ReturnType<Workplace['terminal']>;

/** Another one for each test of a file, with the agents in it unless told otherwise. */
export function workplaceForEach({ agents = true } = {}): Workplace {
  const place = {} as Workplace;
  beforeEach(() => {
    Object.assign(place, createWorkplace());
    if (agents) place.withAgents();
  });
  afterEach(() => place.close());
  return place;
}

function watched(child: ChildProcess) {
  let output = '';
  let seen = 0;
  const looks = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      for (const look of looks) look();
    });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  /** Waits until a text appears after the last one that was waited for; gives what it matched. */
  const says = (wanted: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const missing = () => reject(new Error(`${wanted} was not said:\n${output}`));
      const timer = setTimeout(missing, 45_000);
      const look = () => {
        const found = wanted.exec(output.slice(seen));
        if (!found) return;
        seen += found.index + found[0].length;
        clearTimeout(timer);
        looks.delete(look);
        resolve(found);
      };
      looks.add(look);
      void ended.then(missing);
      look();
    });
  return { child, output: () => output, ended, says };
}

export const PAY = 'call transferMoney {"toAccount":"DE02","amount":950}';
export const ASK = 'call askQuestion {"question":"Which grill?","choices":["Gas","Coal"]}';
export const BOOK = 'call bookTable {"question":"A table?"}';
export const HOSTILE = `call transferMoney ${JSON.stringify({ toAccount: 'evil\u001b[2J\u202ex\u200b\u0007', amount: 9 })}`;
