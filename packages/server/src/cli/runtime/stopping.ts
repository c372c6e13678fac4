// Long-running commands stop on a signal: the first one asks for a clean stop, the second one ends the process at once.
import type { Work } from '../commands/options.ts';
import { EXIT } from '../failure.ts';

/** Ctrl-C, `kill` and a closed terminal, with the exit codes that shells use. */
export const STOP_SIGNALS = [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const;

export const STOPPING = 'Stopping: running tools finish first. Press Ctrl-C again to stop at once.';

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

/** How long the last output may wait for a slow reader. */
const FLUSH_MS = 2_000;

/**
 * Keeps a long-running command alive when its output is lost, such as a full disk or a closed pipe: that must not end the
 * process while a tool runs. A reader that hangs does not keep it from ending either.
 */
export function survivingLostOutput<Args extends unknown[]>(work: Work<Args>): Work<Args> {
  return async (...args) => {
    process.stdout.removeAllListeners('error').on('error', () => {});
    const exitCode = await work(...args);
    setTimeout(() => process.exit(exitCode ?? EXIT.ok), FLUSH_MS);
    return exitCode;
  };
}
