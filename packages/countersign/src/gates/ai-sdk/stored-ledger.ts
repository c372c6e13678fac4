// The ledger in a store: each call has its own run, so it is decided once and runs at most once.
import { ConflictError, messageOf, ProviderError } from '../../core/errors.ts';
import { isByDeadline, type Result } from '../../core/run/event.ts';
import type { CallStatus } from '../../runs/gates/call-status.ts';
import { PATIENCE_MS } from '../../runs/journal/journal.ts';
import { isAway } from '../../runs/port/store-errors.ts';
import type { DecisionInput } from '../../runs/requests/decision.ts';
import { OTHER_ID, refusal } from './approval-ids.ts';
import {
  type Answer,
  type AskedCall,
  type ClaimedCall,
  callKey,
  deniedText,
  Failed,
  isSameCall,
  type Known,
  type Ledger,
  type Outcome,
  PASSED_OVER,
  type Place,
  Refused,
} from './ledger.ts';
import {
  isAbout,
  isGivenUp,
  type RecordedCall,
  RecordedCalls,
  type RecordedCallsOptions,
  SUPERSEDED,
} from './recorded-calls.ts';
import type { Body, SdkCalls } from './sdk-calls.ts';

export class StoredLedger implements Ledger {
  readonly #sdk: SdkCalls;
  readonly #options: RecordedCallsOptions;
  readonly #calls: RecordedCalls;
  /** Where in the conversation the current reply is generated, and the ids of all calls before it. */
  #place: Place | undefined;
  #knownIds: ReadonlySet<string> = new Set();
  /** The ids of the calls that the current reply has asked for. */
  readonly #askedIds = new Set<string>();
  /** The ids of the calls that were received and wait: only a decision in another post can run them. */
  readonly #waitingIds = new Set<string>();

  constructor(sdk: SdkCalls, options: RecordedCallsOptions) {
    this.#sdk = sdk;
    this.#options = options;
    this.#calls = new RecordedCalls(sdk, options);
  }

  async replyAt(place: Place | undefined, knownIds: ReadonlySet<string>): Promise<void> {
    this.#place = place;
    this.#knownIds = knownIds;
    if (!place) return;
    const isGone = (callId: string) => !knownIds.has(callId) && !this.#askedIds.has(callId);
    for (const { runId, place: askedAt } of await this.#calls.pending(isGone)) {
      if (!isReplaced(askedAt, place)) continue;
      const found = await this.#calls.read(runId);
      if (found) await this.#calls.decide(found, { type: 'cancel', reason: SUPERSEDED });
    }
  }

