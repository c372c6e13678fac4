// Starts child processes of the crash tests from the programs in this folder.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export type Child = {
  readonly process: ChildProcess;
  /** The next line of its output, or undefined when it has ended. */
  line(): Promise<string | undefined>;
  say(line: unknown): void;
  /** Resolves with its exit code or signal and its error output. */
  readonly ended: Promise<{ readonly signal: string | null; readonly code: number | null; readonly errors: string }>;
  kill(signal: NodeJS.Signals): void;
};

/** Starts a child. */
export function startChild(program: string, options: unknown): Child {
  const child = spawn(process.execPath, [join(import.meta.dirname, program), JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  const errors: string[] = [];
  child.stderr.setEncoding('utf8').on('data', (text: string) => errors.push(text));
  // It may be dead before it has read its input.
  child.stdin.on('error', () => undefined);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, errors: errors.join('') }));
  return {
    process: child,
    ended,
    line: async () => (await lines.next()).value,
    say: (line) => void child.stdin.write(`${JSON.stringify(line)}\n`),
    kill: (signal) => void child.kill(signal),
  };
}
