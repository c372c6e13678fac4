// The timeline of a run: all its steps with start and end, in one list. The CLI, traces and the inbox are views of it.

import type { Frozen } from '../authority/freeze.ts';
import type { Policies, Vote, Who } from '../authority/policy.ts';
import { defined, type Json } from '../json.ts';
import { isToolRequest, type Message, type Part } from '../messages/message.ts';
import type { Request } from '../request/request.ts';
import { unaskedId } from './call.ts';
import {
  type BallotEvent,
  type Decision,
  type FinishReason,
  isKnown,
  type Result,
  type RunEvent,
  type SubAgentPause,
  usageIn,
} from './event.ts';
import type { Usage } from './usage.ts';

/** An event with the time at which it was recorded, in milliseconds. */
export type TimedEvent = RunEvent & { readonly at: number };

/** A call of a tool, as the timeline names it. */
export type TimelineCall = { readonly id: string; readonly name: string };

/** One thing that happened. `startedAt` says since when; null if the start is not recorded. */
export type TimelineEntry = {
  /** The place of the event in the run, starting at 1. */
  readonly seq: number;
  readonly at: number;
  /** The calls of sub-agents that it happened inside of, the outermost first; empty in the run itself. */
  readonly path: readonly TimelineCall[];
} /** `outside`: the run is one call of a program outside. */ & (
  | { readonly type: 'user-spoke'; readonly messages: readonly Message[]; readonly outside?: true }
  | {
      readonly type: 'model-replied';
      readonly startedAt: number;
      readonly content: readonly Part[];
      readonly calls: readonly TimelineCall[];
      /** Absent if no model was called. */
      readonly model?: string;
      readonly finishReason: FinishReason;
      /** Absent if the provider did not report it. */
      readonly usage?: Usage;
    }
  /** A grant let the call run without a request. */
  | {
      readonly type: 'call-granted';
      readonly call: TimelineCall;
      readonly grantId: string;
      readonly amount?: number;
      /** The person who gave the grant. */
      readonly by?: string;
      /** The id of its row in lists, where a request has its own. */
      readonly as: string;
    }
  /** The call ran unasked, and a rule would have asked these people. */
  | {
      readonly type: 'call-observed';
      readonly call: TimelineCall;
      readonly policies: Policies;
      readonly why: readonly string[];
      readonly as: string;
    }
  | { readonly type: 'call-started'; readonly call: TimelineCall }
  /** Without `result` the body stopped to ask. */
  | {
      readonly type: 'call-ended';
      readonly call: TimelineCall;
      readonly startedAt: number | null;
      readonly result?: Result;
    }
  | { readonly type: 'wait-started'; readonly call: TimelineCall; readonly request: Request | SubAgentPause }
  /** Without `decision` the request was withdrawn. */
  | {
      readonly type: 'wait-ended';
      readonly call: TimelineCall;
      readonly startedAt: number | null;
      readonly request?: Request | SubAgentPause;
      readonly decision?: Decision;
    }
  /** `edit`: the input that others are asked about from now on, because this vote did not settle the request. */
  | { readonly type: 'vote-cast'; readonly call: TimelineCall; readonly vote: Vote; readonly edit?: Json }
  | { readonly type: 'request-escalated'; readonly call: TimelineCall; readonly to: Who }
  | {
      readonly type: 'request-assigned';
      readonly call: TimelineCall;
      readonly to: string | null;
      readonly by: string | null;
    }
  | { readonly type: 'request-commented'; readonly call: TimelineCall; readonly by: string; readonly text: string }
  | {
      readonly type: 'votes-withdrawn';
      readonly call: TimelineCall;
      readonly of: string;
      readonly by: string | null;
      readonly reason?: string;
    }
  | {
      readonly type: 'policy-applied';
      readonly call: TimelineCall;
      readonly policies: Policies;
      readonly by: string | null;
    }
  | { readonly type: 'step-done'; readonly call: TimelineCall; readonly step: string }
  | { readonly type: 'call-committed'; readonly call: TimelineCall }
  /** The call of an outside program may run, and waits until that program runs it. `as`: its row in lists, if a rule let it run. */
  | { readonly type: 'call-cleared'; readonly call: TimelineCall; readonly as?: string }
  | { readonly type: 'call-held'; readonly call: TimelineCall }
  /** A freeze kept the call from starting. */
  | { readonly type: 'call-frozen'; readonly call: TimelineCall; readonly freeze: Frozen }
  /** A freeze has ended, and frozen calls of the run may start. */
  | { readonly type: 'run-unfrozen' }
  | { readonly type: 'late-result'; readonly call: TimelineCall; readonly result: Result }
  | { readonly type: 'run-failed'; readonly message: string | null }
  | { readonly type: 'run-continued' }
  | { readonly type: 'run-ended'; readonly reason: FinishReason; readonly message?: string }
);

