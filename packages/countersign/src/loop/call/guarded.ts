// Listeners of callers, which may throw.

/** A listener that throws, or whose promise rejects, is not called again: a dead reader must not hurt the run. */
export function guarded<T>(listen: (heard: T) => void): (heard: T) => void {
  let listening = true;
  // Its author hears of nothing more; there is nobody here to tell.
  const stop = (): void => {
    listening = false;
  };
  return (heard) => {
    if (!listening) return;
    try {
      const telling: unknown = listen(heard);
      // Nobody waits for it, and a rejection that nobody takes would end the process.
      if (typeof telling === 'object') Promise.resolve(telling).catch(stop);
    } catch {
      stop();
    }
  };
}
