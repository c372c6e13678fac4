// The ledger in a store: each call is a call of the gate, so it is decided once and runs at most once.

import { ConflictError, CountersignError, messageOf, ProviderError } from '../../core/errors.ts';
import { internalsOf } from '../../core/internals.ts';
import { defined } from '../../core/json.ts';
import { isByDeadline, type Result } from '../../core/run/event.ts';
import type { CallGate, CallRecord } from '../../runs/gates/call-gate.ts';
import type { CallStatus } from '../../runs/gates/call-status.ts';
import { descriptionOf } from '../../runs/gates/described-tool.ts';
import { PATIENCE_MS } from '../../runs/journal/appending.ts';
import { isAway } from '../../runs/port/store-errors.ts';
import { interruptKey } from '../../runs/requests/card.ts';
import type { DecisionInput } from '../../runs/requests/decision.ts';
import type { GateToolsOptions } from '../gated-calls.ts';
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
import { type Body, bodyOf, type SdkTools } from './sdk-tools.ts';

/** `call` is what the model asked for, `edited` the same with the input that a person changed it to, if they did. */
type RecordedCall = Pick<CallRecord, 'status' | 'opening'> & {
  readonly runId: string;
  readonly call: AskedCall;
  readonly edited: AskedCall;
  /** This person asked for it, or took part in its decision. Nobody else learns of it, or runs it. */
  readonly isMine: boolean;
};

