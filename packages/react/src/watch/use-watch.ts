// Watches a chat for changes from elsewhere, and fetches the conversation only when there are some.
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { isBusy } from '../read-requests.ts';
import type { ChatLike, ChatMessage } from '../request.ts';
import { ask, type WatchSource } from './ask.ts';
import { pauseMs, type WatchEvent, watchRun } from './watch.ts';

/** `shown` are the ids of the requests that the messages show as pending. */
export function useWatch(chat: ChatLike, source: WatchSource, shown: ReadonlySet<string>): void {
  // A replay is asked for before the chat counts as busy, and may come at once.
  const [fetching, setFetching] = useState(false);
  const busy = isBusy(chat.status) || fetching;
  const { api, watch = api !== undefined } = source;
  const hasBegun = useBegun(chat);
  const wanted = watch && api !== undefined && hasBegun;
  const latest = useRef({ chat, source, shown, busy });
  const known = useRef(nothingKnown());
  const chatId = chat.id;

  // Together with the page, not after it: an event may follow at once on what this client has just sent.
  useBeforePaint(() => {
    latest.current = { chat, source, shown, busy };
    if (busy) known.current.ownActivity = true;
  });

  const catchUp = useCallback(async (event: WatchEvent) => {
    const { chat, source } = latest.current;
    known.current.ownActivity = true;
    const fetched = { event, failed: false };
    known.current.fetched = fetched;
    setFetching(true);
    try {
      // The model's current message is replayed. If it is another one, the user spoke elsewhere, and a replay lacks that.
      const isAsBefore = () => saysNothing(chat, latest.current.chat);
      const loaded = isNewMessage(event, chat) ? await reload(chat, source, isAsBefore) : undefined;
      if (loaded && !loaded.isRunning) return;
      // A user who sent a message meanwhile has a stream open; anything missed is fetched after it. The page may show what was
      // loaded by now, or not yet.
      const isAsLoaded = loaded && saysNothing({ ...chat, messages: loaded.messages }, latest.current.chat);
      if (isAsLoaded || isAsBefore()) await chat.resumeStream();
      else fetched.failed = true;
    } catch {
      fetched.failed = true;
    } finally {
      setFetching(false);
    }
  }, []);

  const lookBack = useCallback(async () => {
    const { chat, source } = latest.current;
    setFetching(true);
    try {
      await reload(chat, source, () => saysNothing(chat, latest.current.chat));
    } catch {
      // Only how an earlier request ended is not shown; the next visit shows it.
    } finally {
      setFetching(false);
    }
  }, []);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another chat has other versions.
  useEffect(() => {
    known.current = nothingKnown();
  }, [chatId]);

  useEffect(() => {
    if (busy) return;
    const { owed } = known.current;
    known.current.owed = undefined;
    judgeFetched(known.current, latest.current);
    if (owed && differs(owed, latest.current)) return void catchUp(owed);
    // Wait a moment, so that a user who sent something first sees that it failed.
    if (owed && brokeOff(owed, latest.current.chat)) known.current.missed ??= { event: owed, failures: 1 };
    const { missed, lookedBack } = known.current;
    const words = wordsPastQuestions(latest.current.chat);
    if (wanted && !missed && words !== undefined && words !== lookedBack) {
      known.current.lookedBack = words;
      return void lookBack();
    }
    if (!wanted || !missed) return;
    const again = () => void (known.current.missed === missed && catchUp(missed.event));
    const timer = setTimeout(again, pauseMs(missed.failures - 1));
    window.addEventListener('online', again);
    return () => {
      clearTimeout(timer);
      window.removeEventListener('online', again);
    };
  }, [busy, wanted, catchUp, lookBack]);

  useEffect(() => {
    if (!wanted) return;
    let controller: AbortController | undefined;

    function begin() {
      controller?.abort();
      controller = undefined;
      // The page is hidden. On return, the version says whether anything changed.
      if (document.visibilityState === 'hidden') return;
      controller = new AbortController();
      const open = (signal: AbortSignal) =>
        ask(`${api}/${encodeURIComponent(chatId)}/watch`, latest.current.source, { signal });
      void watchRun({ signal: controller.signal, open, onEvent });
    }

    function onEvent(event: WatchEvent) {
      if (learn(known.current, event, latest.current)) void catchUp(event);
    }

    begin();
    document.addEventListener('visibilitychange', begin);
    // After hours without a network the next try is half a minute away.
    window.addEventListener('online', begin);
    return () => {
      document.removeEventListener('visibilitychange', begin);
      window.removeEventListener('online', begin);
      controller?.abort();
    };
  }, [wanted, api, chatId, catchUp]);
}

/** There is nothing to paint on a server, and React 18 says so. */
const useBeforePaint = typeof window === 'undefined' ? useEffect : useLayoutEffect;

/** Whether the server has the chat, which is known once it has answered. */
function useBegun({ id, messages, status }: ChatLike): boolean {
  const [begun, setBegun] = useState<string>();
  const has = messages.some(({ role }) => role === 'assistant') || (messages.length > 0 && status === 'ready');
  useEffect(() => {
    // A replay removes the answer for a moment; the chat still exists.
    if (has) setBegun(id);
  }, [has, id]);
  return begun === id;
}

