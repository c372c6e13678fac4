// Live updates: the server says which run changed, and the visible queries are fetched again.
import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState } from 'react';
import { apiUrl } from '../api/request.ts';
import { notifiesHere, onNotifiesHere } from '../notify/choice.ts';

/** `lost`: the page may be out of date; it is fetched again when the server is back. */
export type Connection = 'connecting' | 'live' | 'lost';

const TOGETHER_MS = 150;
/** While much changes, reading takes at most a third of the time: the server has the rest for what people wait for. */
const REST_PER_READ = 2;
const LONGEST_REST_MS = 1_500;
/** Answers that take longer are not waited for. */
const PATIENCE_MS = 5_000;
/** So short that a server that is back is noticed at once. A hidden page does not ask, unless it shows notifications. */
const RETRY_MS = 1_500;

/** What a change of any run may change. Lists refetch their first page only. */
const CHANGING = ['requests', 'request', 'runs', 'run', 'events', 'stats', 'found'];

export type Live = { readonly connection: Connection; readonly retry: () => void };

export function useChanges(): Live {
  const client = useQueryClient();
  const [connection, setConnection] = useState<Connection>('connecting');
  const watch = useRef<Watch>(undefined);
  useEffect(() => {
    watch.current = watchChanges(client, setConnection);
    return watch.current.stop;
  }, [client]);
  return { connection, retry: useCallback(() => watch.current?.retry(), []) };
}

type Watch = { readonly stop: () => void; readonly retry: () => void };

/** A hidden page holds no connection, unless it shows notifications. */
function watchChanges(client: QueryClient, tell: (connection: Connection) => void): Watch {
  let source: EventSource | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let due: ReturnType<typeof setTimeout> | undefined;
  let hasMore = false;
  let tookMs = 0;
  // The visible data may be older than the first connection.
  let missedSome = true;

  // Many changes at once are one refetch, and it comes after the last of them too. It waits for the answers to the one
  // before: it would call them back, and on a slow line nothing would arrive while much changes.
  function changed() {
    hasMore = true;
    due ??= setTimeout(
      async () => {
        hasMore = false;
        const begunAt = performance.now();
        await Promise.race([refetch(client), new Promise((resolve) => setTimeout(resolve, PATIENCE_MS))]);
        due = undefined;
        tookMs = hasMore ? performance.now() - begunAt : 0;
        if (hasMore) changed();
      },
      Math.max(TOGETHER_MS, Math.min(REST_PER_READ * tookMs, LONGEST_REST_MS)),
    );
  }

  function close() {
    clearTimeout(retry);
    source?.close();
    source = undefined;
  }

  function open() {
    const isHidden = document.visibilityState === 'hidden';
    if (isHidden && notifiesHere() && source?.readyState === EventSource.OPEN) return;
    close();
    if (isHidden && !notifiesHere()) {
      missedSome = true;
      return;
    }
    source = new EventSource(apiUrl('changes'));
    source.onopen = () => {
      tell('live');
      if (missedSome) changed();
      missedSome = false;
    };
    source.onmessage = changed;
    source.addEventListener('change', changed);
    source.onerror = () => {
      tell('lost');
      missedSome = true;
      close();
      retry = setTimeout(open, RETRY_MS);
    };
  }

  /** An open stream does not notice that the network is gone. A new one does, unless the server is on this machine. */
  function goOffline() {
    open();
    // The event may come before the network is gone, and the new stream be open, too.
    retry = setTimeout(open, RETRY_MS);
  }

  open();
  document.addEventListener('visibilitychange', open);
  const stopListening = onNotifiesHere(open);
  window.addEventListener('online', open);
  window.addEventListener('offline', goOffline);
  return {
    retry: open,
    stop: () => {
      document.removeEventListener('visibilitychange', open);
      stopListening();
      window.removeEventListener('online', open);
      window.removeEventListener('offline', goOffline);
      clearTimeout(due);
      hasMore = false;
      close();
    },
  };
}

/** Fetches visible queries now, and the others when they are shown. */
function refetch(client: QueryClient): Promise<void> {
  return client.invalidateQueries(
    { predicate: ({ queryKey, state }) => CHANGING.includes(String(queryKey[0])) || state.status === 'error' },
    // An answer on its way may be older than the change.
    { cancelRefetch: true },
  );
}
