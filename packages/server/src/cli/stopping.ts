// Long commands stop on a signal: the first asks them to finish cleanly, the second ends them at once.

/** Resolves at the first Ctrl-C or SIGTERM. A second one ends the process, with the exit code that a shell gives it. */
export function stopSignal(): Promise<'SIGINT' | 'SIGTERM'> {
  return new Promise((resolve) => {
    let asked = false;
    for (const [signal, code] of [
      ['SIGINT', 130],
      ['SIGTERM', 143],
    ] as const)
      process.on(signal, () => {
        if (asked) process.exit(code);
        asked = true;
        resolve(signal);
      });
  });
}
