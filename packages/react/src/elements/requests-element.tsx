// <countersign-requests>: the requests that wait in a chat.
import { type RefObject, useEffect, useRef } from 'react';
import type { ChatLike } from '../request.ts';
import { Requests } from '../requests.tsx';
import { type ChatRequests, useRequests } from '../use-requests.ts';
import type { WatchSource } from '../watch/ask.ts';
import { attributes, CountersignElement, properties } from './element.tsx';
import { Loaded } from './loaded.tsx';
import { useStoredChat } from './stored-chat.ts';

/** What a page does by: whether its field for messages is disabled, and what a message would do. */
export type RequestsChange = Pick<
  ChatRequests,
  'requests' | 'decided' | 'isPending' | 'onMessage' | 'messageWaits' | 'withdraw'
>;

export class CountersignRequests extends CountersignElement {
  /** The chat, as `chatOf` gives it. Without one, the chat `chatId` at `url`. */
  declare chat: ChatLike | undefined;
  /** Where the focus goes when the last card is decided. */
  declare returnFocus: HTMLElement | null | undefined;

  /** The id of a stored chat. */
  declare chatId: string | null;

  protected view(): unknown {
    const { chat, url, chatId } = this;
    const source = { ...this.source, ...(url !== null && { api: url }) };
    const look: LookProps = {
      source,
      headingLevel: this.level,
      returnFocus: { current: this.returnFocus ?? null },
      onChange: (change) => this.#tell(change),
    };
    if (chat) return <OfChat {...look} chat={chat} />;
    if (url === null || chatId === null) return null;
    return <OfStoredChat {...look} key={`${url} ${chatId}`} url={url} chatId={chatId} />;
  }

  #tell(detail: RequestsChange): void {
    this.dispatchEvent(new CustomEvent('countersign-change', { detail, bubbles: true, composed: true }));
  }
}

properties(CountersignRequests, ['chat', 'returnFocus']);
attributes(CountersignRequests, ['chatId']);

type LookProps = {
  readonly source: WatchSource;
  readonly headingLevel: 2 | 3 | 4 | 5 | 6;
  readonly returnFocus: RefObject<HTMLElement | null>;
  readonly onChange: (change: RequestsChange) => void;
};

function OfChat({ chat, source, headingLevel, returnFocus, onChange }: LookProps & { readonly chat: ChatLike }) {
  const actions = useRequests(chat, source);
  const { requests, decided, isPending, onMessage, messageWaits, withdraw } = actions;
  const key = JSON.stringify([requests.map(({ id }) => id), decided.map(({ id }) => id), onMessage, messageWaits]);
  const told = useRef(JSON.stringify([[], [], undefined, false]));
  // biome-ignore lint/correctness/useExhaustiveDependencies: each token of an answer is a new list of the same requests.
  useEffect(() => {
    if (told.current === key) return;
    told.current = key;
    onChange({ requests, decided, isPending, onMessage, messageWaits, withdraw });
  }, [key]);
  return <Requests requests={actions} headingLevel={headingLevel} returnFocus={returnFocus} />;
}

function OfStoredChat({ url, chatId, ...look }: LookProps & { readonly url: string; readonly chatId: string }) {
  const { load, ...chat } = useStoredChat(url, chatId, look.source);
  return (
    <>
      <Loaded load={load} />
      <OfChat {...look} chat={chat} />
    </>
  );
}
