// Keyboard shortcuts, off while the user is typing, or a dialog or a menu is open.
import { useEffect, useRef } from 'react';
import { keep, kept } from './kept.ts';

/** By `event.key`; two keys one after the other are written `g i`. */
export type Shortcuts = { readonly [keys: string]: () => void };

const SECOND_KEY_WITHIN_MS = 1_200;

export const areShortcutsOn = (): boolean => kept('shortcuts') !== 'off';
/** Speech input types whole words into a page; who uses it switches the single keys off. */
export const switchShortcuts = (on: boolean): void => keep('shortcuts', on ? 'on' : 'off');

export function useShortcuts(shortcuts: Shortcuts): void {
  const latest = useRef(shortcuts);
  useEffect(() => {
    latest.current = shortcuts;
  });
  useEffect(() => {
    let first: { readonly key: string; readonly at: number } | undefined;
    function onKeyDown(event: KeyboardEvent) {
      if (!isForUs(event)) return;
      const before = first && event.timeStamp - first.at < SECOND_KEY_WITHIN_MS ? `${first.key} ` : '';
      const act = latest.current[`${before}${event.key}`] ?? (before === '' ? undefined : latest.current[event.key]);
      first = Object.keys(latest.current).some((keys) => keys.startsWith(`${event.key} `))
        ? { key: event.key, at: event.timeStamp }
        : undefined;
      if (!act) return;
      event.preventDefault();
      first = undefined;
      act();
    }
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, []);
}

function isForUs(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return false;
  if (document.querySelector('[data-modal], [role="menu"]')) return false;
  if (event.key !== 'Escape' && !areShortcutsOn()) return false;
  const { target } = event;
  if (!(target instanceof HTMLElement)) return true;
  if (target.isContentEditable || target.matches('textarea, select')) return event.key === 'Escape';
  if (target instanceof HTMLInputElement && !['checkbox', 'radio', 'button'].includes(target.type))
    return event.key === 'Escape';
  return true;
}
