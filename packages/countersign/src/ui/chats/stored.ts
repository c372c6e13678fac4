// A chat whose run is in a store. The record is the truth; the browser only sends messages and decisions.
import type { Voter } from '../../core/authority/may-decide.ts';
import { internalsOf } from '../../core/internals.ts';
import type { LoadedRun } from '../../runs/port/store.ts';
import { applyEvents } from '../../runs/requests/view.ts';
import type { Person } from '../chat-options.ts';
import type { Post } from '../http/post.ts';
import { Picture, type Reader } from '../picture/picture.ts';
import type { ChatChunk, ChatMessage } from '../picture/ui-message.ts';
import { chatMessage } from './chat-messages.ts';
import { type ChatStatus, chatWatchOf, RESTING } from './chat-watch.ts';
import { findChat, type PersonalChat, type StoredChatOptions, unknownChat } from './personal-chat.ts';
import { recordPost } from './record-post.ts';
import { listenToRun, streamRun } from './run-stream.ts';

/** A whole chat, for the initial messages of `useChat`. */
export type LoadedChat = Pick<ChatStatus, 'status' | 'version'> & {
  readonly id: string;
  readonly messages: readonly ChatMessage[];
};

/** Larger than every sequence number: only the record of the run is read. */
const NO_EVENTS = 2_147_483_647;

export class StoredChat {
  readonly #chat: PersonalChat;

  constructor(options: StoredChatOptions, chatId: string, person: Person) {
    this.#chat = { ...options, chatId, person };
  }

  /** Records a post and resolves once it is durable. The stream shows the reply. */
  async take(post: Post, signal: AbortSignal): Promise<AsyncGenerator<ChatChunk>> {
    const { context } = this.#chat.person;
    // The model is only streamed if someone listens when its reply starts.
    const live = listenToRun(this.#chat);
    try {
      const loaded = await findChat(this.#chat);
      const picture = await this.#picture(loaded);
      const read = loaded && { loaded, state: picture.state };
      const problems = await recordPost(this.#chat, post, read, signal);
      return streamRun(this.#chat, live, {
        picture,
        known: post.known,
        problems,
        signal,
        // The process that drove the run may have crashed, and this may be the only one.
        driving: context ? { context } : {},
      });
    } catch (error) {
      live.stop();
      throw error;
    }
  }

  /** Streams the model's current message from its start until the run pauses or ends; undefined if there is nothing to show. */
  async replay(signal: AbortSignal): Promise<AsyncGenerator<ChatChunk> | undefined> {
    const loaded = await findChat(this.#chat);
    if (!loaded) return undefined;
    const picture = await this.#picture(loaded);
    if (!picture.current && RESTING.has(loaded.run.status)) return undefined;
    return streamRun(this.#chat, listenToRun(this.#chat), { picture, signal });
  }

  /** Throws `unknown-run` if the chat does not exist or this person may not read it. */
  async load(): Promise<LoadedChat> {
    const loaded = await this.#existing();
    const picture = await this.#picture(loaded);
    await picture.askPolicy();
    const { status, version } = loaded.run;
    const { writer, chatId } = this.#chat;
    return { id: chatId, status, version, messages: picture.messages.map((message) => chatMessage(message, writer)) };
  }

  /** Yields the status of the chat: now, and whenever it pauses or ends. Throws like `load`. */
  async watch(signal: AbortSignal): Promise<AsyncGenerator<ChatStatus>> {
    await this.#existing(NO_EVENTS);
    const { runs, tools, chatId } = this.#chat;
    return chatWatchOf(runs).follow(chatId, tools, signal);
  }

  async #picture(loaded: LoadedRun | undefined): Promise<Picture> {
    const { chatId, tools, whilePending } = this.#chat;
    const reader = this.#chat.person.mayDecide === false ? 'watcher' : this.#reader();
    const picture = new Picture({ chatId, tools, reader, whilePending });
    if (loaded) await applyEvents(loaded, (event) => picture.apply(event));
    return picture;
  }

  #reader(): Reader {
    const { runs, person } = this.#chat;
    const { id, roles = [] } = person;
    let asked: Promise<readonly Voter[]> | undefined;
    return {
      id,
      voters: () => {
        // A directory that fails hides nothing from the person; the decision is checked again.
        asked ??= internalsOf(runs)
          .votersFor(id, roles)
          .catch(() => [{ by: id, roles }]);
        return asked;
      },
    };
  }

  async #existing(after = 0): Promise<LoadedRun> {
    const loaded = await findChat(this.#chat, after);
    if (!loaded) throw unknownChat(this.#chat.chatId);
    return loaded;
  }
}
