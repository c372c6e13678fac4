// How chats stand, for those who watch them: one watch of the store for all, and for each chat one look at each change and
// one picture, however many watch it.
import { newState } from '../../core/messages/load-messages.ts';
import type { ToolDefinition } from '../../loop/tool/definition.ts';
import { unknownRun } from '../../runs/port/run-id.ts';
import type { RunRecord } from '../../runs/port/store.ts';
import { pendingCards } from '../../runs/questions/card.ts';
import type { Runs } from '../../runs/runs.ts';
import { cardOf } from '../picture/cards.ts';
import { Picture } from '../picture/picture.ts';

/** How a chat stands, told to those who watch it. */
export type ChatStanding = {
  readonly status: RunRecord['status'];
  readonly version: number;
  readonly messageId: string;
  readonly pending: readonly string[];
};

export const AT_REST: ReadonlySet<RunRecord['status']> = new Set(['waiting', 'done', 'failed', 'cancelled']);

/** Notices get lost; after so long every chat that is watched is looked at again. */
const LOOK_MS = 30_000;

type Tools = () => ReadonlyMap<string, ToolDefinition>;

const known = new WeakMap<Runs, Standings>();

/** Everybody who watches chats of these runs shares this. */
export function standingsOf(runs: Runs): Standings {
  const found = known.get(runs) ?? new Standings(runs);
  known.set(runs, found);
  return found;
}

class Standings {
  readonly #runs: Runs;
  readonly #chats = new Map<string, WatchedChat>();
  #stopWatching: (() => void) | undefined;

  constructor(runs: Runs) {
    this.#runs = runs;
  }

  /** How the chat stands: now, and whenever it comes to rest. Whoever is slow is told the last of it only. */
  async *follow(chatId: string, tools: Tools, signal: AbortSignal): AsyncGenerator<ChatStanding> {
    const chat = this.#enter(chatId, tools);
    let told: ChatStanding | undefined;
    try {
      for (;;) {
        const standing = await chat.after(told, signal);
        if (!standing) return;
        told = standing;
        yield standing;
      }
    } finally {
      this.#leave(chatId, chat);
    }
  }

  #enter(chatId: string, tools: Tools): WatchedChat {
    this.#stopWatching ??= this.#watch();
    const found = this.#chats.get(chatId);
    const chat = found && !found.hasFailed ? found : new WatchedChat(this.#runs, chatId, tools);
    this.#chats.set(chatId, chat);
    chat.followers += 1;
    // What is known may be old news to the store, which tells only of what comes from now on.
    if (chat !== found) chat.look();
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
    const stop = this.#runs.store.watch((runId) => this.#chats.get(runId)?.look());
    const timer = setInterval(() => {
      for (const chat of this.#chats.values()) chat.look();
    }, LOOK_MS);
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
  readonly #chatId: string;
  readonly #picture: Picture;
  readonly #wakes = new Set<() => void>();
  #seen = 0;
  #standing: ChatStanding | undefined;
  #failure: { readonly error: unknown } | undefined;
  #looking = false;
  #again = false;

  constructor(runs: Runs, chatId: string, tools: Tools) {
    this.#runs = runs;
    this.#chatId = chatId;
    this.#picture = new Picture({
      chatId,
      state: newState(),
      messageId: (seq) => `${chatId}.${seq}`,
      card: (key, pending, at) => cardOf(key, pending, at, tools()),
      // No card is shown of it.
      mayDecide: async () => false,
    });
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  /** The first standing there is, or the next one at rest; undefined once the signal says so. */
  async after(told: ChatStanding | undefined, signal: AbortSignal): Promise<ChatStanding | undefined> {
    for (;;) {
      if (signal.aborted) return undefined;
      if (this.#failure) throw this.#failure.error;
      const now = this.#standing;
      if (now && (!told || (AT_REST.has(now.status) && now.version !== told.version))) return now;
      await this.#news(signal);
    }
  }

  /** One look at a time, and one more if there was news meanwhile. */
  look(): void {
    this.#again = true;
    if (!this.#looking) void this.#look();
  }

  async #look(): Promise<void> {
    this.#looking = true;
    try {
      while (this.#again) {
        this.#again = false;
        await this.#read();
      }
    } catch (error) {
      this.#failure = { error };
    }
    this.#looking = false;
    for (const wake of this.#wakes) wake();
  }

  async #read(): Promise<void> {
    const loaded = await this.#runs.find(this.#chatId, { after: this.#seen });
    if (!loaded) throw unknownRun(this.#chatId);
    const picture = this.#picture;
    for (const event of loaded.events) picture.apply(event);
    this.#seen += loaded.events.length;
    const { status, version } = loaded.run;
    const pending = [...pendingCards(this.#chatId, picture.state).keys()];
    this.#standing = { status, version, messageId: picture.messageId, pending };
  }

  #news(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.#wakes.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#wakes.add(wake);
      signal.addEventListener('abort', wake);
    });
  }
}
