// Whether the list and a card fit beside each other.
import { useSyncExternalStore } from 'react';

const query = window.matchMedia('(width >= 48rem)');

export const isWide = (): boolean => query.matches;

export function useIsWide(): boolean {
  return useSyncExternalStore((changed) => {
    query.addEventListener('change', changed);
    return () => query.removeEventListener('change', changed);
  }, isWide);
}
