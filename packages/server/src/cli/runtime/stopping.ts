// Long commands stop on a signal, and on nothing else: the first asks them to finish cleanly, the second ends them at once.
import type { Command } from '../command.ts';
import { EXIT } from '../failure.ts';

/** Ctrl-C, `kill`, and a terminal that is closed, each with the exit code that a shell gives to what it ends. */
export const STOP_SIGNALS = [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const;

export const STOPPING = 'Stopping: what runs comes to its next rest. Again to end at once.';

/** Resolves at the first of these signals. A second one ends the process. */
export function stopSignal(): Promise<(typeof STOP_SIGNALS)[number][0]> {
  return new Promise((resolve) => {
    let asked = false;
    for (const [signal, code] of STOP_SIGNALS)
      process.on(signal, () => {
        if (asked) process.exit(code);
        asked = true;
        resolve(signal);
      });
  });
}

/** How long what is written last may wait to be read. */
const UNREAD_MS = 2_000;

/**
 * A log that nobody reads any more, or a full disk below it, is no reason to end in the middle of a tool; and a reader that
 * stands still is none not to end. Other commands are there for whoever reads their result.
 */
export function whetherReadOrNot(run: Command['run']): Command['run'] {
  return async (invocation) => {
    process.stdout.removeAllListeners('error').on('error', () => {});
    const exitCode = await run(invocation);
    setTimeout(() => process.exit(exitCode ?? EXIT.ok), UNREAD_MS);
    return exitCode;
  };
}
