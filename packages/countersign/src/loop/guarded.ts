// Listeners of callers, which may throw.

/** A listener that throws is not called again: a dead reader must not hurt the run. */
export function guarded<T>(listen: (heard: T) => void): (heard: T) => void {
  let listening = true;
  return (heard) => {
    if (!listening) return;
    try {
      listen(heard);
    } catch {
      // Its author hears of nothing more; there is nobody here to tell.
      listening = false;
    }
  };
}
