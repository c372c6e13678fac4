// The recorded calls of one chat: each has its own run, which one person reads, decides and drives.
import { ConflictError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json.ts';
import { isByDeadline } from '../../core/run/event.ts';
import type { CallRecord } from '../../runs/gates/call-gate.ts';
import type { CallStatus } from '../../runs/gates/call-status.ts';
import { shortHash } from '../../runs/port/chain.ts';
import { interruptKey } from '../../runs/requests/card.ts';
import type { DecisionInput } from '../../runs/requests/decision.ts';
import type { RunInterrupt } from '../../runs/requests/view.ts';
import { type AskedCall, isSameCall } from './ledger.ts';
import { type Body, callerWith, type Opening, type SdkCalls } from './sdk-calls.ts';

/** Whether a person may decide a call that was asked of another. `input` is what would run. */
export type MayDecide = (
  person: string,
  call: { readonly tool: string; readonly input: unknown; readonly askedBy: string },
) => boolean | Promise<boolean>;

export type RecordedCallsOptions = {
  readonly chatId: string;
  readonly person: string;
  readonly mayDecide: MayDecide;
};

/** `call` is what the model asked for, `edited` the same with the input that a person changed it to, if they did. */
export type RecordedCall = {
  readonly runId: string;
  readonly call: AskedCall;
  readonly edited: AskedCall;
  readonly status: CallStatus;
};

export const SUPERSEDED = 'The reply that asked for this call was generated again. The tool was not run.';

export class RecordedCalls {
  readonly #calls: SdkCalls;
  readonly #options: RecordedCallsOptions;
  /** The policy is asked once per call and request: if it changes its mind later, the outcome stays visible. */
  readonly #allowed = new Set<string>();

  constructor(calls: SdkCalls, options: RecordedCallsOptions) {
    this.#calls = calls;
    this.#options = options;
  }

  /** The latest call with this id. Undefined also for a call that this person may not decide. */
  async find(id: string): Promise<RecordedCall | undefined> {
    let last: RecordedCall | undefined;
    for (let round = 0; ; round++) {
      const found = await this.read(this.runIdOf(id, round));
      if (!found) return last;
      if (!isGivenUp(found)) return found;
      last = found;
    }
  }

  async read(runId: string): Promise<RecordedCall | undefined> {
    return this.#recorded(await this.#calls.gate.read(runId));
  }

  /** Starts the run of a call, and resolves once its question is recorded. Throws `run-exists` if it was started before. */
  async start(runId: string, opening: Opening): Promise<void> {
    const { id, tool, input } = opening.call;
    const call = { tool, input, ref: id, metadata: { toolCallId: id } };
    await this.#calls.gate.start(runId, opening as unknown as { [key: string]: Json }, call, {
      by: this.#options.person,
    });
  }

  async decide({ runId, status }: RecordedCall, decision: DecisionInput): Promise<void> {
    if (status.at !== 'waiting') return;
    try {
      await this.#calls.runs.decide(interruptKey(runId, status.interruptId), decision, {
        by: this.#options.person,
        channel: 'chat',
        // An approved call runs when the AI SDK calls it, with its options. Everything else is over.
        drive: decision !== 'approve',
      });
    } catch (error) {
      // Someone else or the deadline decided first, and the recorded decision counts.
      if (!(error instanceof ConflictError && error.code === 'already-decided')) throw error;
    }
  }

  async withdraw(runId: string, reason: string): Promise<void> {
    await this.#calls.gate.withdraw(runId, { reason });
  }

  /** The call once nothing happens to it by itself: it was asked about, or its deadline has decided. */
  async settled(runId: string): Promise<RecordedCall | undefined> {
    return this.#recorded(await this.#calls.gate.settled(runId));
  }

  /** Runs the call if it is approved, with this body or its own, and returns it with its result. */
  async drive(runId: string, body?: Body): Promise<RecordedCall | undefined> {
    return this.#recorded(await this.#calls.gate.settled(runId, { caller: callerWith(body) }));
  }

  /** The pending questions of this chat that were asked of this person, about calls with such ids. */
  async pending(isWanted: (callId: string) => boolean): Promise<readonly (Opening & { readonly runId: string })[]> {
    const { chatId, person } = this.#options;
    const found = [];
    for (const { runId, part } of await this.#pendingInterrupts()) {
      if (!isWanted(part.toolRequest.ref)) continue;
      const opening = openingOf(await this.#calls.gate.read(runId));
      if (opening?.chatId === chatId && opening.askedBy === person) found.push({ ...opening, runId });
    }
    return found;
  }

  /** Runs of another agent could not be driven here, so their ids differ. `round` counts regenerated replies. */
  runIdOf(id: string, round: number): string {
    const hash = shortHash(JSON.stringify([this.#calls.gate.name, this.#options.chatId, id]));
    return `ai-sdk.${hash}${round === 0 ? '' : `.${round}`}`;
  }

  async #recorded(found: CallRecord | undefined): Promise<RecordedCall | undefined> {
    const opening = openingOf(found);
    if (!found || opening?.chatId !== this.#options.chatId) return undefined;
    const { call } = opening;
    const edited = { ...call, input: found.edited };
    if (!(await this.#isAllowed(edited, opening.askedBy))) return undefined;
    return { runId: found.run.id, call, edited, status: found.status };
  }

  async #isAllowed({ id, tool, input }: AskedCall, askedBy: string): Promise<boolean> {
    const { person, mayDecide } = this.#options;
    if (askedBy === person || this.#allowed.has(id)) return true;
    if ((await mayDecide(person, { tool, input, askedBy })) !== true) return false;
    this.#allowed.add(id);
    return true;
  }

  async #pendingInterrupts(): Promise<readonly RunInterrupt[]> {
    const { gate, label, runs } = this.#calls;
    const found: RunInterrupt[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await runs.interrupts({ label, agent: gate.name, ...(cursor !== undefined && { cursor }) });
      found.push(...page.items);
      cursor = page.cursor;
    }
    return found;
  }
}

function openingOf(found: CallRecord | undefined): Opening | undefined {
  return isObject(found?.opening.call) ? (found.opening as unknown as Opening) : undefined;
}

/** Whether the recorded call is the claimed one, with its original or its edited input. */
export const isAbout = (
  { call, edited }: RecordedCall,
  other: { readonly tool: string; readonly input: unknown },
): boolean => isSameCall(call, other) || isSameCall(edited, other);

/** No person decided it and it will not run, so another call may use its id. */
export function isGivenUp({ status }: RecordedCall): boolean {
  if (status.at !== 'settled' || !status.decision || status.result.type === 'output') return false;
  const { decision } = status;
  return isByDeadline(decision) ? decision.type === 'reject' : 'reason' in decision && decision.reason === SUPERSEDED;
}