type Distribute<T> = T extends unknown
  ? Omit<T, 'seq' | 'at' | 'path'> & { readonly path?: TimelineEntry['path'] }
  : never;
type NewEntry = Distribute<TimelineEntry>;

/** The list of a whole run. */
export function timelineOf(events: readonly TimedEvent[]): readonly TimelineEntry[] {
  return events.flatMap(createTimeline());
}

/** Reads the events of one run in order, for example as they arrive, and returns the entries that each adds. */
export function createTimeline(): (event: TimedEvent) => readonly TimelineEntry[] {
  const run = new Conversation([]);
  let seq = 0;
  return (event) => {
    seq += 1;
    const common = { seq, at: event.at };
    return run.read(event, event.at).map((entry) => ({ path: [], ...entry, ...common }) as TimelineEntry);
  };
}

type OpenCall = TimelineCall & {
  startedAt?: number | undefined;
  wait?: { readonly at: number; readonly request: Request | SubAgentPause } | undefined;
  pauses: number;
  readonly conversation: Conversation;
};

/** A run, or the conversation of a sub-agent inside one of its calls. */
class Conversation {
  readonly #path: readonly TimelineCall[];
  readonly #calls = new Map<string, OpenCall>();
  /** When the model last received something to reply to. */
  #modelSince: number | undefined;

  constructor(path: readonly TimelineCall[]) {
    this.#path = path;
  }

  read(event: RunEvent, at: number): readonly NewEntry[] {
    if (!isKnown(event)) return [];
    const entries = this.#read(event, at);
    if (GIVES_THE_MODEL_A_TURN.has(event.type)) this.#modelSince = at;
    return this.#path.length === 0 ? entries : entries.map((entry) => ({ path: this.#path, ...entry }));
  }

