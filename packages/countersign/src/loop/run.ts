// A run in progress, and the driver that it runs with.

import type { Frozen } from '../core/authority/freeze.ts';
import { copyOf } from '../core/json.ts';
import type { Message } from '../core/messages/message.ts';
import type { Outer } from '../core/origin/search.ts';
import type { Call } from '../core/run/call.ts';
import { EVENT_VERSION, event, type HostStart, type RunEvent, usageIn } from '../core/run/event.ts';
import type { Limits } from '../core/run/next.ts';
import { fold, type State } from '../core/run/state.ts';
import { addUsage, type Usage } from '../core/run/usage.ts';
import type { Model, ModelRequest } from '../models/model.ts';
import type { Asker, RunGrants, SubAgentRecord, Worker } from './sink.ts';
import { type Chunk, eventChunks } from './stream/chunk.ts';
import type { Context, ToolContext, ToolDefinition } from './tool/definition.ts';
import type { Policies } from './tool/policies.ts';

type MaybePromise<T> = T | Promise<T>;

/** The program whose call a run is. It runs the body itself, or is granted to run it elsewhere. */
export type Caller = {
  /** Runs instead of the body of the tool. */
  readonly body?: (input: any, ctx: ToolContext) => unknown;
  /** The body runs outside of this process: only its start is recorded. */
  readonly host?: HostStart;
};

export type Driver = {
  readonly model: Model;
  /** What each request to the model says, besides the messages. */
  readonly request: Omit<ModelRequest, 'messages' | 'signal'>;
  readonly tools: ReadonlyMap<string, ToolDefinition>;
  readonly context: Context;
  readonly limits: Limits;
  readonly signal?: AbortSignal;
  readonly newId: () => string;
  readonly emit?: (chunk: Chunk) => void;
  readonly onEvent?: (event: RunEvent) => void;
  /** `tell`: a tool that throws is a result for the model. */
  readonly onToolError: 'tell' | 'throw';
  readonly clock: () => number;
  readonly policies: Policies;
  /** The run that asks; absent where it is not stored. */
  readonly asker?: Asker;
  /** Absent where no worker drives the run, but its caller. */
  readonly worker?: Worker;
  /** Absent where the run is not stored. */
  readonly grants?: RunGrants;
  readonly caller?: Caller;
  /** The conversation that this one is inside. */
  readonly outer?: Outer | undefined;
  /** Its requests say where their values came from. */
  readonly usesOrigins?: boolean;
};

export type CallFailure = { readonly call: Call; readonly error: unknown };

type Listeners = Pick<Driver, 'emit' | 'onEvent'>;

/**
 * A run in progress: its state, which only events change. It lives in this process until its caller, its only writer, keeps
 * the messages. A `StoredRun` shares a store with other writers and overrides the methods where the two differ.
 */
export class Run {
  state: State;
  usage: Usage | undefined;
  /** They end the run for now; nothing is lost. */
  readonly failures: CallFailure[] = [];
  replies = 0;
  /** Receives events that come after the run was closed here, such as the result of a slow tool. */
  onLate: ((events: readonly RunEvent[]) => void) | undefined;
  #isClosed = false;
  readonly #emit: Driver['emit'];
  readonly #onEvent: Driver['onEvent'];

  constructor(state: State, { emit, onEvent }: Listeners = {}) {
    this.state = state;
    this.#emit = emit;
    this.#onEvent = onEvent;
  }

  /** Records the start of the body. Returns false if the start cannot become durable. */
  start({ commits }: ToolDefinition, call: Call, _driver: Driver): MaybePromise<boolean> {
    const started = { v: EVENT_VERSION, type: 'call-started', callId: call.id } as const;
    this.record(commits ? { ...started, commits } : started);
    return true;
  }

  /** Records that the call does not start before its freeze ends. */
  async freeze({ id }: Call, freeze: Frozen): Promise<false> {
    this.record(event({ type: 'call-frozen', callId: id, freeze }));
    return false;
  }

  /** The started call, or undefined if its body must not run. Run the body right after, without awaiting anything. */
  begun(call: Call): Call | undefined {
    return call;
  }

  /** Throws a `LostSignal` if the body of the call must not do anything more. */
  checkHold(_call: Call): MaybePromise<void> {}

  /** Another writer has recorded the result of the call, which stands. */
  isSuperseded(_call: Call): boolean {
    return false;
  }

  /** An approved call waits while its tool is missing or rejects its input. Without a store, `generate` has refused it. */
  waitsForTool(_call: Call): boolean {
    return false;
  }

  /** A message of the user does not cancel the call, because a person has decided it. */
  keepsDecision(_call: Call): boolean {
    return false;
  }

  /** A person has yet to decide the call, or something inside it. */
  isUndecided({ phase }: Call): boolean {
    return phase.at !== 'settled' && phase.at !== 'cleared';
  }

  /** Where the sub-agent of this call records its events; undefined if only its messages are kept. */
  subAgentRecord(_call: Call, _driver: Driver): SubAgentRecord | undefined {
    return undefined;
  }

  /** The messages of a sub-agent whose requests are asked again, because it refused the decisions on them. */
  askAgain(messages: readonly Message[], _call: Call): readonly Message[] {
    return messages;
  }

  /** The events as they are recorded. */
  protected stamp(events: readonly RunEvent[]): readonly RunEvent[] {
    return events;
  }

  /** Takes events that the run has folded in. */
  protected write(_events: readonly RunEvent[]): void {}

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Folds the events in and tells the listeners. After the run was closed, only `onLate` hears of them. */
  record(...events: readonly RunEvent[]): void {
    if (this.#isClosed) {
      this.onLate?.(events);
      return;
    }
    const states = this.#onEvent || this.#emit ? [this.state] : undefined;
    const stamped = this.stamp(events);
    for (const recorded of stamped) {
      this.state = fold(this.state, recorded);
      states?.push(this.state);
    }
    // Before the listeners, which may throw.
    this.write(stamped);
    if (!states) return;
    for (const [index, recorded] of events.entries())
      this.#tell(recorded, states[index] as State, states[index + 1] as State);
  }

  #tell(recorded: RunEvent, before: State, after: State): void {
    // A copy, so that a listener cannot change the record.
    this.#onEvent?.(copyOf(recorded));
    if (!this.#emit) return;
    for (const chunk of eventChunks(recorded, before, after, Math.max(0, this.replies - 1))) this.#emit(chunk);
  }

  /** Records a reply of the model and counts its tokens. */
  recordReply(events: readonly RunEvent[]): void {
    this.replies += 1;
    for (const recorded of events) this.usage = addUsage(this.usage, usageIn(recorded));
    this.record(...events);
  }

  /** From now on nothing changes the state, even if a tool still runs. */
  close(): void {
    this.#isClosed = true;
  }
}
