// Replays the events of a run: the requests that it asked, the votes on them, how they were settled, and what started.

import type { Policies, Vote } from '../../core/authority/policy.ts';
import { standingVotes } from '../../core/authority/tally.ts';
import { messageOf } from '../../core/errors.ts';
import { defined, type Json } from '../../core/json.ts';
import { newState } from '../../core/messages/load-messages.ts';
import type { ToolRequestPart } from '../../core/messages/message.ts';
import type { Origins } from '../../core/origin/origin.ts';
import { type Call, callOf, owesRecall, requestId } from '../../core/run/call.ts';
import { findDecided } from '../../core/run/decide.ts';
import { isByDeadline, type PersonDecision, type RunEvent } from '../../core/run/event.ts';
import { Decisions } from '../../core/run/made.ts';
import { fold, type State } from '../../core/run/state.ts';
import { subAgentEvents, subAgentState } from '../../core/run/sub-agents.ts';
import { useKey } from '../grants/outcomes.ts';
import type { RunRecord, RunStatus, StoredEvent } from '../port/store.ts';
import { digestOf, type PendingCard, pendingCards } from '../requests/card.ts';
import { onCards } from '../requests/on-cards.ts';
import { policiesOn } from '../requests/progress.ts';
import { statusOf } from '../requests/projection.ts';
import { decisionProblems, type Made, voteProblems } from './decision-rules.ts';

/** Something that does not hold, and where: a place in the document, such as `events[3]`. */
export type EvidenceProblem = { readonly where: string; readonly problem: string };

/** A vote, and the event that recorded it. */
export type ReplayedVote = { readonly event: number; readonly vote: Vote };

/** A request as the events tell it. Numbers of events start at 1. */
export type ReplayedRequest = {
  readonly id: string;
  readonly tool: string;
  readonly kind: string;
  /** The event that asked it. */
  readonly asked: number;
  /** The request as in the messages: the card is made of it. */
  readonly part: ToolRequestPart;
  readonly digest: string;
  /** Who must decide it: the policies that counted last. */
  readonly policies: Policies;
  /** All votes on this card, with their signatures. */
  readonly votes: readonly ReplayedVote[];
  /** Null while it is pending. Without a decision it was withdrawn. */
  readonly settled: Settled | null;
};

/** How a request ended. `votes`: those that counted, if there were any. */
type Settled = {
  readonly event: number;
  readonly at: number;
  readonly decision: PersonDecision | null;
  readonly votes?: readonly Vote[];
};

/** A call that ran under a grant. `key` is its use in the record of the grant. */
export type GrantedUse = {
  readonly event: number;
  readonly grantId: string;
  readonly key: string;
  readonly tool: string;
  readonly input: Json;
  readonly origins?: Origins;
  /** Those of the request that was not made, and who took part. */
  readonly policies: Policies;
  readonly requesters: readonly string[];
  /** The person who gave the grant; absent in older events. */
  readonly by?: string;
};

/** A call that started, and what let it run. `unasked`: its tool, and every rule, asked nobody. */
export type StartedCall = {
  readonly event: number;
  /** The ids of the call, and of the calls that it is inside of. */
  readonly path: readonly string[];
  readonly tool: string;
  readonly by: 'approval' | 'answer' | 'doubt' | 'deadline' | 'grant' | 'rule' | 'unasked';
};

export type Replay = {
  readonly requests: readonly ReplayedRequest[];
  readonly granted: readonly GrantedUse[];
  readonly started: readonly StartedCall[];
  /** The status after the last event. */
  readonly status: RunStatus;
  readonly problems: readonly EvidenceProblem[];
};

type Run = Pick<RunRecord, 'id' | 'startedBy'>;

/** Never throws: events that cannot be followed are a problem, and the replay ends there. */
export function replay(run: Run, events: readonly StoredEvent[]): Replay {
  const requests = new Map<string, ReplayedRequest>();
  const granted: GrantedUse[] = [];
  const started: StartedCall[] = [];
  const problems: EvidenceProblem[] = [];
  let state = newState();
  for (const [index, event] of events.entries()) {
    const where = `events[${index}]`;
    const now = { event: index + 1, at: event.at };
    try {
      for (const problem of startProblems(state, event)) problems.push({ where, problem });
      const decided = event.type === 'decision-made' ? decisionsIn(run.id, state, event) : NO_DECISIONS;
      for (const made of decided.values())
        for (const problem of decisionProblems(made, event.at)) problems.push({ where, problem });
      if (event.type === 'vote-cast') {
        const found = [...pendingCards(run.id, state)].find(([, card]) => card.id === event.requestId);
        for (const problem of voteProblems(found, event.vote)) problems.push({ where, problem });
        if (found) addVote(requests, found[0], { event: now.event, vote: event.vote });
      }
      granted.push(...grantsIn(run.id, state, event, []).map((use) => ({ event: now.event, ...use })));
      started.push(...startsIn(state, event, []).map((start) => ({ event: now.event, ...start })));
      state = fold(state, event);
      take(requests, pendingCards(run.id, state), decided, now);
    } catch (error) {
      problems.push({ where, problem: `It does not fit the events before it. ${messageOf(error)}` });
      break;
    }
  }
  const status = events.at(-1)?.type === 'run-failed' ? 'failed' : statusOf(state, NO_LIMITS);
  return { requests: [...requests.values()], granted, started, status, problems };
}

const NO_DECISIONS: ReadonlyMap<string, Made> = new Map();