export class StoredLedger implements Ledger {
  readonly #gate: CallGate;
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
    this.#gate = internalsOf(options.ai).callGate(options.name ?? 'ai-sdk');
  }

  async replyAt(place: Place | undefined, knownIds: ReadonlySet<string>): Promise<void> {
    this.#place = place;
    this.#knownIds = knownIds;
    if (!place) return;
    const isGone = (callId: string) => !knownIds.has(callId) && !this.#askedIds.has(callId);
    for (const found of await this.#pending(isGone))
      if (isReplaced(found.opening.place as Place | undefined, place)) await this.#giveUp(found, SUPERSEDED);
  }

  async ask(call: AskedCall): Promise<void> {
    this.#tools.vouch(call);
    const { key: conversation, by } = this.#options;
    const { id, tool, input } = call;
    const definition = await this.#tools.definition(tool);
    // Of several calls in a reply, a page may have received only the first.
    const place = this.#place && { ...this.#place, calls: [...this.#place.calls, ...this.#askedIds] };
    this.#askedIds.add(call.id);
    const about = { conversation, ...(place && { place }), ...(definition && { tool: descriptionOf(definition) }) };
    for (let round = 0; ; round++) {
      const key = this.#keyOf(id, round);
      const runId = this.#gate.runIdOf(key);
      if (definition) this.#gate.bring(key, definition);
      const asked = { tool, input, ref: id, metadata: { toolCallId: id } };
      try {
        await this.#gate.start(runId, { key, ...about } as unknown as CallRecord['opening'], asked, defined({ by }));
      } catch (error) {
        if (!(error instanceof ConflictError && error.code === 'run-exists')) throw error;
        if (await this.#needsNewRun(call, runId, error)) continue;
      }
      return;
    }
  }

  async asksUnder(id: string, approvalId: string): Promise<void> {
    await this.#options.ai.runs.notes.put(APPROVAL_IDS, this.#noteOf(id), approvalId);
  }

  async checkAnswers(answers: readonly Answer[]): Promise<void> {
    if (answers.length === 0) return;
    const keyOf = ({ id }: Answer) => this.#noteOf(id);
    const notes = await this.#options.ai.runs.notes.getMany(APPROVAL_IDS, [...new Set(answers.map(keyOf))]);
    const asked = new Map(notes.map(({ key, value }) => [key, value]));
    for (const answer of answers) {
      const expected = asked.get(keyOf(answer));
      if (expected === undefined || expected === answer.approvalId) continue;
      // The recorded outcome of a call that is decided counts, whatever the client says.
      const at = (await this.#find(answer.id))?.status.at;
      if (at === 'begun' || at === 'waiting') throw refusal(answer.id, OTHER_ID);
    }
  }

  async settle(claimed: ClaimedCall): Promise<Known> {
    const unknown = async (): Promise<Known> => ({ at: (await claimed.isGated()) ? 'unproved' : 'open-to-all' });
    const found = await this.#find(claimed.id);
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
  async #needsNewRun(call: AskedCall, runId: string, cause: unknown): Promise<boolean> {
    let found = await this.#read(runId);
    if (found?.status.at === 'begun' || found?.status.at === 'waiting') found = await this.#settled(runId);
    if (!found?.isMine) found = undefined;
    // If the conversation has a call with this id, the two could be confused.
    if (found && isGivenUp(found) && !this.#knownIds.has(call.id)) return true;
    if (found?.status.at === 'waiting' && isSameCall(found.call, call)) return false;
    const { key: conversation } = this.#options;
    throw new ConflictError(
      'run-exists',
      { key: conversation, toolCallId: call.id, runId },
      `The model used the call id ${call.id} twice in chat ${conversation}. Each call needs its own id.`,
      { cause },
    );
  }

  /** Records the decision in the client's claim, and returns the call after it. */
  async #settle(claimed: ClaimedCall, found: RecordedCall): Promise<RecordedCall> {
    const { status, runId } = found;
    switch (status.at) {
      case 'begun':
        return this.#settleChanged(claimed, found, await this.#settled(runId));
      case 'waiting': {
        const decision = decisionBy(claimed, found);
        if (decision) await this.#decide(found, decision);
        else if (claimed.isPassedOver && found.isMine) await this.#giveUp(found, PASSED_OVER);
        else return found;
        return this.#settleChanged(claimed, found, await this.#read(runId));
      }
      case 'approved': {
        if (claimed.isLast || !found.isMine) return found;
        if (status.isStarted || !claimed.isOver) return this.#drive(found);
        // The AI SDK refused the approved call, for example by a rule of the app. It was reported as over, so it must not
        // run later.
        await this.#gate.withdraw(runId, { reason: REFUSED_SINCE });
        return (await this.#read(runId)) ?? found;
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
    let found = await this.#find(call.id);
    if (!found?.isMine) throw new Refused(`${call.tool} was not asked for in this chat. It was not run.`);
    if (!isAbout(found, call))
      throw new Refused(`This is not the call of ${found.call.tool} that was asked for. It was not run.`);
    this.#tools.vouch(call);
    const { runId } = found;
    if (found.status.at === 'begun') found = (await this.#settled(runId)) ?? found;
    // Without `receive`, the app vouches for its messages, and for the approval in them.
    if (found.status.at === 'waiting' && !this.#waitingIds.has(call.id)) {
      await this.#decide(found, 'approve');
      found = (await this.#read(runId)) ?? found;
    }
    if (found.status.at === 'approved') found = await this.#drive(found, body);
    return resultOf(found.status, call.tool);
  }

  /** `round` counts the calls that got the same id from regenerated replies. */
  #keyOf(id: string, round: number): string {
    return JSON.stringify([this.#options.key, id, ...(round === 0 ? [] : [round])]);
  }

  #noteOf(id: string): string {
    return this.#gate.runIdOf(this.#keyOf(id, 0));
  }

  /** The latest call with this id. */
  async #find(id: string): Promise<RecordedCall | undefined> {
    let last: RecordedCall | undefined;
    for (let round = 0; ; round++) {
      const found = await this.#read(this.#gate.runIdOf(this.#keyOf(id, round)));
      if (!found) return last;
      if (!isGivenUp(found)) return found;
      last = found;
    }
  }

  async #read(runId: string): Promise<RecordedCall | undefined> {
    return this.#recorded(await this.#gate.read(runId));
  }

  /** The call once nothing happens to it by itself: it was asked about, or its deadline has decided. */
  async #settled(runId: string): Promise<RecordedCall | undefined> {
    return this.#recorded(await this.#gate.settled(runId));
  }

  /** Runs the approved call, with this body or that of its tool. Without any, it stays as it is. */
  async #drive(found: RecordedCall, body?: Body): Promise<RecordedCall> {
    const { runId, call } = found;
    if (!body && !this.#tools.hasBody(call.tool)) return found;
    const caller = body ? { body: bodyOf(body) } : {};
    return this.#recorded(await this.#gate.settled(runId, { caller })) as Promise<RecordedCall>;
  }

  /** Records the decision, unless somebody else or the deadline was first, or the policy does not take it from this person. */
  async #decide({ runId, status }: RecordedCall, decision: DecisionInput): Promise<void> {
    if (status.at !== 'waiting') return;
    const { ai, by } = this.#options;
    // An approved call runs when the AI SDK calls it, with its options. Everything else is over.
    const how = { ...defined({ by }), channel: 'chat', drive: decision !== 'approve' };
    try {
      await ai.runs.decide(interruptKey(runId, status.interruptId), decision, how);
    } catch (error) {
      if (!(error instanceof CountersignError && NOT_RECORDED.has(error.code))) throw error;
    }
  }

  /** The conversation went on without this call. A person who may not decide it withdraws it. */
  async #giveUp(found: RecordedCall, reason: string): Promise<void> {
    await this.#decide(found, { type: 'cancel', reason });
    if ((await this.#read(found.runId))?.status.at === 'waiting') await this.#gate.withdraw(found.runId, { reason });
  }

  /** The pending calls of this conversation that this person asked for, with such ids. */
  async #pending(isWanted: (callId: string) => boolean): Promise<readonly RecordedCall[]> {
    const { ai, key, by } = this.#options;
    const found: RecordedCall[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await ai.runs.interrupts({
        label: this.#tools.label,
        agent: this.#gate.name,
        ...defined({ cursor }),
      });
      for (const { runId, part } of page.items) {
        const record = isWanted(part.toolRequest.ref) ? await this.#gate.read(runId) : undefined;
        if (record?.opening.conversation !== key || record?.run.startedBy !== by) continue;
        found.push(...((await this.#recorded(record).then((call) => call && [call])) ?? []));
      }
      cursor = page.cursor;
    }
    return found;
  }

  /** An open call gets the tool of this request. */
  async #recorded(found: CallRecord | undefined): Promise<RecordedCall | undefined> {
    if (!found) return undefined;
    const { run, opening, tool, ref: id, input, edited, status, people } = found;
    const isMine = people.has(this.#options.by ?? null);
    const definition = isMine && status.at !== 'settled' ? await this.#tools.definition(tool) : undefined;
    if (definition) this.#gate.bring(String(opening.key), definition);
    const call = { id, tool, input };
    return { runId: run.id, opening, call, edited: { ...call, input: edited }, status, isMine };
  }
}

const NOT_RECORDED: ReadonlySet<string> = new Set(['already-decided', 'not-allowed', 'signature-required']);

const SUPERSEDED = 'The reply that asked for this call was generated again. The tool was not run.';

/** Whether the recorded call is the claimed one, with its original or its edited input. */
const isAbout = ({ call, edited }: RecordedCall, other: { readonly tool: string; readonly input: unknown }): boolean =>
  isSameCall(call, other) || isSameCall(edited, other);

/** No person decided it and it will not run, so another call may use its id. */
function isGivenUp({ status }: RecordedCall): boolean {
  if (status.at !== 'settled' || status.result.type === 'output') return false;
  const { decision } = status;
  return decision && isByDeadline(decision) ? decision.type === 'reject' : ownReason(status) === SUPERSEDED;
}

/** Why the gate itself gave the call up; undefined if it did not. */
function ownReason({ result, decision }: CallStatus & { at: 'settled' }): string | undefined {
  if (result.type === 'output' || (decision && decision.type !== 'cancel')) return undefined;
  return [PASSED_OVER, SUPERSEDED].find((reason) => (decision?.reason ?? result.text).includes(reason));
}

/** What the client's claim decides about a waiting call; undefined if it keeps waiting. */
function decisionBy(claimed: ClaimedCall, { call }: RecordedCall): DecisionInput | undefined {
  const { decision } = claimed;
  if (decision && isSameCall(call, claimed))
    return decision.approved
      ? 'approve'
      : { type: 'reject', ...(decision.reason !== undefined && { reason: decision.reason }) };
  // A decision about another call, or a result that the client made up, decides nothing.
  return undefined;
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

/** Why a call was stopped from running; undefined if it ran, may have run, or nobody stopped it. */
function denialIn(status: CallStatus & { at: 'settled' }): string | undefined {
  const { result, decision } = status;
  if (result.type === 'output' || result.type === 'error' || result.mayHaveActed) return undefined;
  // The engine's text is meant for its own models; here the AI SDK's user denied the call.
  if (decision?.type === 'reject' && !isByDeadline(decision)) return deniedText(decision.reason);
  return ownReason(status) ?? (decision?.type === 'cancel' ? result.text : undefined);
}
