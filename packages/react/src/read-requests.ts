// From the messages of a chat to its requests: which wait, and which were decided.
import type { Problem, RequestCard } from 'countersign/ui';
import type { ChatLike, ChatMessage } from './request.ts';

/** A card, the message it stands in, and how it is decided. */
export type Shown = {
  readonly card: RequestCard;
  readonly messageId: string;
  /** `plain`: a tool part of a server without Countersign, which knows no decisions but yes and no. */
  readonly by: 'decisions' | 'plain';
};

export type Reading = { readonly pending: readonly Shown[]; readonly decided: readonly Shown[] };

/**
 * Reads the requests in the order of the messages. `before` holds the cards that were pending when the last request began: while a
 * stream replays a message from its start, a card that is not there yet has not gone; nor has it if that stream broke off.
 */
export function readRequests(chat: Pick<ChatLike, 'messages' | 'status'>, before: readonly Shown[]): Reading {
  const { messages, status } = chat;
  const all = messages.flatMap((message) => shownIn(message));
  const known = new Set(all.map(({ card }) => card.id));
  const gone = before.filter((shown) => !known.has(shown.card.id) && stillThere(shown, messages));
  // A plain card goes when it is decided, whether or not that can be sent; the chat sends it with whatever it sends next.
  const kept = isBusy(status) ? gone : status === 'error' ? gone.filter(({ by }) => by === 'decisions') : [];
  const open = openMessages(messages, status);
  // A card may be sent again in a later message; the last one counts.
  const latest = new Map([...kept, ...all].map((shown) => [shown.card.id, shown]));
  const cards = [...latest.values()];
  return {
    pending: cards.filter(
      (shown) => shown.card.status === 'pending' && (open.has(shown.messageId) || stays(shown, status)),
    ),
    decided: cards.filter(({ card }) => card.status === 'decided').map((shown) => toldOnce(shown, open)),
  };
}

/** A refused decision is shown until the user sends the next message. */
function toldOnce(shown: Shown, open: ReadonlySet<string>): Shown {
  return open.has(shown.messageId) ? shown : { ...shown, card: { ...shown.card, problems: [] } };
}

export const isBusy = (status: ChatLike['status']): boolean => status === 'submitted' || status === 'streaming';

/**
 * A message cancels the requests before it, so they no longer wait, unless the answer shows them again. A message that could not be sent cancels nothing.
 */
function openMessages(messages: readonly ChatMessage[], status: ChatLike['status']): ReadonlySet<string> {
  const heard = status === 'error' && messages.at(-1)?.role === 'user' ? messages.slice(0, -1) : messages;
  const lastWords = heard.findLastIndex(({ role }) => role === 'user');
  return new Set(heard.slice(lastWords + 1).map(({ id }) => id));
}

/** A message that waits withdraws nothing. The answer to it shows the card again. */
const stays = ({ card }: Shown, status: ChatLike['status']): boolean => isBusy(status) && card.onMessage === 'waits';

function stillThere(shown: Shown, messages: readonly ChatMessage[]): boolean {
  return messages.some(({ id }) => id === shown.messageId);
}

function shownIn(message: ChatMessage): readonly Shown[] {
  if (message.role !== 'assistant') return [];
  const cards = message.parts.flatMap((part) => cardIn(part));
  const covered = new Set(cards.map(({ toolCallId }) => toolCallId));
  const plain = message.parts.flatMap((part) => plainCard(part)).filter(({ toolCallId }) => !covered.has(toolCallId));
  return [
    ...cards.map((card) => ({ card, messageId: message.id, by: 'decisions' as const })),
    ...plain.map((card) => ({ card, messageId: message.id, by: 'plain' as const })),
  ];
}

function cardIn(part: { readonly type: string; readonly data?: unknown }): readonly RequestCard[] {
  if (part.type !== 'data-request' || !isObject(part.data)) return [];
  const { id, toolCallId, tool, kind, status } = part.data;
  const fits = [id, toolCallId, tool, kind].every((text) => typeof text === 'string');
  if (!fits || (status !== 'pending' && status !== 'decided')) return [];
  return [{ ...NOTHING_SAID, ...part.data } as RequestCard];
}

/** A later server may leave out what this one always says. */
const NOTHING_SAID: Partial<RequestCard> = {
  title: null,
  input: null,
  payload: null,
  risk: null,
  labels: [],
  reversibility: null,
  hasUndo: false,
  preview: null,
  earlierPreview: null,
  notice: null,
  commentsForModel: false,
  doubt: null,
  previous: null,
  createdAt: null,
  expiresAt: null,
  onExpiry: null,
  reminders: [],
  escalate: [],
  policies: [{}],
  requesters: [],
  progress: null,
  allows: [],
  mayDecide: true,
  inputSchema: null,
  agentReason: null,
  answerSchema: null,
  decision: null,
  problems: [] as readonly Problem[],
};

type ToolPart = {
  readonly type: string;
  readonly toolName?: string;
  readonly toolCallId?: string;
  readonly state?: string;
  readonly input?: unknown;
  readonly approval?: { readonly id?: unknown; readonly requestReason?: unknown };
};

function plainCard(part: ToolPart): readonly RequestCard[] {
  const tool = part.type === 'dynamic-tool' ? part.toolName : part.type.startsWith('tool-') && part.type.slice(5);
  if (!tool || part.state !== 'approval-requested' || typeof part.approval?.id !== 'string') return [];
  const { id, requestReason } = part.approval;
  return [
    {
      ...NOTHING_SAID,
      id,
      toolCallId: part.toolCallId ?? id,
      tool,
      kind: 'approval',
      status: 'pending',
      input: part.input ?? null,
      payload: typeof requestReason === 'string' ? { message: requestReason } : null,
      allows: ['approve', 'reject'],
      digest: '',
    } as RequestCard,
  ];
}

function isObject(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
