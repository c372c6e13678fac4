// Cards: how a request is shown to a person, and the digest that binds a decision to it.

import { policiesIn, type RequestProgress, roundId } from '../../core/authority/ballots.ts';
import { decidersOf } from '../../core/authority/deciders.ts';
import { canonicalJson, isObject, type Json } from '../../core/json.ts';
import type { ToolRequestPart } from '../../core/messages/message.ts';
import { requestIn, waitingMetadata, withoutRequest } from '../../core/messages/request-metadata.ts';
import { requestPart } from '../../core/messages/turn-messages.ts';
import { type Request, reasked } from '../../core/request/request.ts';
import { type Call, callOf, pendingRequestId } from '../../core/run/call.ts';
import type { RunEvent } from '../../core/run/event.ts';
import { requestIdOf } from '../../core/run/made.ts';
import { type Outcomes, outcomesIn } from '../../core/run/outcomes.ts';
import type { State } from '../../core/run/state.ts';
import { isSubAgentActive, isUnaskedDoubt, waitingInSubAgent } from '../../core/run/sub-agents.ts';
import { REASON } from '../../loop/tool/model-schema.ts';
import { shortHash } from '../port/chain.ts';
import type { NewRequest } from '../port/store.ts';

/** A pending request. `cardRecord`, `requestView` and the cards of the UI are views of it. */
export type PendingCard = {
  readonly id: string;
  /** The request as in the messages. A decision is made on it, and the digest covers it. */
  readonly part: ToolRequestPart;
  readonly request: Request;
  readonly tool: string;
  /** Absent for an untouched request. */
  readonly progress?: RequestProgress;
};

/** The public id of a request. It begins with the id of the run, so that a decision finds its run. */
export const requestKey = (runId: string, id: string): string => `${runId}:${id}`;

export const runIdOf = (requestKey: string): string => requestKey.slice(0, Math.max(0, requestKey.indexOf(':')));

/** What new events say came of calls, by the public id of the round of the request that was decided. */
export function outcomesOf(runId: string, before: State, events: readonly RunEvent[]): Outcomes {
  const found = outcomesIn(before, events);
  if (found.size === 0) return found;
  const keyOf = (id: string): string => requestKey(runId, roundId(id, before.ballots?.get(id)?.round ?? 1));
  return new Map([...found].map(([id, outcome]) => [keyOf(id), outcome]));
}

/** The pending requests, by their key; with a `callId`, only those of that call. */
export function pendingCards(runId: string, state: State, callId?: string): ReadonlyMap<string, PendingCard> {
  const calls = openCalls(state, callId);
  // Called often, mostly when nothing is pending.
  if (!calls.some((call) => pendingRequestId(call) !== undefined || isSubAgentActive(call))) return NO_CARDS;
  const cards = new Map<string, PendingCard>();
  for (const call of calls)
    for (const card of cardsOf(call)) {
      const progress = state.ballots?.get(card.id);
      const id = progress ? roundId(card.id, progress.round) : card.id;
      cards.set(requestKey(runId, id), progress ? cardWith(progress, card) : card);
    }
  return cards;
}

function cardWith(progress: RequestProgress, card: PendingCard): PendingCard {
  const { id, tool, request, part } = card;
  const { edit, round } = progress;
  if (!edit) return { id, tool, request, part, progress };
  const asked = reasked(request, edit.asked, edit.bound ?? { readAnew: true });
  const { input } = part.toolRequest;
  return {
    ...{ id, tool, request: asked, progress },
    part: {
      toolRequest: { ...part.toolRequest, input: edit.input },
      metadata: {
        ...withoutRequest(part.metadata),
        ...waitingMetadata(asked),
        round,
        editedFrom: input,
        editedBy: edit.by,
      },
    },
  };
}

