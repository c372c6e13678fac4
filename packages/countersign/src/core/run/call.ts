// The state of a run: its history, its open turn, and the phase of each call in that turn.

import type { Ballots } from '../authority/ballots.ts';
import type { Frozen } from '../authority/freeze.ts';
import { type Policies, recallTime } from '../authority/policy.ts';
import type { Json } from '../json.ts';
import type { Message, Metadata, Part } from '../messages/message.ts';
import type { Preview, Request, RequestKind, SentBack } from '../request/request.ts';
import type { CallIds, Decision, FinishReason, HostStart, Made, Result } from './event.ts';
import type { GrowList, GrowSet } from './grow.ts';
import type { Usage } from './usage.ts';

/** How far a call has come. */
export type Phase =
  /** Nothing has happened yet. */
  | { readonly at: 'open' }
  /** The call asks a person. */
  | { readonly at: 'waiting'; readonly request: Request }
  /** A person decided that the body runs. */
  | { readonly at: 'cleared' }
  /**
   * The body was started. If `next` sees this, the process died while the body ran: its outcome is unknown. `host`: a program
   * outside runs it, and may report until then.
   */
  | {
      readonly at: 'started';
      readonly since: number | undefined;
      readonly progress: Progress;
      readonly host: HostStart | undefined;
    }
  /** The sub-agent asks a person. */
  | { readonly at: 'sub-agent-waiting'; readonly requestId: string; readonly messages: readonly Message[] }
  /** The sub-agent stopped in the middle and needs no decision: it continues from these messages. */
  | { readonly at: 'sub-agent-held'; readonly messages: readonly Message[] }
  /** `isPending`: it finished while a sibling waited, and was read back from messages. */
  | { readonly at: 'settled'; readonly result: Result; readonly isPending?: true };

/** What a started body records: nothing, whether it has passed its commit point, or each event of its sub-agent. */
export type Progress = 'unknown' | 'uncommitted' | 'committed' | 'sub-agent';

/** Each call has all of these properties, absent ones as `undefined`: objects of one shape are copied and read fastest. */
export type Call = CallIds & {
  readonly name: string;
  readonly metadata: Metadata | undefined;
  /** The input that runs: the proposed one, or the edited one. */
  readonly input: Json;
  /** Present if a person edited the input: the model's input, and the last editor if known. */
  readonly edit: { readonly proposed: Json; readonly by?: string | undefined } | undefined;
  /** The input as the approved card showed it, or as the tool's schema had parsed it for the card. */
  readonly runsWith: Json | undefined;
  /** The preview on the approved card, until the body asks for itself. Before the body starts, it must still be true. */
  readonly approvedPreview: Preview | undefined;
  readonly phase: Phase;
  /**
   * The value that a person gave the body to continue with; absent at the first run. `continues`: the engine made it, of the messages
   * of the sub-agent and the decisions in it.
   */
  readonly resumed: { readonly value: Json; readonly continues?: true } | undefined;
  /** How often the call has asked; the next request gets the next number. */
  readonly pauses: number;
  readonly starts: number;
  /** Results of the steps of the body that are done. */
  readonly steps: ReadonlyMap<string, Json>;
  /** What people have decided about it. */
  readonly decided: DecidedCall | undefined;
  /** The kinds of requests that were answered with `approve` or `restart`. */
  readonly approvals: readonly RequestKind[];
  /** The grant that let the call run without a request, and the amount taken from its budget. */
  readonly granted:
    | { readonly id: string; readonly amount?: number | undefined; readonly by?: string | undefined }
    | undefined;
  /** The id of its row in lists, if it ran without a request: a grant or a rule let it, or a rule only observed it. */
  readonly unasked: string | undefined;
  /** The policies that it was approved by. Later requests about the call are decided by the same people. */
  readonly policies: Policies | undefined;
  /** Everyone who has edited the input. */
  readonly editors: readonly string[] | undefined;
  /** The freeze that keeps it from starting. */
  readonly frozen: Frozen | undefined;
  /** The result of an earlier start that came too late to settle the call. */
  readonly endedLate: Result | undefined;
  readonly subAgent: SubAgent | undefined;
};

