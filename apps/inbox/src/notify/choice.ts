// Whether this browser shows notifications: chosen by the person, and allowed by the browser.
import { useSyncExternalStore } from 'react';
import { keep, kept } from '../frame/kept.ts';
import { showToast } from '../primitives/toasts.tsx';
import { unsubscribe } from './push.ts';
import { hasWorker } from './worker.ts';

const listeners = new Set<() => void>();

export const notifiesHere = (): boolean =>
  hasWorker && kept('notifications') === 'on' && Notification.permission === 'granted';

export const useNotifiesHere = (): boolean => useSyncExternalStore(onNotifiesHere, notifiesHere);

export function onNotifiesHere(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Asks the browser for its permission. Call it on a click. */
export async function setNotifiesHere(isOn: boolean): Promise<void> {
  const isAllowed = isOn && (await Notification.requestPermission()) === 'granted';
  if (isOn && !isAllowed)
    showToast('trouble', 'Your browser blocks notifications for this page. Allow them in its settings.');
  keep('notifications', isAllowed ? 'on' : 'off');
  for (const listener of listeners) listener();
  // A server that cannot be reached now forgets this browser at the next push, which the push service refuses.
  if (!isAllowed) await unsubscribe().catch(() => undefined);
}
