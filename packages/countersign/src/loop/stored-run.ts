// A run in a store: nothing happens before it is durable, other writers may come first, and decisions are final.

import type { Frozen } from '../core/authority/freeze.ts';
import { defined } from '../core/json.ts';
import type { Message } from '../core/messages/message.ts';
import { type Call, callOf, isOver, pendingRequestId, type State } from '../core/run/call.ts';
import { event, type RunEvent } from '../core/run/event.ts';
import { withoutStart } from '../core/run/state.ts';
import { askedAgain, decidedRefs, waitingInSubAgent } from '../core/run/sub-agents.ts';
import { type Driver, Run } from './run.ts';
import type { Sink, SubAgentRecord } from './sink.ts';
import type { ToolDefinition } from './tool/definition.ts';
import { LostSignal } from './tool/signal.ts';

/** How long a start may take to become durable, and how often it is recorded again. */
const START_MS = 1_000;
const MAX_STARTS = 10;

type Start = RunEvent & { readonly type: 'call-started' };

export class StoredRun extends Run {
  readonly #sink: Sink;

  constructor(state: State, sink: Sink, listeners: Pick<Driver, 'emit' | 'onEvent'> = {}) {
    super(state, listeners);
    this.#sink = sink;
  }

  /** The body must not run before its start is durable. */
  override start(tool: ToolDefinition, call: Call, driver: Driver): Promise<boolean> {
    const { host } = driver.caller ?? {};
    const start = event({
      type: 'call-started',
      callId: call.id,
      ...(tool.innerTools && { inside: true as const }),
      ...(tool.commits && { commits: true as const }),
      ...(host && { host }),
    });
    const before = callOf(this.state, call.id);
    this.record(start);
    return this.#isStarted(start, before, tool, driver);
  }

  /**
   * A freeze kept the call from starting, even if it was lifted since: the record has less than so many starts. The sink has that in
   * the state of the run itself, but not in that of a sub-agent.
   */
  #isFrozen(start: Start, before: Call | undefined, starts: number): boolean {
    const frozen = this.#sink.frozen(start);
    const isKept = (): boolean => {
      const call = callOf(this.state, start.callId);
      return call !== undefined && call.starts < (before?.starts ?? 0) + starts;
    };
    if (frozen && before && !isKept()) this.state = withoutStart(this.state, before, frozen);
    return isKept();
  }

  /** A freeze that ends before this is durable is recorded as ended, so the call goes on. */
  override async freeze(call: Call, freeze: Frozen): Promise<false> {
    await super.freeze(call, freeze);
    await this.#isDurable();
    return false;
  }

  /** The body must not run after the run has ended or was taken over. */
  override begun(call: Call): Call | undefined {
    if (this.state.ended || !this.#mayAct()) return undefined;
    // Other writers may have decided something in the meantime.
    return callOf(this.state, call.id) ?? call;
  }

  /**
   * True once the start is durable. `settlesWithin` counts from the recorded start, which must not be older than the body:
   * if the store was away for a while, the start is recorded again. If that fails, the call does not run and is in doubt.
   */
  async #isStarted(
    start: Start,
    before: Call | undefined,
    { settlesWithin, idempotent }: ToolDefinition,
    { clock }: Driver,
  ): Promise<boolean> {
    for (let starts = 1; ; starts++) {
      const at = clock();
      if (!(await this.#isDurable()) || this.#isFrozen(start, before, starts)) return false;
      if (settlesWithin === undefined || idempotent || clock() - at <= START_MS) return true;
      if (starts === MAX_STARTS || isOver(this.state, start.callId) || this.state.ended || !this.#mayAct())
        return false;
      this.record(start);
    }
  }

  override async checkHold(call: Call): Promise<void> {
    if (!((await this.#isDurable()) && this.#isRunning(call) && this.#mayAct())) throw new LostSignal(call.name);
  }

  override isSuperseded({ id }: Call): boolean {
    return isOver(this.state, id);
  }

  override waitsForTool({ phase }: Call): boolean {
    return phase.at === 'cleared' || phase.at === 'sub-agent-held';
  }

  override keepsDecision(call: Call): boolean {
    return !this.state.ended && (call.phase.at === 'cleared' || decidedRefs(call).size > 0);
  }

  /** A call that needs no decision continues by itself. */
  override isUndecided(call: Call): boolean {
    return pendingRequestId(call) !== undefined || waitingInSubAgent(call, []).length > 0;
  }

  /** Nothing is recorded, and so nothing happens, in a sub-agent whose run has ended or was taken over. */
  override subAgentRecord(call: Call, { clock, worker, grants, asker }: Driver): SubAgentRecord {
    const { recorded } = call.subAgent ?? {};
    const wentOn = (events: readonly RunEvent[]) =>
      event({ type: 'call-went-on', callId: call.id, inside: events } as const);
    const late = (events: readonly RunEvent[]) => this.onLate?.([wentOn(events)]);
    return {
      ...(recorded && { past: recorded.state }),
      begun: recorded?.begun ?? false,
      sink: {
        stamp: (event) => event,
        write: (events) => {
          if (!this.#isRunning(call)) {
            // The worker that took over does not know these results.
            late(events);
            throw new LostSignal(call.name);
          }
          this.record(wentOn(events));
        },
        flushed: () => this.checkHold(call),
        frozen: (start) => this.#sink.frozen(start),
        isHeld: () => this.#mayAct(),
      },
      late,
      clock,
      worker,
      grants: grants?.inside(call.id),
      asker: asker && { ...asker, ...defined({ spokenBy: this.state.spokenBy }) },
    };
  }

  /** A store keeps each request once: asked again, it gets a new id. */
  override askAgain(messages: readonly Message[], call: Call): readonly Message[] {
    return askedAgain(messages, call);
  }

  protected override stamp(events: readonly RunEvent[]): readonly RunEvent[] {
    return events.map((event) => this.#sink.stamp(event));
  }

  protected override write(events: readonly RunEvent[]): void {
    this.#sink.write(events);
  }

  #isRunning({ id }: Call): boolean {
    return !this.state.ended && callOf(this.state, id)?.phase.at === 'started';
  }

  /** False if the recorded events cannot become durable: nothing more may happen. */
  async #isDurable(): Promise<boolean> {
    try {
      await this.#sink.flushed();
      return !this.isClosed;
    } catch {
      // The sink itself reports the error to the driver of the run.
      return false;
    }
  }

  /** Ask right before acting: another worker may have taken over while this one waited. */
  #mayAct(): boolean {
    return !this.isClosed && this.#sink.isHeld();
  }
}