  async ask(call: AskedCall): Promise<void> {
    this.#sdk.vouch(call);
    const { chatId, person } = this.#options;
    // Of several calls in a reply, a page may have received only the first.
    const place = this.#place && { ...this.#place, calls: [...this.#place.calls, ...this.#askedIds] };
    this.#askedIds.add(call.id);
    const opening = { chatId, askedBy: person, call, ...(place && { place }) };
    for (let round = 0; ; round++) {
      const runId = this.#calls.runIdOf(call.id, round);
      try {
        await this.#calls.start(runId, opening);
      } catch (error) {
        if (!(error instanceof ConflictError && error.code === 'run-exists')) throw error;
        if (await this.#needsNewRun(call, runId, error)) continue;
      }
      return;
    }
  }

  async asksUnder(id: string, approvalId: string): Promise<void> {
    await this.#sdk.runs.notes.put(APPROVAL_IDS, this.#calls.runIdOf(id, 0), approvalId);
  }

  async checkAnswers(answers: readonly Answer[]): Promise<void> {
    if (answers.length === 0) return;
    const keyOf = ({ id }: Answer) => this.#calls.runIdOf(id, 0);
    const notes = await this.#sdk.runs.notes.getMany(APPROVAL_IDS, [...new Set(answers.map(keyOf))]);
    const asked = new Map(notes.map(({ key, value }) => [key, value]));
    for (const answer of answers) {
      const expected = asked.get(keyOf(answer));
      if (expected === undefined || expected === answer.approvalId) continue;
      // The recorded outcome of a call that is decided counts, whatever the client says.
      const at = (await this.#calls.find(answer.id))?.status.at;
      if (at === 'begun' || at === 'waiting') throw refusal(answer.id, OTHER_ID);
    }
  }

  async settle(claimed: ClaimedCall): Promise<Known> {
    const found = await this.#calls.find(claimed.id);
    if (!found) return { at: (await claimed.isGated()) ? 'unproved' : 'open-to-all' };
    // Providers that number their calls reuse ids. A call that needs no approval, beside the recorded one, is another
    // call. In place of the recorded one, the client made it up.
    const isRecordedToo = [found.call, found.edited].some((call) => claimed.underId.has(callKey(call)));
    const isAnother = !isAbout(found, claimed) && isRecordedToo;
    if (isAnother && (await claimed.needsNoApproval())) return { at: 'open-to-all' };
    const settled = await this.#settle(claimed, found);
    if (settled.status.at === 'waiting') this.#waitingIds.add(claimed.id);
    return knownOf(settled, claimed);
  }

  async run(call: AskedCall, body: Body): Promise<unknown> {
    let hasBegun = false;
    let retryUntil: number | undefined;
    const begin: Body = (input) => {
      hasBegun = true;
      // The body may take as long as it needs.
      retryUntil = undefined;
      return body(input, call.id);
    };
    for (let pauseMs = 50; ; pauseMs = Math.min(pauseMs * 2, 2_000)) {
      try {
        return await this.#run(call, begin);
      } catch (error) {
        // The model takes an error for the outcome of the call, so the store gets time to come back.
        retryUntil ??= performance.now() + PATIENCE_MS;
        if (isAway(error) && performance.now() < retryUntil)
          await new Promise((resolve) => setTimeout(resolve, pauseMs));
        else if (hasBegun && error instanceof ProviderError)
          throw new Refused(`${unknownOutcome(call.tool)} ${messageOf(error)}`, { cause: error });
        else throw error;
      }
    }
  }

  /** Whether the recorded call is over, so that this one needs its own run. False if it is the same call and waits. */
  async #needsNewRun(call: AskedCall, runId: string, cause: unknown): Promise<boolean> {
    let found = await this.#calls.read(runId);
    if (found?.status.at === 'begun') found = await this.#calls.settled(runId);
    if (found?.status.at === 'waiting') found = await this.#calls.settled(runId);
    // If the conversation has a call with this id, the two could be confused.
    if (found && isGivenUp(found) && !this.#knownIds.has(call.id)) return true;
    if (found?.status.at === 'waiting' && isSameCall(found.call, call)) return false;
    const { chatId } = this.#options;
    throw new ConflictError(
      'run-exists',
      { chatId, toolCallId: call.id, runId },
      `The model used the call id ${call.id} twice in chat ${chatId}. Each call needs its own id.`,
      { cause },
    );
  }

  /** Records the decision in the client's claim, and returns the call after it. */
  async #settle(claimed: ClaimedCall, found: RecordedCall): Promise<RecordedCall> {
    const { status, runId } = found;
    switch (status.at) {
      case 'begun':
        return this.#settleChanged(claimed, found, await this.#calls.settled(runId));
      case 'waiting': {
        const decision = decisionBy(claimed, found);
        if (!decision) return found;
        await this.#calls.decide(found, decision);
        return this.#settleChanged(claimed, found, await this.#calls.read(runId));
      }
      case 'approved': {
        if (claimed.isLast) return found;
        if (status.isStarted || !claimed.isOver) return (await this.#calls.drive(runId)) ?? found;
        // The AI SDK refused the approved call, for example by a rule of the app. It was reported as over, so it must not
        // run later.
        await this.#calls.withdraw(runId, REFUSED_SINCE);
        return (await this.#calls.read(runId)) ?? found;
      }
      case 'settled':
      case 'stuck':
        return found;
    }
  }

  async #settleChanged(
    claimed: ClaimedCall,
    before: RecordedCall,
    after: RecordedCall | undefined,
  ): Promise<RecordedCall> {
    if (!after) return before;
    return after.status.at === before.status.at ? after : this.#settle(claimed, after);
  }

  async #run(call: AskedCall, body: Body): Promise<unknown> {
    let found = await this.#calls.find(call.id);
    if (!found) throw new Refused(`${call.tool} was not asked for in this chat. It was not run.`);
    if (!isAbout(found, call))
      throw new Refused(`This is not the call of ${found.call.tool} that was asked for. It was not run.`);
    this.#sdk.vouch(call);
    const { runId } = found;
    if (found.status.at === 'begun') found = (await this.#calls.settled(runId)) ?? found;
    // Without `receive`, the app vouches for its messages, and for the approval in them.
    if (found.status.at === 'waiting' && !this.#waitingIds.has(call.id)) {
      await this.#calls.decide(found, 'approve');
      found = (await this.#calls.read(runId)) ?? found;
    }
    if (found.status.at === 'approved') found = (await this.#calls.drive(runId, body)) ?? found;
    return resultOf(found.status, call.tool);
  }
}

/** What the client's claim decides about a waiting call; undefined if it keeps waiting. */
function decisionBy(claimed: ClaimedCall, { call }: RecordedCall): DecisionInput | undefined {
  const { decision } = claimed;
  if (decision && isSameCall(call, claimed))
    return decision.approved
      ? 'approve'
      : { type: 'reject', ...(decision.reason !== undefined && { reason: decision.reason }) };
  // A decision about another call, or a result that the client made up, decides nothing.
  return claimed.isPassedOver ? { type: 'cancel', reason: PASSED_OVER } : undefined;
}

/** Returns the output, or throws the error that the model gets. */
function resultOf(status: CallStatus, tool: string): unknown {
  switch (status.at) {
    case 'settled':
      if (status.result.type === 'output') return status.result.output;
      if (status.result.type === 'error') throw new Failed(status.result.text);
      throw new Refused(denialIn(status) ?? status.result.text);
    case 'stuck':
      throw new Refused(status.text);
    case 'begun':
    case 'waiting':
      throw new Refused(`${tool} is still waiting for a decision. It was not run.`);
    case 'approved':
      if (status.isStarted) throw new Refused(unknownOutcome(tool));
      throw new Refused(`${tool} is approved but has no result yet. Send the message again.`);
  }
}

const unknownOutcome = (tool: string): string =>
  `${tool} was started, and its outcome is unknown: it may have taken effect.`;

const OUR_REASONS: ReadonlySet<string> = new Set([PASSED_OVER, SUPERSEDED]);

/** The collection of notes with the ids of questions. */
const APPROVAL_IDS = 'ai-sdk-approvals';

const REFUSED_SINCE = 'it was approved, but refused before it ran';

/** Whether a reply generated here replaces the one that asked there. Another view of the conversation has other calls. */
function isReplaced(there: Place | undefined, here: Place): boolean {
  if (there?.messageId !== here.messageId) return false;
  const callsThere = new Set(there.calls);
  return here.calls.every((id) => callsThere.has(id));
}

function knownOf({ edited: call, status }: RecordedCall, { decision }: ClaimedCall): Known {
  switch (status.at) {
    case 'begun':
    case 'waiting':
      // A decision that was not recorded is about something else.
      return decision ? { at: 'unproved' } : { at: 'waiting', call };
    case 'approved':
      return { at: 'approved', call };
    case 'stuck':
      return { at: 'done', call, outcome: { type: 'error', text: status.text } };
    case 'settled': {
      const denial = denialIn(status);
      if (denial !== undefined) return { at: 'denied', call, text: denial };
      return { at: 'done', call, outcome: outcomeOf(status.result) };
    }
  }
}

function outcomeOf(result: Result): Outcome {
  return result.type === 'output' ? { type: 'output', output: result.output } : { type: 'error', text: result.text };
}

/** Why a person stopped a call from running; undefined if it ran, may have run, or no person decided it. */
function denialIn({ result, decision }: CallStatus & { at: 'settled' }): string | undefined {
  if (result.type === 'output' || result.type === 'error' || result.mayHaveActed) return undefined;
  // The engine's text is meant for its own models; here the AI SDK's user denied the call.
  if (decision?.type === 'reject' && !isByDeadline(decision)) return deniedText(decision.reason);
  if (decision?.type !== 'cancel') return undefined;
  const isOurs = decision.reason !== undefined && OUR_REASONS.has(decision.reason);
  return isOurs ? decision.reason : result.text;
}
