// Cards and streams as the server sends them.
import type { RequestCard } from 'countersign/ui';

export function card(change: Partial<RequestCard> = {}): RequestCard {
  const id = change.id ?? 'run:1';
  return {
    id,
    toolCallId: `call-${id}`,
    tool: 'transferMoney',
    title: null,
    agentReason: null,
    doubt: null,
    previous: null,
    reviews: [],
    kind: 'approval',
    status: 'pending',
    input: { toAccount: 'DE02', amount: 950 },
    payload: { message: 'More than 500.' },
    risk: null,
    labels: [],
    reversibility: null,
    hasUndo: false,
    preview: null,
    earlierPreview: null,
    notice: null,
    commentsForModel: false,
    createdAt: null,
    expiresAt: null,
    onExpiry: null,
    reminders: [],
    escalate: [],
    policies: [{}],
    requesters: [],
    progress: null,
    allows: ['approve', 'edit', 'reject'],
    mayDecide: true,
    digest: `digest of ${id}`,
    inputSchema: {
      type: 'object',
      properties: { toAccount: { type: 'string' }, amount: { type: 'number' } },
      required: ['toAccount', 'amount'],
    },
    answerSchema: null,
    decision: null,
    outcome: null,
    earlierTitle: null,
    problems: [],
    ...change,
  };
}

/** A chunk with the card, which replaces an earlier one with the same id. */
export const cardChunk = (given: RequestCard) => ({ type: 'data-request', id: given.id, data: given });

export const decided = (given: RequestCard, type: 'approve' | 'reject' = 'approve'): RequestCard => ({
  ...given,
  status: 'decided',
  decision: { type, by: 'ann', at: 1_763_193_600_000, channel: 'chat', note: null },
});

/** The stream of a message that ends with pending cards. */
export const paused = (cards: readonly RequestCard[], messageId = 'assistant-1') => [
  { type: 'start', messageId },
  { type: 'start-step' },
  ...cards.flatMap((given) => [
    { type: 'tool-input-available', toolCallId: given.toolCallId, toolName: given.tool, input: given.input },
    cardChunk(given),
  ]),
  { type: 'finish-step' },
  { type: 'finish' },
];

/** The stream that continues after decisions. */
export const wentOn = (cards: readonly RequestCard[], text: string, messageId = 'assistant-1') => [
  { type: 'start', messageId },
  ...cards.map(cardChunk),
  { type: 'start-step' },
  { type: 'text-start', id: `text-${text}` },
  { type: 'text-delta', id: `text-${text}`, delta: text },
  { type: 'text-end', id: `text-${text}` },
  { type: 'finish-step' },
  { type: 'finish' },
];

/** A waiting conversation, as the page loads it. */
export const conversation = (cards: readonly RequestCard[]) => [
  { id: 'user-1', role: 'user', parts: [{ type: 'text', text: 'Pay, please.' }] },
  {
    id: 'assistant-1',
    role: 'assistant',
    parts: cards.flatMap((given) => [
      { type: `tool-${given.tool}`, toolCallId: given.toolCallId, state: 'input-available', input: given.input },
      { type: 'data-request', id: given.id, data: given },
    ]),
  },
];