export type DecidedCall = {
  /** The request that the last decision was made on; absent if a sub-agent asked. */
  readonly request: Request | undefined;
  readonly decision: Decision;
  /** When it was recorded; undefined if the run is not stored. */
  readonly at: number | undefined;
  /** A note of each decision before. */
  readonly earlier: readonly Metadata[];
  /** The requests whose decisions let it run as it runs now: what comes of the call comes of them. */
  readonly ids: readonly string[];
};

/** The conversation inside a call: of an agent that is used as a tool, or of a `generate` whose pause a tool passes on. */
export type SubAgent = {
  /** Present if its events are recorded as they happen. `begun`: the state includes its last prompt or decisions. */
  readonly recorded?: { readonly state: State; readonly begun: boolean };
  /** Decisions since it last waited: it continues with `now`; `later` were made while it ran. */
  readonly decisions?: { readonly now?: readonly Made[]; readonly later: readonly Made[] };
  /** The tool was an agent when its body was last started in a store. */
  readonly isAgent?: true;
};

/** A reply of the model while some of its calls are open. */
export type Turn = {
  readonly content: readonly Part[];
  /** In the order of the model's calls. */
  readonly calls: readonly Call[];
  /** The index of each call in `calls`, by its id; only if there are many. */
  readonly places: ReadonlyMap<string, number> | undefined;
  readonly metadata: Metadata | undefined;
  /** Present once a person decided something in this turn. */
  readonly resumed: Json | undefined;
};

export type MayHaveActed = { readonly name: string; readonly ref: string; readonly text: string };

/** Each state has all of these properties, like each call. */
export type State = {
  /** Everything before the open turn. */
  readonly history: GrowList<Message>;
  /** Every `ref` used in the run. */
  readonly refs: GrowSet<string>;
  readonly mayHaveActed: readonly MayHaveActed[];
  /** How many calls that a person, a grant or a rule let run have failed, or ended without anyone knowing how. */
  readonly failures: number;
  readonly turn: Turn | undefined;
  /** What the requests of the open turn have collected, those of sub-agents included; absent if nothing. */
  readonly ballots: Ballots | undefined;
  /** User messages that wait for the pending decisions. */
  readonly queued: readonly Message[];
  /** Who wrote the last message of the user, if known. */
  readonly spokenBy: string | undefined;
  /** Requests that people sent back, whose tools were not approved since; absent if there are none. */
  readonly sentBack: readonly SentBack[] | undefined;
  /** Replies of the model since the user last spoke. */
  readonly turnsUsed: number;
  /** How the last reply ended, while nothing came after it. */
  readonly reply: { readonly finishReason: FinishReason; readonly finishMessage: string | undefined } | undefined;
  readonly ended: { readonly reason: FinishReason; readonly message: string | undefined } | undefined;
  /** The run is one call of a program outside. */
  readonly outside: true | undefined;
  /** The recorded tokens of all replies, including those of sub-agents. */
  readonly usage: Usage | undefined;
};

export function newTurn(content: readonly Part[], calls: readonly Call[]): Turn {
  const places = calls.length > FEW_CALLS ? new Map(calls.map(({ id }, index) => [id, index])) : undefined;
  return { content, calls, places, metadata: undefined, resumed: undefined };
}

/** So many calls are searched faster than a map is made. */
const FEW_CALLS = 8;

/** The index of a call in its turn; -1 if it is not there. */
export function placeOf({ calls, places }: Turn, callId: string): number {
  return places ? (places.get(callId) ?? -1) : calls.findIndex(({ id }) => id === callId);
}

