// Watching from a chat: a decision made elsewhere is fetched by replaying the current message, and only then.
import { useEffect, useRef } from 'react';
import type { ChatLike } from './interrupt.ts';
import { isBusy } from './read-interrupts.ts';
import { type WatchEvent, watchRun } from './watch.ts';

/** Where the chat's server is, and how it is asked. */
export type WatchSource = {
  /** The address that the chat posts to, such as `/api/chat`. */
  readonly api?: string | undefined;
  readonly watch?: boolean | undefined;
  readonly headers?: Readonly<Record<string, string>> | (() => Readonly<Record<string, string>>) | undefined;
  readonly credentials?: RequestCredentials | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
};

/** `shown` are the ids of the interrupts that the messages show as pending. */
export function useWatch(chat: ChatLike, source: WatchSource, shown: ReadonlySet<string>): void {
  const busy = isBusy(chat.status);
  const { api, watch = api !== undefined } = source;
  const wanted = watch && api !== undefined && chat.messages.length > 0;
  const latest = useRef({ chat, source, shown, busy });
  const known = useRef(nothingKnown());
  const chatId = chat.id;

  useEffect(() => {
    latest.current = { chat, source, shown, busy };
  });

  // biome-ignore lint/correctness/useExhaustiveDependencies: another chat has other versions.
  useEffect(() => {
    known.current = nothingKnown();
  }, [chatId]);

  useEffect(() => {
    if (busy) {
      known.current.ownActivity = true;
      return;
    }
    const { owed } = known.current;
    known.current.owed = undefined;
    if (owed && differs(owed.pending, latest.current.shown)) void resume(latest.current.chat);
  }, [busy]);

  useEffect(() => {
    if (!wanted) return;
    const url = `${api}/${encodeURIComponent(chatId)}/watch`;
    let controller: AbortController | undefined;

    function begin() {
      controller?.abort();
      controller = undefined;
      // Nobody looks: the version says on return whether anything happened.
      if (document.visibilityState === 'hidden') return;
      controller = new AbortController();
      void watchRun({
        signal: controller.signal,
        open: (signal) => openWatch(url, latest.current.source, signal),
        onEvent,
      });
    }

    function onEvent(event: WatchEvent) {
      const { chat, shown, busy } = latest.current;
      if (learn(known.current, event, { shown, busy })) void resume(chat);
    }

    begin();
    document.addEventListener('visibilitychange', begin);
    return () => {
      document.removeEventListener('visibilitychange', begin);
      controller?.abort();
    };
  }, [wanted, api, chatId]);
}

type Knowledge = {
  version: WatchEvent['version'] | undefined;
  /** Since the last event this client has had a stream of its own, which may have brought what the event tells. */
  ownActivity: boolean;
  /** It came while a stream was open; whether that stream brought everything is seen at its end. */
  owed: WatchEvent | undefined;
};

const nothingKnown = (): Knowledge => ({ version: undefined, ownActivity: false, owed: undefined });

/** Notes the event; true if it tells of something that the messages do not show. Each version is told at most once. */
function learn(
  known: Knowledge,
  event: WatchEvent,
  { shown, busy }: { readonly shown: ReadonlySet<string>; readonly busy: boolean },
): boolean {
  if (event.version === known.version) return false;
  const explained = known.version === undefined || known.ownActivity;
  known.version = event.version;
  known.ownActivity = false;
  known.owed = busy ? event : undefined;
  if (busy) return false;
  return !explained || differs(event.pending, shown);
}

function differs(pending: ReadonlySet<string> | undefined, shown: ReadonlySet<string>): boolean {
  return pending !== undefined && (pending.size !== shown.size || [...pending].some((id) => !shown.has(id)));
}

function openWatch(url: string, { headers, credentials, fetch = globalThis.fetch }: WatchSource, signal: AbortSignal) {
  return fetch(url, {
    headers: { accept: 'text/event-stream', ...(typeof headers === 'function' ? headers() : headers) },
    cache: 'no-store',
    ...(credentials && { credentials }),
    signal,
  });
}

async function resume(chat: ChatLike): Promise<void> {
  try {
    await chat.resumeStream();
  } catch {
    // The chat tells of its failures by its status; the next event leads to the next try.
  }
}