const NO_LIMITS = { maxTurns: Number.POSITIVE_INFINITY };

function addVote(requests: Map<string, ReplayedRequest>, id: string, vote: ReplayedVote): void {
  const question = requests.get(id);
  if (question) requests.set(id, { ...question, votes: [...question.votes, vote] });
}

/** Adds the new requests, and settles those that are no longer pending. */
function take(
  requests: Map<string, ReplayedRequest>,
  pending: ReadonlyMap<string, PendingCard>,
  decided: ReadonlyMap<string, Made>,
  now: { readonly event: number; readonly at: number },
): void {
  for (const [id, question] of requests) {
    if (question.settled) continue;
    const card = pending.get(id);
    const made = decided.get(id);
    const decision = made?.matched.decision ?? null;
    const votes = standingVotes(made?.card.progress?.votes ?? []);
    // A rejected call is pending until its result, which is the next event.
    if (decision || !card)
      requests.set(id, { ...question, settled: { ...now, decision, ...(votes.length > 0 && { votes }) } });
    else if (card.progress?.policies) requests.set(id, { ...question, policies: card.progress.policies });
  }
  for (const [id, card] of pending) {
    if (requests.has(id)) continue;
    const { part, tool, request } = card;
    const { kind } = request;
    const digest = digestOf(id, { part } as unknown as Json);
    const policies = policiesOn(card);
    requests.set(id, { id, tool, kind, asked: now.event, part, digest, policies, votes: [], settled: null });
  }
}

/** The decisions of one event, by the id of their request. A decision on a sub-agent holds those on its requests. */
function decisionsIn(
  runId: string,
  state: State,
  { callId, requestId, decision }: StoredEvent & { type: 'decision-made' },
): ReadonlyMap<string, Made> {
  const cards = [...pendingCards(runId, state, callId)];
  const call = callOf(state, callId);
  if (!call) return NO_DECISIONS;
  if (decision.type !== 'inside') {
    const own = cards.find(([, card]) => card.id === requestId);
    return new Map(own && [[own[0], { id: own[0], card: own[1], matched: { call, requestId, decision } }]]);
  }
  const made = decision.decisions.map(({ on, ...one }) => ({
    ...one,
    on: { ...on, path: [call.ref, ...on.path] },
    where: 'decisions',
  }));
  const { leaves } = findDecided(state, new Decisions(made));
  return new Map(onCards(leaves, new Map(cards)).map(({ key, card, leaf }) => [key, { id: key, card, matched: leaf }]));
}

/** A call that starts while its request is pending, or after it has its result, was not allowed to. */
function startProblems(state: State, event: RunEvent): readonly string[] {
  if (event.type === 'call-went-on') return eachInside(state, event, (inner, step) => startProblems(inner, step));
  if (event.type !== 'call-started') return [];
  const call = callOf(state, event.callId);
  const at = call?.phase.at;
  if (at === 'waiting') return [`${call?.name} (${event.callId}) starts without a decision on its request.`];
  if (call && owesRecall(call))
    return [`${call.name} (${event.callId}) starts before its time to recall it has passed.`];
  return at === 'settled' ? [`${call?.name} (${event.callId}) starts after it has its result.`] : [];
}

/** The calls that a grant lets run with this event. */
function grantsIn(
  runId: string,
  state: State,
  event: RunEvent,
  path: readonly string[],
): readonly Omit<GrantedUse, 'event'>[] {
  if (event.type === 'call-went-on')
    return eachInside(state, event, (inner, step) => grantsIn(runId, inner, step, [...path, event.callId]));
  const call: Call | undefined = event.type === 'call-granted' ? callOf(state, event.callId) : undefined;
  if (event.type !== 'call-granted' || !call) return [];
  const { grantId, callId, runsWith = call.input, policies, requesters = [], by, shown } = event;
  const from = defined({ by, origins: shown?.origins });
  const key = useKey(runId, [...path, requestId(callId, call.pauses + 1)]);
  return [{ grantId, key, tool: call.name, input: runsWith, policies, requesters, ...from }];
}

/** The calls that start with this event. */
function startsIn(state: State, event: RunEvent, path: readonly string[]): readonly Omit<StartedCall, 'event'>[] {
  if (event.type === 'call-went-on')
    return eachInside(state, event, (inner, step) => startsIn(inner, step, [...path, event.callId]));
  const call: Call | undefined = event.type === 'call-started' ? callOf(state, event.callId) : undefined;
  return call ? [{ path: [...path, call.id], tool: call.name, by: whyStarted(call) }] : [];
}

function whyStarted({ granted, unasked, decided, approvals }: Call): StartedCall['by'] {
  if (decided && decided.decision.type !== 'inside') {
    if (isByDeadline(decided.decision)) return 'deadline';
    if (decided.request?.kind === 'doubt') return 'doubt';
  }
  if (granted) return 'grant';
  if (unasked !== undefined) return 'rule';
  if (approvals.some((kind) => kind !== 'interrupt')) return 'approval';
  return approvals.length > 0 ? 'answer' : 'unasked';
}

/** What `read` finds in each event of a sub-agent, given the state before it. */
export function eachInside<T>(
  state: State,
  event: RunEvent & { type: 'call-went-on' },
  read: (inner: State, step: RunEvent) => readonly T[],
): readonly T[] {
  const call = callOf(state, event.callId);
  if (!call) return [];
  let inner = subAgentState(call);
  return subAgentEvents(event).flatMap((step) => {
    const found = read(inner, step);
    inner = fold(inner, step);
    return found;
  });
}
