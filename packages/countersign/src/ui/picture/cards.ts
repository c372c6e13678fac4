// Makes the cards of requests for a browser.

import { isEdit } from '../../core/authority/tally.ts';
import { isObject, type Json } from '../../core/json.ts';
import type { ToolRequestPart } from '../../core/messages/message.ts';
import type { RequestKind } from '../../core/request/request.ts';
import { type RequestView, type VotingProgress, viewOfRequest } from '../../core/request/view.ts';
import type { Agent } from '../../loop/agent.ts';
import type { ToolDefinition } from '../../loop/tool/definition.ts';
import { ANYTHING } from '../../loop/tool/schema.ts';
import type { JsonSchema } from '../../models/model.ts';
import { digestOf, type PendingCard, willRun } from '../../runs/requests/card.ts';
import { type DecisionInput, grantedIn, type Settlement } from '../../runs/requests/decision.ts';
import { policiesOn } from '../../runs/requests/progress.ts';
import type { RunRequest } from '../../runs/requests/view.ts';
import type { Allowed, CardDecision, CardProgress, RequestCard } from './card.ts';
import { EDITED } from './card-decision.ts';
import { toolCallIdAt } from './ui-message.ts';

export type Tools = ReadonlyMap<string, ToolDefinition>;

/** The card of a request in a store, and its run. */
export type StoredCard = Omit<RequestCard, 'onMessage' | 'holdsMessage'> &
  Pick<RunRequest, 'runId' | 'agent' | 'startedBy' | 'drill'>;

/** The card of a request that waits in this conversation. */
export function cardOf(key: string, pending: PendingCard, at: number | undefined, tools: Tools): RequestCard {
  const { part, request, tool } = pending;
  const digest = digestOf(key, { part } as unknown as Json);
  const about = { id: key, tool, input: willRun(part), createdAt: at ?? null, digest, policies: policiesOn(pending) };
  return asCard(viewOfRequest(request, about), part, tools);
}

/**
 * Makes the card of a stored request, pending or decided. Without the `agent` of its run, the forms for answers and edits
 * accept any JSON. `mayDecide` says whether the reader may decide it; `reader` is their id, which marks their own vote.
 */
export function requestCard(
  request: RunRequest,
  agent: Agent | undefined,
  mayDecide: boolean,
  reader?: string,
): StoredCard {
  const { part, progress, settlement, settledAt, outcome, ...view } = request;
  const card = { ...view, ...asCard(view, part, agent?.definition.innerTools?.() ?? new Map()) };
  if (settledAt === null) return { ...card, progress: progressOf(progress, reader), mayDecide };
  const votes = settlement && 'votes' in settlement ? settlement.votes : undefined;
  const counted = progress && { ...progress, votes: votes ?? progress.votes, missing: [] };
  const granted = grantedIn(settlement);
  if (granted) {
    const unasked = { ...card, status: 'decided', outcome, allows: [], progress: null } as const;
    if (granted.rule) return { ...unasked, rule: { ...granted.rule, at: settledAt } };
    return { ...unasked, grant: { id: granted.id, is: 'used', by: settlement?.by ?? null, at: settledAt } };
  }
  if (settlement && 'observed' in settlement) {
    const observed = { why: settlement.observed.why, at: settledAt };
    return { ...card, status: 'decided', observed, outcome, allows: [], progress: null };
  }
  const decision = settledDecision(request);
  return { ...card, status: 'decided', decision, outcome, progress: progressOf(counted, reader) };
}

/** The card of a request that waits. `mayDecide` is false until the policy was asked. */
function asCard(view: RequestView, { toolRequest, metadata }: ToolRequestPart, tools: Tools): RequestCard {
  const { kind, title, payload, answerSchema } = view;
  const path = pathOf(metadata?.path);
  const tool = toolAt(tools, path.length)?.get(toolRequest.name);
  // A body that asks for an answer needs one to continue.
  const allows = answerSchema ? ALLOWS.question : ALLOWS[kind];
  return {
    ...view,
    toolCallId: toolCallIdAt(path, toolRequest.ref),
    status: 'pending',
    payload: kind === 'approval' ? shownOf(payload, title) : payload,
    progress: null,
    allows,
    mayDecide: false,
    inputSchema: kind === 'question' ? null : schemaOf(tool?.input),
    answerSchema: answerSchema ?? (allows.includes('respond') ? resultSchema(kind, tool) : null),
    decision: null,
    outcome: null,
    problems: [],
  };
}