export function newCall({ id, ref }: CallIds, name: string, input: Json, metadata?: Metadata): Call {
  return {
    id,
    ref,
    name,
    metadata,
    input,
    edit: undefined,
    runsWith: undefined,
    approvedPreview: undefined,
    phase: OPEN,
    resumed: undefined,
    pauses: 0,
    starts: 0,
    steps: NO_STEPS,
    decided: undefined,
    approvals: NO_APPROVALS,
    granted: undefined,
    unasked: undefined,
    policies: undefined,
    editors: undefined,
    frozen: undefined,
    endedLate: undefined,
    subAgent: undefined,
  };
}

const OPEN: Phase = { at: 'open' };
const NO_APPROVALS: readonly RequestKind[] = [];
const NO_STEPS: ReadonlyMap<string, Json> = new Map();

export function callOf({ turn }: State, callId: string): Call | undefined {
  return turn?.calls[placeOf(turn, callId)];
}

/** The call has its result, or its turn is closed: it can no longer change. */
export function isOver(state: State, callId: string): boolean {
  const { phase } = callOf(state, callId) ?? {};
  return phase === undefined || phase.at === 'settled';
}

/** The id of the request that the call, or its sub-agent, waits on. */
export function pendingRequestId({ phase }: Call): string | undefined {
  if (phase.at === 'waiting') return phase.request.id;
  return phase.at === 'sub-agent-waiting' ? phase.requestId : undefined;
}

/** The freeze that keeps the call from starting, or a call in its sub-agent, whatever the others in that do. */
function frozenOf({ frozen, phase, subAgent }: Call): Frozen | undefined {
  if (frozen || phase.at === 'settled') return frozen;
  return subAgent?.recorded && frozenIn(subAgent.recorded.state);
}

/** The first freeze that keeps a call of the conversation from starting. */
export function frozenIn({ turn }: State): Frozen | undefined {
  for (const call of turn?.calls ?? []) {
    const frozen = frozenOf(call);
    if (frozen) return frozen;
  }
  return undefined;
}

/** The time until which a program outside may report the result of the call; undefined if none runs it. */
export function hostUntil({ phase }: Call): number | undefined {
  return phase.at === 'started' ? phase.host?.until : undefined;
}

/** A person is asked whether the call has taken effect. */
export function isInDoubt({ phase }: Call): boolean {
  return phase.at === 'waiting' && phase.request.kind === 'doubt';
}

/** The call is approved, and must wait before it starts, so that a person can recall it. */
export function owesRecall({ policies, starts, approvals }: Call): boolean {
  return policies !== undefined && starts === 0 && !approvals.includes('recall') && recallTime(policies) > 0;
}

/** The id of the request that stands for this wait. It is no pause of its own: a grant, and the next request, are known by that number. */
export const recallId = ({ id, pauses }: Pick<Call, 'id' | 'pauses'>): string => `${requestId(id, pauses + 1)}/recall`;

/** The id of a request of this kind, of a call that has asked so often. */
export const askedId = (call: Pick<Call, 'id' | 'pauses'>, kind: unknown): string =>
  kind === 'recall' ? recallId(call) : requestId(call.id, call.pauses);

/** The call waits so that it can be recalled. */
export const isRecallable = (call: Call | undefined): boolean =>
  call?.phase.at === 'waiting' && call.phase.request.kind === 'recall';

/** The id of the row of a call that runs without a request, in place of the request that it would have made next. */
export function unaskedId({ id, pauses }: Pick<Call, 'id' | 'pauses'>): string {
  return unaskedIdOf(requestId(id, pauses + 1));
}

/** The id of that row, by the id of the request that was not made. */
export const unaskedIdOf = (requestId: string): string => `${requestId}/granted`;

/** The number of the pause is part of an request's id: a decision on the first request never fits the second. */
export function requestId(callId: string, pause: number): string {
  return pause > 1 ? `${callId}/${pause}` : callId;
}
