// A function that stays the same one, so that rows which get it render only when they change, and calls the latest one.
import { useCallback, useLayoutEffect, useRef } from 'react';

export function useStable<Args extends unknown[]>(act: (...args: Args) => void): (...args: Args) => void {
  const latest = useRef(act);
  useLayoutEffect(() => {
    latest.current = act;
  });
  return useCallback((...args: Args) => latest.current(...args), []);
}