/** What the votes say to a person. Signatures and digests stay in the record. */
export function progressOf(progress: VotingProgress | null, reader: string | undefined): CardProgress | null {
  if (!progress) return null;
  const { votes, missing, assignedTo, escalatedTo, round, comments } = progress;
  return {
    ...(comments && { comments: comments.map(({ by, text, at = null }) => ({ by, text, at })) }),
    votes: votes.map((vote) => ({
      by: vote.by,
      onBehalfOf: vote.onBehalfOf ?? null,
      type: typeOf(vote.decision),
      at: vote.at ?? null,
      note: vote.note ?? null,
      isEdit: isEdit(vote),
      isYours: reader !== undefined && vote.by === reader,
    })),
    missing,
    assignedTo,
    escalatedTo,
    round,
  };
}

function typeOf(decision: Json): CardDecision['type'] {
  return ((isObject(decision) ? decision.type : undefined) ?? 'cancel') as CardDecision['type'];
}

/**
 * Returns why a decision is invalid for a card: `allows` does not list it. Undefined if it is valid. A request can always be
 * rejected or cancelled.
 */
export function misfitOf(
  { tool, allows }: Pick<RequestCard, 'tool' | 'allows'>,
  decision: DecisionInput,
): string | undefined {
  const { type, edit, replaceInput } = (typeof decision === 'string' ? { type: decision } : decision) as TypedDecision;
  if (type === 'reject' || type === 'cancel') return undefined;
  const asked = edit === undefined && replaceInput === undefined ? [type] : [type, 'edit' as const];
  const refused = asked.find((verb) => !allows.includes(verb));
  return refused && `${tool} accepts ${allows.join(', ')}, not ${refused}.`;
}

type TypedDecision = {
  readonly type: Exclude<Allowed, 'edit'>;
  readonly edit?: unknown;
  readonly replaceInput?: unknown;
};

function settledDecision({ settlement, settledAt }: RunRequest): CardDecision {
  const { decision, by, channel, note } = (settlement ?? {}) as Partial<Settlement>;
  if (decision === undefined && note === 'edited') return { ...EDITED, by: by ?? null, at: settledAt };
  const recorded = (isObject(decision) ? decision : { type: 'cancel' }) as Omit<
    CardDecision,
    'by' | 'at' | 'channel' | 'note'
  >;
  return { ...recorded, by: by ?? null, at: settledAt, channel: channel ?? null, note: note ?? null };
}

/** Without the options that the card shows in its own fields. */
function shownOf(payload: Json, title: string | null): Json {
  if (!isObject(payload)) return payload;
  const shown = Object.entries(payload).filter(
    ([key]) => !ASK_OPTIONS.has(key) && !(key === 'title' && title !== null),
  );
  return shown.length > 0 ? (Object.fromEntries(shown) as Json) : true;
}

const ASK_OPTIONS: ReadonlySet<string> = new Set(
  'expiresIn onExpiry remindAfter labels risk reversibility remind escalate expireAfter businessHours'.split(' '),
);

/** The tools of all agents at this depth: the path only names calls, not agents. */
function toolAt(tools: Tools, depth: number): Tools {
  let found = tools;
  for (let left = depth; left > 0; left--)
    found = new Map([...found.values()].flatMap((tool) => [...(tool.innerTools?.() ?? [])]));
  return found;
}

function pathOf(path: unknown): readonly string[] {
  return Array.isArray(path) ? path.filter((ref) => typeof ref === 'string') : [];
}

/** A person who saw what happened says so in a sentence, unless the tool says what its result looks like. */
function resultSchema(kind: RequestKind, tool: ToolDefinition | undefined): JsonSchema | null {
  return kind === 'doubt' && tool?.output === ANYTHING ? SENTENCE : schemaOf(tool?.output);
}

const SENTENCE: JsonSchema = { type: 'string', minLength: 1, maxLength: 2_000 };

/** Null without a schema: any JSON is accepted. */
function schemaOf(schema: ToolDefinition['input'] | undefined): JsonSchema | null {
  if (!schema) return null;
  try {
    return schema.json();
  } catch {
    // The schema has no JSON form. The page accepts any JSON, and the server validates it.
    return {};
  }
}

export const ALLOWS: Readonly<Record<RequestKind, readonly Allowed[]>> = {
  approval: ['approve', 'edit', 'revise', 'reject'],
  unavailable: ['approve', 'edit', 'reject'],
  question: ['respond', 'reject'],
  interrupt: ['approve', 'edit', 'reject', 'respond', 'restart'],
  recall: ['reject'],
  // It happened, with this result; it did not happen, so run it; skip it and tell the model.
  doubt: ['respond', 'approve', 'cancel'],
};