/** The calls in doubt, themselves or inside, about which no person was asked `before`; in a failed run perhaps not even now. */
export function newlyInDoubt(state: State, before?: () => State): ReadonlySet<string> {
  const calls = openCalls(state);
  const unasked = calls.filter(isUnaskedDoubt);
  const asked = calls.filter((call) => doubtsOf(call).length > 0);
  if (unasked.length + asked.length === 0) return NO_CALLS;
  const known = new Set(before && openCalls(before()).flatMap(doubtsOf));
  const newly = asked.filter((call) => !doubtsOf(call).every((id) => known.has(id)));
  return new Set([...unasked, ...newly].map(({ id }) => id));
}

function doubtsOf(call: Call): readonly string[] {
  return cardsOf(call).flatMap(({ id, request }) => (request.kind === 'doubt' ? id : []));
}

function openCalls(state: State, callId?: string): readonly Call[] {
  if (state.ended) return [];
  if (callId === undefined) return state.turn?.calls ?? [];
  const call = callOf(state, callId);
  return call ? [call] : [];
}

/** The ids of all calls of the open turn. */
export function openCallIds(state: State): ReadonlySet<string> {
  return new Set(openCalls(state).map(({ id }) => id));
}

const NO_CALLS: ReadonlySet<string> = new Set();

const NO_CARDS: ReadonlyMap<string, PendingCard> = new Map();

function cardsOf(call: Call): readonly PendingCard[] {
  const { phase } = call;
  const inside = waitingInSubAgent(call, []).map((part) => innerCard(call, part));
  if (phase.at !== 'waiting') return inside;
  const card = new WaitingCard(call, phase.request);
  return inside.length === 0 ? [card] : [card, ...inside];
}

/** The request of a call. Its part is made when it is needed: most callers look at deadlines and ids only. */
class WaitingCard implements PendingCard {
  readonly id: string;
  readonly request: Request;
  readonly tool: string;
  readonly #call: Call;

  constructor(call: Call, request: Request) {
    this.id = request.id;
    this.request = request;
    this.tool = call.name;
    this.#call = call;
  }

  get part(): ToolRequestPart {
    return requestPart(this.#call);
  }
}

/** The request of a sub-agent, read from its request. */
function innerCard(call: Call, part: ToolRequestPart): PendingCard {
  const id = requestIdOf(part) ?? `${call.id}.${part.toolRequest.ref}`;
  return { id, part, request: requestIn(id, part.metadata ?? {}), tool: part.toolRequest.name };
}

/** The input for the body: as requested, or as the tool's schema reads it. The reason of the model is not a part of it. */
export function willRun({ toolRequest, metadata }: ToolRequestPart): Json {
  if (metadata?.runsWith !== undefined) return metadata.runsWith as Json;
  const { input } = toolRequest;
  if (metadata?.agentReason === undefined || !isObject(input)) return input as Json;
  const { [REASON]: _reason, ...rest } = input;
  return rest as Json;
}

/** The row of a new request. */
export function cardRecord(key: string, card: PendingCard, runId: string, agent: string, now: number): NewRequest {
  const { part, tool, request } = card;
  const { risk = null, labels = [] } = request.shown;
  // The part has everything that is shown: the tool, its input and the payload.
  const shown = { part } as unknown as Json;
  return {
    id: key,
    runId,
    agent,
    tool,
    kind: request.kind,
    risk,
    labels,
    createdAt: now,
    expiresAt: request.wait?.expiresAt ?? null,
    deciders: decidersOn(card),
    card: shown,
    digest: digestOf(key, shown),
  };
}

/** The people and roles that a request names now. */
export function decidersOn({ request, progress }: PendingCard): NewRequest['deciders'] {
  return decidersOf(policiesIn(progress, request), progress?.escalatedTo ?? [], progress?.assignedTo ?? null);
}

/** Covers the id of the request and everything on its card. */
export function digestOf(key: string, card: Json): string {
  return shortHash(`${key}\n${canonicalJson(card)}`);
}
