// Watches chats for changes of status: one watch of the store for all of them, one picture per chat for all its watchers.
import { internalsOf } from '../../core/internals.ts';
import { unlessAborted } from '../../models/abort.ts';
import { unknownRun } from '../../runs/port/run-id.ts';
import type { RunRecord } from '../../runs/port/store.ts';
import { pendingCards } from '../../runs/requests/card.ts';
import type { Runs } from '../../runs/runs.ts';
import type { Tools } from '../picture/cards.ts';
import { Picture } from '../picture/picture.ts';

/** The status of a chat, as its watchers receive it. */
export type ChatStatus = {
  readonly status: RunRecord['status'];
  readonly version: number;
  readonly messageId: string;
  readonly pending: readonly string[];
};

/** The statuses of a run that does not continue by itself. */
export const RESTING: ReadonlySet<RunRecord['status']> = new Set(['waiting', 'done', 'failed', 'cancelled']);

/** Notifications of the store can get lost, so every watched chat is read again after this time. */
const POLL_MS = 30_000;

const watches = new WeakMap<Runs, ChatWatch>();

/** The watch that all watchers of these runs share. */
export function chatWatchOf(runs: Runs): ChatWatch {
  const found = watches.get(runs) ?? new ChatWatch(runs);
  watches.set(runs, found);
  return found;
}

class ChatWatch {
  readonly #runs: Runs;
  readonly #chats = new Map<string, WatchedChat>();
  #stopWatching: (() => void) | undefined;

  constructor(runs: Runs) {
    this.#runs = runs;
  }

  /** Yields the status of the chat: now, when it pauses or ends, and when a request is decided. A slow reader gets only the latest. */
  async *follow(chatId: string, tools: () => Tools, signal: AbortSignal): AsyncGenerator<ChatStatus> {
    const chat = this.#enter(chatId, tools);
    let last: ChatStatus | undefined;
    try {
      for (;;) {
        const status = await chat.after(last, signal);
        if (!status) return;
        last = status;
        yield status;
      }
    } finally {
      this.#leave(chatId, chat);
    }
  }

  #enter(chatId: string, tools: () => Tools): WatchedChat {
    this.#stopWatching ??= this.#watch();
    const found = this.#chats.get(chatId);
    const chat = found && !found.hasFailed ? found : new WatchedChat(this.#runs, chatId, tools);
    this.#chats.set(chatId, chat);
    chat.followers += 1;
    // The store only reports changes from now on, so the current status is read.
    if (chat !== found) chat.refresh();
    return chat;
  }

  #leave(chatId: string, chat: WatchedChat): void {
    chat.followers -= 1;
    if (chat.followers === 0 && this.#chats.get(chatId) === chat) this.#chats.delete(chatId);
    if (this.#chats.size > 0) return;
    this.#stopWatching?.();
    this.#stopWatching = undefined;
  }

  #watch(): () => void {
    const stop = this.#runs.store.watch((runId) => this.#chats.get(runId)?.refresh());
    const timer = setInterval(() => {
      for (const chat of this.#chats.values()) chat.refresh();
    }, POLL_MS);
    timer.unref?.();
    return () => {
      stop();
      clearInterval(timer);
    };
  }
}

class WatchedChat {
  followers = 0;
  readonly #runs: Runs;
  readonly #picture: Picture;
  readonly #chatId: string;
  #status: ChatStatus | undefined;
  #failure: { readonly error: unknown } | undefined;
  #wasRead = Promise.withResolvers<void>();
  #isReading = false;
  #mustRead = false;

  constructor(runs: Runs, chatId: string, tools: () => Tools) {
    this.#runs = runs;
    this.#chatId = chatId;
    // Its cards are not shown to anyone.
    this.#picture = new Picture({ chatId, tools, reader: 'watcher' });
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  /** Resolves with the first status, or the next one that says something new; with undefined once the signal aborts. */
  async after(last: ChatStatus | undefined, signal: AbortSignal): Promise<ChatStatus | undefined> {
    for (;;) {
      if (signal.aborted) return undefined;
      if (this.#failure) throw this.#failure.error;
      const now = this.#status;
      if (now && (!last || isNews(last, now))) return now;
      await unlessAborted(this.#wasRead.promise, signal);
    }
  }

  /** Reads the chat, one read at a time, and once more if it changed meanwhile. */
  refresh(): void {
    this.#mustRead = true;
    if (!this.#isReading) void this.#refresh();
  }

  async #refresh(): Promise<void> {
    this.#isReading = true;
    try {
      while (this.#mustRead) {
        this.#mustRead = false;
        await this.#read();
      }
    } catch (error) {
      this.#failure = { error };
    }
    this.#isReading = false;
    this.#wasRead.resolve();
    this.#wasRead = Promise.withResolvers();
  }

  async #read(): Promise<void> {
    const picture = this.#picture;
    const loaded = await internalsOf(this.#runs).find(this.#chatId, { after: picture.seq });
    if (!loaded) throw unknownRun(this.#chatId);
    for (const event of loaded.events) picture.apply(event);
    const { status, version } = loaded.run;
    const pending = [...pendingCards(this.#chatId, picture.state).keys()];
    this.#status = { status, version, messageId: picture.messageId, pending };
  }
}

/** The run rests, or it goes on because someone has decided a request, which the page shows as pending. */
function isNews(last: ChatStatus, now: ChatStatus): boolean {
  if (now.version === last.version) return false;
  return RESTING.has(now.status) || last.pending.some((id) => !now.pending.includes(id));
}
