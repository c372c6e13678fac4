// The number on the icon of the installed app.
import { useEffect } from 'react';

/** Browsers without it ignore it. */
export function useAppBadge(waiting: string): void {
  useEffect(() => {
    const count = Number.parseInt(waiting, 10) || 0;
    const shown = count > 0 ? navigator.setAppBadge?.(count) : navigator.clearAppBadge?.();
    shown?.catch(() => undefined);
  }, [waiting]);
}