  #read(event: RunEvent, at: number): readonly NewEntry[] {
    switch (event.type) {
      case 'user-spoke':
        return [defined({ type: 'user-spoke', messages: event.messages, outside: event.outside })];
      case 'model-replied': {
        const { content, model, finishReason } = event;
        const names = new Map(
          content.filter(isToolRequest).map(({ toolRequest: { ref, name } }) => [ref, name] as const),
        );
        const calls = event.calls.map(({ id, ref }) => named(this.#add(id, names.get(ref) ?? UNKNOWN)));
        const startedAt = this.#modelSince ?? at;
        const usage = usageIn(event);
        return [defined({ type: 'model-replied', startedAt, content, calls, model, finishReason, usage })];
      }
      case 'call-granted': {
        const { callId, grantId, amount, by } = event;
        const call = this.#call(callId);
        const as = unaskedId({ id: callId, pauses: call.pauses });
        return [defined({ type: 'call-granted', call: named(call), grantId, amount, by, as })];
      }
      case 'call-judged': {
        if (!event.observed) return [];
        const call = this.#call(event.callId);
        const as = unaskedId({ id: event.callId, pauses: call.pauses });
        const { policies, why } = event.observed;
        return [{ type: 'call-observed', call: named(call), policies, why, as }];
      }
      case 'call-started': {
        const call = this.#call(event.callId);
        call.startedAt = at;
        return [{ type: 'call-started', call: named(call) }];
      }
      case 'call-renewed':
        return [];
      case 'call-cleared': {
        const { callId, allowed } = event;
        const call = this.#call(callId);
        const as = allowed && unaskedId({ id: callId, pauses: call.pauses });
        return [defined({ type: 'call-cleared', call: named(call), as })];
      }
      case 'call-went-on': {
        const { conversation } = this.#call(event.callId);
        return event.inside.flatMap((inner) => conversation.read(inner, at));
      }
      case 'call-interrupted': {
        const call = this.#call(event.callId);
        const { request } = event;
        call.pauses += 1;
        const ended = call.startedAt === undefined ? [] : [endedBody(call)];
        call.wait = { at, request };
        return [...ended, { type: 'wait-started', call: named(call), request }];
      }
      case 'decision-made':
        return [endedWait(this.#call(event.callId), event.decision)];
      case 'call-settled': {
        const call = this.#call(event.callId);
        return [...withdrawn(call), endedBody(call, event.result)];
      }
      case 'run-ended':
        return [
          ...[...this.#calls.values()].flatMap(withdrawn),
          defined({ type: 'run-ended', reason: event.reason, message: event.message }),
        ];
      case 'step-done':
        return [{ type: 'step-done', call: named(this.#call(event.callId)), step: event.step }];
      case 'call-committed':
        return [{ type: 'call-committed', call: named(this.#call(event.callId)) }];
      case 'call-held':
        return [{ type: 'call-held', call: named(this.#call(event.callId)) }];
      case 'call-frozen':
        return [{ type: 'call-frozen', call: named(this.#call(event.callId)), freeze: event.freeze }];
      case 'run-unfrozen':
        return [{ type: 'run-unfrozen' }];
      case 'call-ended-late':
        return [this.#lateResult(event.path ?? [], event.callId, event.result)];
      case 'vote-cast':
      case 'request-escalated':
      case 'request-assigned':
      case 'request-commented':
      case 'votes-withdrawn':
      case 'policy-applied':
        return [this.#ballotEntry(event) ?? ballotEntry(event, UNKNOWN_CALL)];
      case 'run-failed':
        return [{ type: 'run-failed', message: messageIn(event.error) }];
      case 'run-went-on':
        return [{ type: 'run-continued' }];
    }
  }

  /** A late result is recorded in the run itself; `path` leads to the call inside. */
  #lateResult([outer, ...inner]: readonly string[], callId: string, result: Result): NewEntry {
    if (outer !== undefined) return this.#call(outer).conversation.#lateResult(inner, callId, result);
    return { type: 'late-result', path: this.#path, call: named(this.#call(callId)), result };
  }

  /** Votes, escalations and assignments are recorded in the root run, even if a sub-agent asks. */
  #ballotEntry(event: BallotEvent): NewEntry | undefined {
    for (const call of this.#calls.values()) {
      if (call.wait?.request.id === event.requestId) return { path: this.#path, ...ballotEntry(event, named(call)) };
      const inside = call.conversation.#ballotEntry(event);
      if (inside) return inside;
    }
    return undefined;
  }

  #call(id: string): OpenCall {
    return this.#calls.get(id) ?? this.#add(id, UNKNOWN);
  }

  #add(id: string, name: string): OpenCall {
    const call: OpenCall = { id, name, pauses: 0, conversation: new Conversation([...this.#path, { id, name }]) };
    this.#calls.set(id, call);
    return call;
  }
}

const UNKNOWN = 'unknown';

const GIVES_THE_MODEL_A_TURN: ReadonlySet<RunEvent['type']> = new Set([
  'user-spoke',
  'model-replied',
  'call-settled',
  'run-failed',
  'run-went-on',
]);

const UNKNOWN_CALL: TimelineCall = { id: UNKNOWN, name: UNKNOWN };

function ballotEntry(event: BallotEvent, call: TimelineCall): NewEntry {
  switch (event.type) {
    case 'vote-cast':
      return defined({
        type: event.type,
        call,
        vote: event.vote,
        edit: event.edit?.settles ? undefined : event.edit?.input,
      });
    case 'request-escalated':
      return { type: event.type, call, to: event.to };
    case 'request-assigned':
      return { type: event.type, call, to: event.to, by: event.by };
    case 'request-commented':
      return { type: event.type, call, by: event.by, text: event.text };
    case 'votes-withdrawn':
      return defined({ type: event.type, call, of: event.of, by: event.by, reason: event.reason });
    case 'policy-applied':
      return { type: event.type, call, policies: event.policies, by: event.by };
  }
}

const named = ({ id, name }: OpenCall): TimelineCall => ({ id, name });

function endedBody(call: OpenCall, result?: Result): NewEntry {
  const { startedAt = null } = call;
  call.startedAt = undefined;
  return { type: 'call-ended', call: named(call), startedAt, ...(result && { result }) };
}

function endedWait(call: OpenCall, decision?: Decision): NewEntry {
  const { wait } = call;
  call.wait = undefined;
  return {
    type: 'wait-ended',
    call: named(call),
    startedAt: wait?.at ?? null,
    ...defined({ request: wait?.request, decision }),
  };
}

const withdrawn = (call: OpenCall): readonly NewEntry[] => (call.wait ? [endedWait(call)] : []);

function messageIn(error: unknown): string | null {
  const { error: inner } = (error ?? {}) as { readonly error?: { readonly message?: unknown } };
  return typeof inner?.message === 'string' ? inner.message : null;
}
