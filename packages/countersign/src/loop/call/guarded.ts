// Protects a run from listeners that throw.

/** Stops calling a listener that throws or whose promise rejects: a dead reader must not hurt the run. */
export function guarded<T>(listen: (value: T) => void): (value: T) => void {
  let listening = true;
  const stop = (): void => {
    listening = false;
  };
  return (value) => {
    if (!listening) return;
    try {
      const result: unknown = listen(value);
      // It is not awaited, and an unhandled rejection would end the process.
      if (typeof result === 'object') Promise.resolve(result).catch(stop);
    } catch {
      stop();
    }
  };
}
