// The hook: the pending requests of a chat, and the functions that decide them.
import type { Problem, RequestCard } from 'countersign/ui';
import { useCallback, useEffect, useMemo, useRef } from 'react';
import { type Decision, posted } from './card/decision.ts';
import { isBusy, readRequests, type Shown } from './read-requests.ts';
import type { AnswerOf, AnyTools, ChatLike, Interrupt, InterruptTools } from './request.ts';
import type { WatchSource } from './watch/ask.ts';
import { onTheirWay, useOutbox } from './watch/use-outbox.ts';
import { useWatch } from './watch/use-watch.ts';

/** Where to watch for decisions made elsewhere. Without `api` nothing is watched. */
export type UseRequestsOptions = WatchSource;

type OfTool<Tools extends InterruptTools, Name extends keyof Tools> = Extract<
  Interrupt<Tools>,
  { readonly tool: Name }
>;

type Noted = { readonly note?: string | undefined };

/**
 * Each names an request, by its id or by its card, and sends the digest of that card. A second call on the same
 * request does nothing until the first is answered.
 */
export type RequestActions<Tools extends InterruptTools = AnyTools> = {
  approve<Name extends keyof Tools & string>(
    request: string | OfTool<Tools, Name>,
    options?: Noted & { readonly edit?: Tools[Name]['input'] },
  ): void;
  /** Approves with another input. */
  edit<Name extends keyof Tools & string>(
    request: string | OfTool<Tools, Name>,
    input: Tools[Name]['input'],
    options?: Noted,
  ): void;
  reject(request: string | Interrupt<Tools>, reason?: string, options?: Noted): void;
  /** Asks for changes: the call does not run, and the model reads the comment. Its next call is the next round. */
  revise(request: string | Interrupt<Tools>, comment: string, options?: Noted): void;
  respond<Name extends keyof Tools & string>(
    request: string | OfTool<Tools, Name>,
    output: AnswerOf<Tools, Name>,
    options?: Noted,
  ): void;
  /** Runs the tool's body again; it finds `resumed`, or `true` without it. */
  restart<Name extends keyof Tools & string>(
    request: string | OfTool<Tools, Name>,
    options?: Noted & { readonly resumed?: unknown; readonly replaceInput?: Tools[Name]['input'] },
  ): void;
  cancel(request: string | Interrupt<Tools>, reason?: string, options?: Noted): void;
};

/** The requests of a chat. */
export type UseRequests<Tools extends InterruptTools = AnyTools> = RequestActions<Tools> & {
  /** Those that wait, in the order of the conversation. */
  readonly requests: readonly Interrupt<Tools>[];
  /** The decided requests, by this user or anyone else. */
  readonly decided: readonly Interrupt<Tools>[];
  /** Whether any request is pending. */
  readonly isPending: boolean;
  /** The ids that this client is deciding now: sent and not answered, or about to be sent. */
  readonly deciding: ReadonlySet<string>;
  /** Why the server refused this client's last decision on this request, including that someone else decided first. */
  problems(requestId: string): readonly Problem[];
  /** Why the server did not confirm the last decision on this request: it may have arrived. It can be decided again. */
  failure(requestId: string): Error | undefined;
  /** Why the first unconfirmed decision was not confirmed. */
  readonly error: Error | undefined;
};

/** The requests of a chat, and what they mean for its messages. */
export type ChatRequests<Tools extends InterruptTools = AnyTools> = UseRequests<Tools> & {
  /**
   * What a new message does now: it waits until the pending requests are decided, withdraws them, or is refused. Undefined if
   * nothing is pending. Ask before you send a message that withdraws requests.
   */
  readonly onMessage: RequestCard['onMessage'];
  /** Whether a message that the user sent waits until the pending requests are decided. */
  readonly messageWaits: boolean;
  /** Withdraws the pending requests, so that the message which waits is answered now. Needs a chat with a store. */
  withdraw(): void;
};

