// The ledger in a store: each call is a call of the gate, so it is decided once and runs at most once.

import { ConflictError, messageOf, ProviderError } from '../../core/errors.ts';
import { PATIENCE_MS } from '../../runs/journal/appending.ts';
import { isAway } from '../../runs/port/store-errors.ts';
import type { GateToolsOptions } from '../gated-calls.ts';
import { OTHER_ID, refusal } from './approval-ids.ts';
import { ChatCalls } from './chat-calls.ts';
import {
  type Answer,
  type AskedCall,
  type ClaimedCall,
  callKey,
  isSameCall,
  type Known,
  type Ledger,
  PASSED_OVER,
  type Place,
  Refused,
} from './ledger.ts';
import {
  decisionBy,
  isAbout,
  isGivenUp,
  knownOf,
  type RecordedCall,
  resultOf,
  SUPERSEDED,
  unknownOutcome,
} from './recorded-call.ts';
import type { Body, SdkTools } from './sdk-tools.ts';

export class StoredLedger implements Ledger {
  readonly #calls: ChatCalls;
  readonly #tools: SdkTools;
  readonly #options: GateToolsOptions<any>;
  /** Where in the conversation the current reply is generated, and the ids of all calls before it. */
  #place: Place | undefined;
  #knownIds: ReadonlySet<string> = new Set();
  /** The ids of the calls that the current reply has asked for. */
  readonly #askedIds = new Set<string>();
  /** The ids of the calls that were received and wait: only a decision in another post can run them. */
  readonly #waitingIds = new Set<string>();

  constructor(tools: SdkTools, options: GateToolsOptions<any>) {
    this.#tools = tools;
    this.#options = options;
    this.#calls = new ChatCalls(tools, options);
  }

  async replyAt(place: Place | undefined, knownIds: ReadonlySet<string>): Promise<void> {
    this.#place = place;
    this.#knownIds = knownIds;
    if (!place) return;
    const isGone = (callId: string) => !knownIds.has(callId) && !this.#askedIds.has(callId);
    for (const found of await this.#calls.pending(isGone))
      if (isReplaced(found.opening.place as Place | undefined, place)) await this.#calls.giveUp(found, SUPERSEDED);
  }

  async ask(call: AskedCall): Promise<void> {
    this.#tools.vouch(call);
    // Of several calls in a reply, a page may have received only the first.
    const place = this.#place && { ...this.#place, calls: [...this.#place.calls, ...this.#askedIds] };
    this.#askedIds.add(call.id);
    for (let round = 0; ; round++) {
      const taken = await this.#calls.start(call, round, place);
      if (taken === undefined || !(await this.#needsNewRun(call, taken))) return;
    }
  }

  async asksUnder(id: string, approvalId: string): Promise<void> {
    await this.#options.ai.runs.notes.put(APPROVAL_IDS, this.#calls.noteOf(id), approvalId);
  }

  async checkAnswers(answers: readonly Answer[]): Promise<void> {
    if (answers.length === 0) return;
    const keyOf = ({ id }: Answer) => this.#calls.noteOf(id);
    const notes = await this.#options.ai.runs.notes.getMany(APPROVAL_IDS, [...new Set(answers.map(keyOf))]);
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
    const unknown = async (): Promise<Known> => ({ at: (await claimed.isGated()) ? 'unproved' : 'open-to-all' });
    const found = await this.#calls.find(claimed.id);
    if (!found) return unknown();
    // Providers that number their calls reuse ids. A call that needs no approval, beside the recorded one, is another
    // call. In place of the recorded one, the client made it up.
    const isRecordedToo = [found.call, found.edited].some((call) => claimed.underId.has(callKey(call)));
    const isAnother = !isAbout(found, claimed) && isRecordedToo;
    if (isAnother && (await claimed.needsNoApproval())) return { at: 'open-to-all' };
    const settled = await this.#settle(claimed, found);
    if (!settled.isMine) return unknown();
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
  async #needsNewRun(call: AskedCall, runId: string): Promise<boolean> {
    let found = await this.#calls.read(runId);
    if (found?.status.at === 'begun' || found?.status.at === 'waiting') found = await this.#calls.settled(runId);
    if (!found?.isMine) found = undefined;
    // If the conversation has a call with this id, the two could be confused.
    if (found && isGivenUp(found) && !this.#knownIds.has(call.id)) return true;
    if (found?.status.at === 'waiting' && isSameCall(found.call, call)) return false;
    const { key: conversation } = this.#options;
    throw new ConflictError(
      'run-exists',
      { key: conversation, toolCallId: call.id, runId },
      `The model used the call id ${call.id} twice in chat ${conversation}. Each call needs its own id.`,
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
        if (decision) await this.#calls.decide(found, decision);
        else if (claimed.isPassedOver && found.isMine) await this.#calls.giveUp(found, PASSED_OVER);
        else return found;
        return this.#settleChanged(claimed, found, await this.#calls.read(runId));
      }
      case 'approved': {
        if (claimed.isLast || !found.isMine) return found;
        if (status.isStarted || !claimed.isOver) return this.#calls.drive(found);
        // The AI SDK refused the approved call, for example by a rule of the app. It was reported as over, so it must not
        // run later.
        return this.#calls.withdraw(runId, REFUSED_SINCE);
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
    if (!found?.isMine) throw new Refused(`${call.tool} was not asked for in this chat. It was not run.`);
    if (!isAbout(found, call))
      throw new Refused(`This is not the call of ${found.call.tool} that was asked for. It was not run.`);
    this.#tools.vouch(call);
    const { runId } = found;
    if (found.status.at === 'begun') found = await this.#calls.settled(runId);
    // Without `receive`, the app vouches for its messages, and for the approval in them.
    if (found.status.at === 'waiting' && !this.#waitingIds.has(call.id)) {
      await this.#calls.decide(found, 'approve');
      found = (await this.#calls.read(runId)) ?? found;
    }
    if (found.status.at === 'approved') found = await this.#calls.drive(found, body);
    return resultOf(found.status, call.tool);
  }
}

/** The collection of notes with the ids of requests. */
const APPROVAL_IDS = 'ai-sdk-approvals';

const REFUSED_SINCE = 'it was approved, but refused before it ran';

/** Whether a reply generated here replaces the one that asked there. Another view of the conversation has other calls. */
function isReplaced(there: Place | undefined, here: Place): boolean {
  if (there?.messageId !== here.messageId) return false;
  const callsThere = new Set(there.calls);
  return here.calls.every((id) => callsThere.has(id));
}
