// Runs a program of the user to its end, and keeps the last part of its output.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { STOP_SIGNALS } from './stopping.ts';

/** `error` is absent if the program ended with 0. `notPerformed`: it could not be started. */
export type EndedProgram = { readonly stdout: string; readonly error?: string; readonly notPerformed?: true };

const KEPT_CHARACTERS = 4_000;

/** Its output is passed on as it comes. Signals are for the program: this process waits for its end. */
export async function runProgram(
  [program = '', ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
  to: NodeJS.WritableStream,
): Promise<EndedProgram> {
  const child = spawn(program, args, { stdio: ['inherit', 'pipe', 'inherit'], env: { ...process.env, ...env } });
  let tail = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    to.write(text);
    tail = (tail + text).slice(-KEPT_CHARACTERS);
  });
  // The terminal sends Ctrl-C to both.
  const listeners = STOP_SIGNALS.map(
    ([signal]) => [signal, () => void (signal === 'SIGINT' || child.kill(signal))] as const,
  );
  for (const [signal, listener] of listeners) process.on(signal, listener);
  try {
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
    // Stores refuse NUL and halves of characters.
    const stdout = tail.replaceAll('\u0000', '').toWellFormed();
    if (code === 0) return { stdout };
    return { stdout, error: signal === null ? `it ended with exit code ${code}` : `it was ended by ${signal}` };
  } catch (error) {
    return { stdout: '', error: `it could not be started: ${(error as Error).message}`, notPerformed: true };
  } finally {
    for (const [signal, listener] of listeners) process.removeListener(signal, listener);
  }
}