/**
 * Reads the requests of a chat and decides them.
 *
 * @example
 * ```tsx
 * const chat = useChat({ transport: new DefaultChatTransport({ api: '/api/chat' }) });
 * const { requests, approve, reject, isPending } = useRequests<MyTools>(chat, { api: '/api/chat' });
 * ```
 */
export function useRequests<Tools extends InterruptTools = AnyTools>(
  chat: ChatLike,
  options: UseRequestsOptions = {},
): ChatRequests<Tools> {
  const { messages, status } = chat;
  const atRest = useRef<readonly Shown[]>([]);
  const reading = useMemo(() => readRequests({ messages, status }, atRest.current), [messages, status]);
  const { outbox, send } = useOutbox(chat);
  const shown = useMemo(() => new Set(reading.pending.map(({ card }) => card.id)), [reading]);
  useWatch(chat, options, shown);

  const latest = useRef(reading);
  useEffect(() => {
    latest.current = reading;
    if (!isBusy(status)) atRest.current = reading.pending;
  }, [reading, status]);

  const actions = useMemo((): RequestActions<AnyTools> => {
    function decide(named: string | Interrupt, decision: Decision, { note }: Noted = {}) {
      const id = typeof named === 'string' ? named : named.id;
      const found = latest.current.pending.find(({ card }) => card.id === id);
      // Decided elsewhere, or called off, in the moment before the click.
      if (!found) return;
      // Use the card that was passed in: its digest covers what the person saw, even if the card has changed since.
      const card = typeof named === 'string' ? found.card : named;
      send({ posted: posted(card, decision, note), by: found.by });
    }
    return {
      approve: (request, options = {}) =>
        decide(request, { type: 'approve', ...('edit' in options && { edit: options.edit }) }, options),
      edit: (request, input, options) => decide(request, { type: 'approve', edit: input }, options),
      reject: (request, reason, options) => decide(request, { type: 'reject', ...because(reason) }, options),
      revise: (request, comment, options) => decide(request, { type: 'revise', comment }, options),
      respond: (request, output, options) => decide(request, { type: 'respond', output }, options),
      restart: (request, { note, ...said } = {}) => decide(request, { type: 'restart', ...said }, { note }),
      cancel: (request, reason, options) => decide(request, { type: 'cancel', ...because(reason) }, options),
    };
  }, [send]);

  const latestChat = useRef(chat);
  useEffect(() => {
    latestChat.current = chat;
  });
  const withdraw = useCallback(() => {
    const { sendMessage, status } = latestChat.current;
    if (!isBusy(status)) void sendMessage(undefined, { body: { withdraw: true } });
  }, []);

  return useMemo(() => {
    const deciding = onTheirWay(outbox);
    const requests = reading.pending.map(({ card }) => card);
    const decided = reading.decided.map(({ card }) => card);
    return {
      ...actions,
      requests,
      decided,
      isPending: requests.length > 0,
      onMessage: onMessageOf(requests),
      messageWaits: requests.some(({ holdsMessage }) => holdsMessage),
      withdraw,
      deciding,
      problems: (id: string) =>
        deciding.has(id) ? [] : ([...requests, ...decided].find((card) => card.id === id)?.problems ?? []),
      failure: (id: string) => outbox.failures.get(id),
      error: requests.map(({ id }) => outbox.failures.get(id)).find((failure) => failure !== undefined),
      // What the server sends is typed by what the app says that its tools are.
    } as unknown as ChatRequests<Tools>;
  }, [actions, outbox, reading, withdraw]);
}

/** If the message waits for one request, it withdraws none. */
function onMessageOf(requests: readonly RequestCard[]): RequestCard['onMessage'] {
  const all = requests.map(({ onMessage = 'withdraws' }) => onMessage);
  return (['waits', 'refused', 'withdraws'] as const).find((one) => all.includes(one));
}

const because = (reason: string | undefined) => (reason === undefined || reason === '' ? {} : { reason });
