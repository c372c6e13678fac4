// The number on the icon of the installed app.
import { useEffect } from 'react';

/** Browsers without it ignore it. */
export function useAppBadge(count: number): void {
  useEffect(() => {
    const shown = count > 0 ? navigator.setAppBadge?.(count) : navigator.clearAppBadge?.();
    shown?.catch(() => undefined);
  }, [count]);
}
