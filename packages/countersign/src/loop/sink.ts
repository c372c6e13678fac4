// Where the events of a stored run, and of the sub-agents in it, are recorded.

import type { FreezeMatch, Frozen } from '../core/authority/freeze.ts';
import type { Limit } from '../core/authority/grants/limit.ts';
import type { PlanStep } from '../core/authority/grants/plan.ts';
import type { Policies } from '../core/authority/policy.ts';
import type { Json } from '../core/json.ts';
import type { Origins } from '../core/origin/origin.ts';
import type { State } from '../core/run/call.ts';
import type { RunEvent } from '../core/run/event.ts';

export type Sink = {
  /** The event as it is recorded, with its time. The run folds it in like that, so its state is that of the record. */
  stamp(event: RunEvent): RunEvent;
  /** Takes stamped events that the run has folded in; they become durable in this order. */
  write(events: readonly RunEvent[]): void;
  /** Resolves once everything written is durable; rejects if it cannot become so. */
  flushed(): Promise<void>;
  /** The event that was recorded instead of this start, because a freeze covers the call. Ask once the start is flushed. */
  frozen(start: RunEvent): (RunEvent & { readonly type: 'call-frozen' }) | undefined;
  /** False if another worker may have taken over the run. Ask right before acting. */
  isHeld(): boolean;
};

/** The process that drives stored runs, which may have to stop in the middle of one. */
export type Worker = {
  isStopping(): boolean;
  /** Calls `giveUp` once a stopping process no longer waits for models. Returns how to unsubscribe. */
  onGiveUp(giveUp: () => void): () => void;
  /** Hears of calls that an abort does not wait for and that still run. */
  onLeft(work: Promise<void>): void;
};

/** The grants of the store, as one conversation of a stored run uses them. */
export type RunGrants = {
  /**
   * Reserves a use for the call in a grant that covers it. Undefined if a person must be asked. The same call finds its use
   * again. `by`: who gave the grant. The call may run once its `call-granted` is recorded and the grant still `stands`.
   */
  use(call: GatedCall): Promise<{ readonly id: string; readonly amount?: number; readonly by: string } | undefined>;
  /** Whether `use` would find a grant now. Reserves nothing. */
  covers(call: GatedCall): Promise<boolean>;
  /** Whether the grant has the reserved use and was not revoked, as read after all events of the run are durable. */
  stands(requestId: string, grantId: string): Promise<boolean>;
  /** Gives the grants of a plan that people approved with this request. Returns until when they hold. */
  givePlan(plan: ApprovedPlan): Promise<number>;
  /**
   * Counts the call towards a limit, if that has room. Returns what stops it otherwise. `look`: counts nothing. `anyway`: counts it even
   * without room.
   */
  count(call: LimitedCall, how: 'if-room' | 'look' | 'anyway'): Promise<NoRoom | undefined>;
  /** For the sub-agent of this call. */
  inside(callId: string): RunGrants;
};

/** The steps that people approved with a request. `isOutside`: the calls of a program outside, which are runs of their own. */
export type ApprovedPlan = {
  readonly requestId: string;
  /** Of the call. The root names the request of a sub-agent by it. */
  readonly ref: string;
  readonly steps: readonly PlanStep[];
  readonly validForMs: number;
  readonly isOutside: boolean;
};

/** The stored run on whose behalf a call asks. */
export type Asker = {
  readonly runId: string;
  readonly agent: string;
  readonly startedBy: string | null;
  /** For a sub-agent: who wrote the message to the run that it is in. */
  readonly spokenBy?: string;
  /** Keeps the bytes of a file that a preview shows, beside the record of the run. */
  readonly keepFile?: (sha256: string, bytes: Uint8Array) => Promise<void>;
};

/** Why a limit has no room for a call. `frozen`: by the freeze of the limit, which stands. */
export type NoRoom = { readonly why: string; readonly frozen?: Frozen };

/** A call under a limit. `name`: what is counted together. */
export type LimitedCall = {
  readonly callId: string;
  readonly input: Json;
  readonly name: Json;
  readonly limit: Limit;
  /** What is frozen if there is no room. */
  readonly freezes?: FreezeMatch & { readonly reason: string };
};

/** A call that a person would be asked about, with the input that would run. */
export type GatedCall = {
  /** The id that the request would have. */
  readonly requestId: string;
  readonly tool: string;
  readonly input: Json;
  readonly policies: Policies;
  readonly requesters: readonly string[];
  readonly origins?: Origins;
};

/** Where a sub-agent in a stored run records its events, and the worker and clock of that run. */
export type SubAgentRecord = {
  /** The recorded state of its conversation; absent if it has not begun. */
  readonly past?: State;
  /** That state includes the prompt or the decisions that it was last started with. */
  readonly begun: boolean;
  readonly sink: Sink;
  /** Receives events that come after the sub-agent has stopped here. */
  readonly late: (events: readonly RunEvent[]) => void;
  readonly clock: () => number;
  readonly worker: Worker | undefined;
  readonly grants: RunGrants | undefined;
  readonly asker: Asker | undefined;
};
