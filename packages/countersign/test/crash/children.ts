// Child processes of the crash tests: programs of this folder, each ended by whoever started it.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export type Child = {
  readonly process: ChildProcess;
  /** The next line that it prints; undefined when it has ended. */
  line(): Promise<string | undefined>;
  say(line: unknown): void;
  /** Resolves with the signal that ended it, or null, and what it said went wrong. */
  readonly ended: Promise<{ readonly signal: string | null; readonly code: number | null; readonly errors: string }>;
  kill(signal: NodeJS.Signals): void;
};

/** `cacheFolder` keeps compiled code, so that the next child is ready sooner. */
export function startChild(program: string, options: unknown, cacheFolder: string): Child {
  const child = spawn(process.execPath, [join(import.meta.dirname, program), JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, NODE_COMPILE_CACHE: cacheFolder, NODE_OPTIONS: '' },
  });
  const errors: string[] = [];
  child.stderr.setEncoding('utf8').on('data', (text: string) => errors.push(text));
  // It may be dead before it has read what it is told.
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
