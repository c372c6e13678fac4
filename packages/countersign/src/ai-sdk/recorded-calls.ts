// The recorded calls of one chat: each has its own run, which one person reads, decides and drives.
import { ConflictError } from '../core/errors.ts';
import { isByDeadline } from '../core/event.ts';
import { shortHash } from '../runs/port/chain.ts';
import type { StoredEvent } from '../runs/port/store.ts';
import { interruptKey } from '../runs/questions/card.ts';
import type { DecisionInput } from '../runs/questions/decision.ts';
import type { RunInterrupt } from '../runs/questions/view.ts';
import type { Runs } from '../runs/runs.ts';
import { type CallStatus, callStatus, editedInput } from '../runs/gates/call-status.ts';
import { type AskedCall, isSameCall } from './ledger.ts';
import { type Body, type OneCallAgent, type Opening, openingMessages, readOpening } from './one-call-agent.ts';

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

/** How long another process may drive a run before we check whether it still does. */
const RECHECK_MS = 1_000;

export class RecordedCalls {
  readonly #agent: OneCallAgent;
  readonly #options: RecordedCallsOptions;
  /** The policy is asked once per call and request: if it changes its mind later, the outcome stays visible. */
  readonly #allowed = new Set<string>();

  constructor(agent: OneCallAgent, options: RecordedCallsOptions) {
    this.#agent = agent;
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
    const events = await recordedEvents(this.#runs, runId);
    const opening = events && openingIn(events);
    if (!events || opening?.chatId !== this.#options.chatId) return undefined;
    const { call } = opening;
    const input = editedInput(events);
    const edited = input === undefined ? call : { ...call, input };
    if (!(await this.#isAllowed(edited, opening.askedBy))) return undefined;
    return { runId, call, edited, status: callStatus(events) };
  }

  /** Starts the run of a call, and resolves once its question is recorded. Throws `run-exists` if it was started before. */
  async start(runId: string, opening: Opening): Promise<void> {
    await this.#agent.agent.start({ messages: openingMessages(opening) }, { runId, by: this.#options.person });
  }

  rested(runId: string): Promise<unknown> {
    return this.#runs.rested(runId);
  }

  async decide({ runId, status }: RecordedCall, decision: DecisionInput): Promise<void> {
    if (status.at !== 'waiting') return;
    try {
      await this.#runs.decide(interruptKey(runId, status.interruptId), decision, {
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

  async cancel(runId: string, reason: string): Promise<void> {
    await this.#runs.cancel(runId, { reason });
  }

  /** Records the deadline's decision, if it has passed. */
  async expire(runId: string): Promise<RecordedCall | undefined> {
    await this.#runs.drive(runId);
    await this.#runs.left(runId);
    return this.read(runId);
  }

  /** Drives the run until it waits for a person or has ended. */
  async drive(runId: string, body?: Body): Promise<RecordedCall | undefined> {
    for (;;) {
      await this.#runs.drive(runId, body && { context: { body } });
      if (await restsWithin(this.#runs, runId, RECHECK_MS)) return this.read(runId);
    }
  }

  /** The pending questions of this chat that were asked of this person, about calls with such ids. */
  async pending(isWanted: (callId: string) => boolean): Promise<readonly (Opening & { readonly runId: string })[]> {
    const { chatId, person } = this.#options;
    const found = [];
    for (const { runId, part } of await this.#pendingInterrupts()) {
      if (!isWanted(part.toolRequest.ref)) continue;
      const opening = openingIn((await recordedEvents(this.#runs, runId)) ?? []);
      if (opening?.chatId === chatId && opening.askedBy === person) found.push({ ...opening, runId });
    }
    return found;
  }

  /** Runs of another agent could not be driven here, so their ids differ. `round` counts regenerated replies. */
  runIdOf(id: string, round: number): string {
    const hash = shortHash(JSON.stringify([this.#agent.agent.name, this.#options.chatId, id]));
    return `ai-sdk.${hash}${round === 0 ? '' : `.${round}`}`;
  }

  get #runs(): Runs {
    return this.#agent.ai.runs;
  }

  async #isAllowed({ id, tool, input }: AskedCall, askedBy: string): Promise<boolean> {
    const { person, mayDecide } = this.#options;
    if (askedBy === person || this.#allowed.has(id)) return true;
    if ((await mayDecide(person, { tool, input, askedBy })) !== true) return false;
    this.#allowed.add(id);
    return true;
  }

  async #pendingInterrupts(): Promise<readonly RunInterrupt[]> {
    const { agent, label } = this.#agent;
    const found: RunInterrupt[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await this.#runs.interrupts({ label, agent: agent.name, ...(cursor !== undefined && { cursor }) });
      found.push(...page.items);
      cursor = page.cursor;
    }
    return found;
  }
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

async function recordedEvents(runs: Runs, runId: string): Promise<readonly StoredEvent[] | undefined> {
  try {
    return await runs.recorded(runId);
  } catch (error) {
    if ((error as { code?: unknown }).code === 'unknown-run') return undefined;
    throw error;
  }
}

function openingIn(events: readonly StoredEvent[]): Opening | undefined {
  return events[0]?.type === 'user-spoke' ? readOpening(events[0].messages) : undefined;
}

/** False if the run still runs after this time. */
async function restsWithin(runs: Runs, runId: string, ms: number): Promise<boolean> {
  const signal = AbortSignal.timeout(ms);
  try {
    await runs.wait(runId, { signal });
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}