type Knowledge = {
  version: WatchEvent['version'] | undefined;
  /** Since the last event this client had an open stream, which may have delivered the same change. */
  ownActivity: boolean;
  /** It came while a stream was open; whether that stream brought everything is seen at its end. */
  owed: WatchEvent | undefined;
  /** The last version fetched, until it is checked that all of it arrived. */
  fetched: { readonly event: WatchEvent; failed: boolean } | undefined;
  /** A version that did not arrive whole. The server does not report it again, so it is fetched again. */
  missed: { readonly event: WatchEvent; readonly failures: number } | undefined;
  /** The user message after which the outcome of earlier requests was fetched. */
  lookedBack: string | undefined;
};

const nothingKnown = (): Knowledge => ({
  version: undefined,
  ownActivity: false,
  owed: undefined,
  fetched: undefined,
  missed: undefined,
  lookedBack: undefined,
});

/** How often an incomplete answer is fetched again. */
const MOST_TRIES = 5;

/** A chat reports a failure by its status, which is known once it is idle. */
function judgeFetched(known: Knowledge, { chat, shown }: Showing): void {
  const { fetched, missed } = known;
  if (!fetched) return;
  known.fetched = undefined;
  const { event, failed } = fetched;
  // While requests wait, what was fetched is known up to this event: a later one is another vote or comment, and fetched as well.
  if (event.status === 'waiting') known.ownActivity = false;
  const failures = (missed?.failures ?? 0) + 1;
  const isAway = failed || (chat.status === 'error' && event.status !== 'failed');
  const lacksCards = [...(event.pending ?? [])].some((id) => !shown.has(id));
  const isMissed = isAway || (failures <= MOST_TRIES && (brokeOff(event, chat) || lacksCards));
  known.missed = isMissed ? { event, failures } : undefined;
}

type Showing = { readonly chat: ChatLike; readonly shown: ReadonlySet<string>; readonly busy: boolean };

/** Records the event. Returns true if it reports something the messages do not show, at most once per version. */
function learn(known: Knowledge, event: WatchEvent, showing: Showing): boolean {
  if (event.version === known.version) return false;
  const explained = known.version === undefined || (known.ownActivity && !brokeOff(event, showing.chat));
  known.version = event.version;
  known.ownActivity = false;
  known.owed = showing.busy ? event : undefined;
  if (showing.busy) return false;
  return !explained || differs(event, showing);
}

/**
 * Whether the last stream ended before it brought everything in the event. A proxy may end a stream as if it were complete;
 * then calls without results show it. A failed run ends its stream with an error.
 */
function brokeOff({ status, pending }: WatchEvent, chat: ChatLike): boolean {
  if (status === 'failed') return false;
  if (chat.status === 'error') return true;
  const parts: readonly StreamedPart[] = chat.messages.findLast(({ role }) => role === 'assistant')?.parts ?? [];
  const step = parts.slice(parts.findLastIndex(({ type }) => type === 'step-start') + 1);
  if (step.some(({ state }) => state === 'streaming')) return true;
  // Something follows on the last calls, if only the word that it was the end.
  const isOver = status === 'done' && pending?.size === 0;
  return isOver && (step.length === 0 || step.some(({ type }) => isCall(type)));
}

type StreamedPart = { readonly type: string; readonly state?: string };

const isCall = (type: string): boolean => type.startsWith('tool-') || type === 'dynamic-tool';

function differs(event: WatchEvent, { chat, shown }: Showing): boolean {
  const { pending } = event;
  if (isNewMessage(event, chat)) return true;
  return pending !== undefined && (pending.size !== shown.size || [...pending].some((id) => !shown.has(id)));
}

function isNewMessage({ messageId }: WatchEvent, { messages }: ChatLike): boolean {
  return messageId !== undefined && messages.findLast(({ role }) => role === 'assistant')?.id !== messageId;
}

/**
 * The id of the user's last words, if a request before them is shown as if it waited: the answer to the words does not
 * say how the request ended, and a person may have approved it just before them.
 */
function wordsPastQuestions({ messages, status }: ChatLike): string | undefined {
  if (status !== 'ready') return undefined;
  const last = messages.findLastIndex(({ role }) => role === 'user');
  const isOpen = messages.slice(0, Math.max(0, last)).some(({ parts }) => parts.some(isPendingCard));
  return isOpen ? messages[last]?.id : undefined;
}

const isPendingCard = ({ type, data }: { readonly type: string; readonly data?: unknown }): boolean =>
  type === 'data-request' && (data as { readonly status?: unknown } | undefined)?.status === 'pending';

/** Whether the user has sent nothing since: messages loaded earlier lack a newer message. */
function saysNothing(before: ChatLike, now: ChatLike): boolean {
  const lastWords = ({ messages }: ChatLike) => messages.findLast(({ role }) => role === 'user')?.id;
  return !isBusy(now.status) && lastWords(before) === lastWords(now);
}

type Loaded = { readonly messages: readonly ChatMessage[]; readonly isRunning: boolean };

/** Loads the conversation from the server. Undefined if that failed, or if it must not be shown. */
async function reload(chat: ChatLike, source: WatchSource, mayShow: () => boolean): Promise<Loaded | undefined> {
  if (!chat.setMessages) return undefined;
  const response = await ask(`${source.api}/${encodeURIComponent(chat.id)}`, source);
  if (!response.ok) return undefined;
  const loaded: { readonly status?: unknown; readonly messages?: readonly ChatMessage[] } = await response.json();
  const { messages } = loaded;
  if (!Array.isArray(messages) || !mayShow()) return undefined;
  chat.setMessages(messages);
  return { messages, isRunning: loaded.status === 'running' };
}
