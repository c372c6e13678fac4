// Live updates: the server says which run changed, and the visible queries are fetched again.
import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { apiUrl } from '../api/request.ts';

/** `lost`: the page may be out of date; it is fetched again when the server is back. */
export type Connection = 'connecting' | 'live' | 'lost';

const TOGETHER_MS = 150;
/** Answers that take longer are not waited for. */
const PATIENCE_MS = 5_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 20_000;

/** What a change of any run may change. Lists refetch their first page only. */
const CHANGING = ['interrupts', 'interrupt', 'runs', 'run', 'events', 'stats'];

export function useChanges(): Connection {
  const client = useQueryClient();
  const [connection, setConnection] = useState<Connection>('connecting');
  useEffect(() => watchChanges(client, setConnection), [client]);
  return connection;
}

/** Returns a function that stops it. A hidden page holds no connection. */
function watchChanges(client: QueryClient, tell: (connection: Connection) => void): () => void {
  let source: EventSource | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let due: ReturnType<typeof setTimeout> | undefined;
  let hasMore = false;
  let failures = 0;
  // The visible data may be older than the first connection.
  let missedSome = true;

  // Many changes at once are one refetch, and it comes after the last of them too. It waits for the answers to the one
  // before: it would call them back, and on a slow line nothing would arrive while much changes.
  function changed() {
    hasMore = true;
    due ??= setTimeout(async () => {
      hasMore = false;
      await Promise.race([refetch(client), new Promise((resolve) => setTimeout(resolve, PATIENCE_MS))]);
      due = undefined;
      if (hasMore) changed();
    }, TOGETHER_MS);
  }

  function close() {
    clearTimeout(retry);
    source?.close();
    source = undefined;
  }

  function open() {
    close();
    if (document.visibilityState === 'hidden') {
      missedSome = true;
      return;
    }
    source = new EventSource(apiUrl('changes'));
    source.onopen = () => {
      failures = 0;
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
      retry = setTimeout(open, Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS));
      failures += 1;
    };
  }

  open();
  document.addEventListener('visibilitychange', open);
  window.addEventListener('online', open);
  return () => {
    document.removeEventListener('visibilitychange', open);
    window.removeEventListener('online', open);
    clearTimeout(due);
    hasMore = false;
    close();
  };
}

/** Fetches visible queries now, and the others when they are shown. */
function refetch(client: QueryClient): Promise<void> {
  return client.invalidateQueries(
    { predicate: ({ queryKey }) => CHANGING.includes(String(queryKey[0])) },
    // An answer on its way may be older than the change.
    { cancelRefetch: true },
  );
}
