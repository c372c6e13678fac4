// Long commands stop on a signal, and on nothing else: the first asks them to finish cleanly, the second ends them at once.

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

/**
 * A log that nobody reads any more, or a full disk below it, is no reason to end in the middle of a tool. Other commands are
 * done when nobody reads their result.
 */
export function workOnUnread(): void {
  process.stdout.removeAllListeners('error').on('error', () => {});
}
