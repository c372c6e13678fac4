// The service worker, which shows notifications and opens the request of the one that is clicked.
import { useEffect } from 'react';
import { mount } from '../api/mount.ts';

/** Not without https, where browsers offer no service workers. */
export const hasWorker = 'serviceWorker' in navigator && 'Notification' in window;

let registered: Promise<ServiceWorkerRegistration> | undefined;

/** Resolves once it can show notifications. */
export function worker(): Promise<ServiceWorkerRegistration> {
  registered ??= navigator.serviceWorker
    .register(new URL('service-worker.js', mount), { scope: mount.pathname })
    .then(() => navigator.serviceWorker.ready);
  return registered;
}

/** Opens the clicked request in this window. */
export function useWorker(navigate: (path: string) => void): void {
  useEffect(() => {
    if (!hasWorker) return;
    // Without it the app works; only notifications and installing do not.
    worker().catch(() => undefined);
    const onMessage = ({ data }: MessageEvent<{ readonly open?: unknown }>) => {
      const link = data?.open;
      if (typeof link === 'string' && link.startsWith(mount.href)) navigate(`/${link.slice(mount.href.length)}`);
    };
    navigator.serviceWorker.addEventListener('message', onMessage);
    return () => navigator.serviceWorker.removeEventListener('message', onMessage);
  }, [navigate]);
}
