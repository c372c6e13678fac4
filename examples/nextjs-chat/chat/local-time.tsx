// A time of day as the reader's clock shows it. The server does not know it, so it leaves it out.
'use client';

import { useSyncExternalStore } from 'react';

const NEVER = () => () => {};

export function LocalTime({ at }: { readonly at: number }) {
  const text = useSyncExternalStore(
    NEVER,
    () => new Date(at).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' }),
    () => '',
  );
  return <time dateTime={new Date(at).toISOString()}>{text}</time>;
}
