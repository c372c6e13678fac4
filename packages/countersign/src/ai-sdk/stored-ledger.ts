// The ledger in a store: each call is a run of its own, so it is decided once, and runs at most once.
import { ConflictError, messageOf, ProviderError } from '../core/errors.ts';
import { isByDeadline, type Result } from '../core/event.ts';
import { PATIENCE_MS } from '../runs/journal/journal.ts';
import { shortHash } from '../runs/port/chain.ts';
import type { StoredEvent } from '../runs/port/store.ts';
import { isAway } from '../runs/port/store-errors.ts';
import { interruptKey } from '../runs/questions/card.ts';
import type { DecisionInput } from '../runs/questions/decision.ts';
import type { RunInterrupt } from '../runs/questions/view.ts';
import type { Runs } from '../runs/runs.ts';
import { editedIn, type Standing, standingOf } from './call-status.ts';
import {
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
import { type Body, beginWith, type OneCallAgent, type Opening, readOpening } from './one-call-agent.ts';

/** Whether a person may decide a call that was asked of another. */
export type MayDecide = (
  person: string,
  call: { readonly tool: string; readonly input: unknown; readonly askedBy: string },
) => boolean | Promise<boolean>;

export type StoredLedgerOptions = {
  readonly chatId: string;
  readonly person: string;
  readonly mayDecide: MayDecide;
};

/** `call` is what the model asked for, `edited` the same with what a person made of its input, if they did. */
type OnRecord = {
  readonly runId: string;
  readonly call: AskedCall;
  readonly edited: AskedCall;
  readonly standing: Standing;
};

export function storedLedger({ ai, agent, vouch, label }: OneCallAgent, options: StoredLedgerOptions): Ledger {
  const { chatId, person, mayDecide } = options;
  const { runs } = ai;
  // Runs of another agent could not be driven here, so they have other ids. `round` counts the replies that were generated
  // again and asked under the same id.
  const runIdOf = (id: string, round: number) =>
    `ai-sdk.${shortHash(JSON.stringify([agent.name, chatId, id]))}${round === 0 ? '' : `.${round}`}`;
  let place: Place | undefined;
  let present: ReadonlySet<string> = new Set();
  const asked = new Set<string>();

  /** Asked about once in a request: a policy that changes its mind or fails later cannot hide what a call has come to. */
  const admitted = new Set<string>();

  async function isTheirs({ call, askedBy }: Opening): Promise<boolean> {
    if (askedBy === person || admitted.has(call.id)) return true;
    if ((await mayDecide(person, { tool: call.tool, input: call.input, askedBy })) !== true) return false;
    admitted.add(call.id);
    return true;
  }

  /** Undefined also for a call that is not this person's to decide: they learn nothing of it. */
  async function readRun(runId: string): Promise<OnRecord | undefined> {
    const events = await recorded(runs, runId);
    const opening = events && openingIn(events);
    if (!events || opening?.chatId !== chatId) return undefined;
    const { call } = opening;
    if (!(await isTheirs(opening))) return undefined;
    return { runId, call, edited: editedIn(events, call), standing: standingOf(events) };
  }

  /** The call that was asked last under this id. */
  async function read(id: string): Promise<OnRecord | undefined> {
    let last: OnRecord | undefined;
    for (let round = 0; ; round++) {
      const found = await readRun(runIdOf(id, round));
      if (!found) return last;
      if (!isGivenUp(found)) return found;
      last = found;
    }
  }

  async function decide({ runId, standing }: OnRecord, decision: DecisionInput): Promise<void> {
    if (standing.at !== 'waiting') return;
    try {
      await runs.decide(interruptKey(runId, standing.interruptId), decision, {
        by: person,
        channel: 'chat',
        // What is approved runs when the AI SDK says so, with its options; the rest is over.
        drive: decision !== 'approve',
      });
    } catch (error) {
      // Someone else or the deadline decided first, and the recorded decision counts.
      if (!(error instanceof ConflictError && error.code === 'already-decided')) throw error;
    }
  }

  /** Whoever drives a run that waits says whether its time is over. */
  async function lookAtTime(runId: string): Promise<OnRecord | undefined> {
    await runs.drive(runId);
    await runs.left(runId);
    return readRun(runId);
  }

  /** Drives the run until a person or nobody is needed. */
  async function drive(runId: string, body: Body | undefined): Promise<OnRecord | undefined> {
    for (;;) {
      await runs.drive(runId, body && { context: { body } });
      const rest = await restWithin(runs, runId, LOOK_AGAIN_MS);
      if (rest) return readRun(runId);
    }
  }

  /** What this person was asked in this chat, and has not decided. */
  async function waiting(): Promise<readonly RunInterrupt[]> {
    const found: RunInterrupt[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await runs.interrupts({ label, agent: agent.name, ...(cursor !== undefined && { cursor }) });
      found.push(...page.items);
      cursor = page.cursor;
    }
    return found;
  }

  /** False if the same is asked already, and waits. */
  async function asksAnew(call: AskedCall, runId: string, cause: unknown): Promise<boolean> {
    let found = await readRun(runId);
    if (found?.standing.at === 'begun') found = await drive(runId, undefined);
    if (found?.standing.at === 'waiting') found = await lookAtTime(runId);
    // Where the conversation has a call of this id, one of them would be taken for the other.
    if (found && isGivenUp(found) && !present.has(call.id)) return true;
    if (found?.standing.at === 'waiting' && isSameCall(found.call, call)) return false;
    throw new ConflictError(
      'run-exists',
      { chatId, toolCallId: call.id, runId },
      `The model gave the id ${call.id} to a second call in chat ${chatId}. Ids of calls must be new in a chat.`,
      { cause },
    );
  }

  async function settled(claimed: ClaimedCall, found: OnRecord): Promise<OnRecord> {
    const { decision } = claimed;
    const { standing, call, runId } = found;
    if (standing.at === 'begun') return settledAgain(claimed, await drive(runId, undefined), found);
    if (standing.at === 'waiting') {
      if (decision && isSameCall(call, claimed)) await decide(found, decisionInput(decision));
      // What was decided on another call is no decision on this one, and the AI SDK is about to try it.
      else if (decision && claimed.isLast) return found;
      else if (claimed.isPassedOver) await decide(found, { type: 'cancel', reason: PASSED_OVER });
      else if (decision || claimed.outcome) await decide(found, { type: 'cancel', reason: MADE_UP });
      else return found;
      return settledAgain(claimed, await readRun(runId), found);
    }
    if (standing.at !== 'approved' || claimed.isLast) return found;
    if (standing.isStarted || !claimed.isOver) return (await drive(runId, undefined)) ?? found;
    // The AI SDK refused what was approved, such as by a rule of the app. It was told as over, and does not run after that.
    await runs.cancel(runId, { reason: REFUSED_SINCE });
    return (await readRun(runId)) ?? found;
  }

  const settledAgain = (claimed: ClaimedCall, found: OnRecord | undefined, before: OnRecord) =>
    found && found.standing.at !== before.standing.at ? settled(claimed, found) : (found ?? before);

  async function runOnce(call: AskedCall, body: Body): Promise<unknown> {
    let found = await read(call.id);
    if (!found) throw new Refused(`Nothing shows that ${call.tool} was asked for in this chat. It was not run.`);
    if (!isAbout(found, call))
      throw new Refused(`This is not the call of ${found.call.tool} that was asked for. It was not run.`);
    vouch(call);
    const { runId } = found;
    if (found.standing.at === 'begun') found = (await drive(runId, undefined)) ?? found;
    if (found.standing.at === 'waiting') {
      await decide(found, 'approve');
      found = (await readRun(runId)) ?? found;
    }
    if (found.standing.at === 'approved') found = (await drive(runId, body)) ?? found;
    const { standing } = found;
    switch (standing.at) {
      case 'settled':
        if (standing.result.type === 'output') return standing.result.output;
        if (standing.result.type === 'error') throw new Failed(standing.result.text);
        throw new Refused(denialIn(standing) ?? standing.result.text);
      case 'stuck':
        throw new Refused(standing.text);
      case 'begun':
      case 'waiting':
        throw new Refused(`The call of ${call.tool} still waits for a decision. It was not run.`);
      case 'approved':
        if (standing.isStarted) throw new Refused(noResult(call.tool));
        throw new Refused(`The call of ${call.tool} is approved and has no result yet. Send the message again.`);
    }
  }

  return {
    async replyAt(given, calls) {
      place = given;
      present = calls;
      if (!given) return;
      const isGone = ({ part }: RunInterrupt) => !calls.has(part.toolRequest.ref) && !asked.has(part.toolRequest.ref);
      for (const { runId } of (await waiting()).filter(isGone)) {
        const opening = openingIn((await recorded(runs, runId)) ?? []);
        if (opening?.askedBy !== person || !isFrom(opening.place, given)) continue;
        const found = await readRun(runId);
        if (found) await decide(found, { type: 'cancel', reason: SUPERSEDED });
      }
    },

    async ask(call) {
      vouch(call);
      // Of several calls in a reply, a page may have only the first.
      const at = place && { ...place, calls: [...place.calls, ...asked] };
      asked.add(call.id);
      const opening = { chatId, askedBy: person, call, ...(at && { place: at }) };
      for (let round = 0; ; round++) {
        const runId = runIdOf(call.id, round);
        try {
          await agent.start({ messages: beginWith(opening) }, { runId, by: person });
        } catch (error) {
          if (!(error instanceof ConflictError && error.code === 'run-exists')) throw error;
          if (await asksAnew(call, runId, error)) continue;
        }
        return void (await runs.rested(runId));
      }
    },

    async settle(claimed) {
      const found = await read(claimed.id);
      if (!found) return { at: (await claimed.isGated()) ? 'unproved' : 'open-to-all' };
      // A provider that counts its calls gives an id again: beside the one on record, what asks nobody is another call. In
      // its place, it is what a client made of it.
      const isBeside =
        !isAbout(found, claimed) && [found.call, found.edited].some((call) => claimed.underId.has(callKey(call)));
      if (isBeside && (await claimed.asksNobody())) return { at: 'open-to-all' };
      return knownOf(await settled(claimed, found), claimed);
    },

    async run(call, body) {
      let isBegun = false;
      let patience: AbortSignal | undefined;
      const begin: Body = (input) => {
        isBegun = true;
        // However long it takes.
        patience = undefined;
        return body(input);
      };
      for (let pauseMs = 50; ; pauseMs = Math.min(pauseMs * 2, 2_000)) {
        try {
          return await runOnce(call, begin);
        } catch (error) {
          // What is thrown here the model takes for how the call ended, and it cannot be asked to look again.
          patience ??= AbortSignal.timeout(PATIENCE_MS);
          if (isAway(error) && !patience.aborted) await new Promise((resolve) => setTimeout(resolve, pauseMs));
          else if (isBegun && error instanceof ProviderError)
            throw new Refused(`${noResult(call.tool)} ${messageOf(error)}`, { cause: error });
          else throw error;
        }
      }
    },
  };
}

/** How long another may be driving the run before we look whether it is gone. */
const LOOK_AGAIN_MS = 1_000;

const noResult = (tool: string): string =>
  `The call of ${tool} was started, and nobody knows how it ended: it may have taken effect.`;

const MADE_UP = 'The client gave a result in place of a decision. The tool was not run.';

const SUPERSEDED = 'The reply that asked for this call was generated again. The tool was not run.';

const OUR_REASONS: ReadonlySet<string> = new Set([PASSED_OVER, MADE_UP, SUPERSEDED]);

const REFUSED_SINCE = 'it was approved, but refused before it ran';

const decisionInput = ({ approved, reason }: NonNullable<ClaimedCall['decision']>): DecisionInput =>
  approved ? 'approve' : { type: 'reject', ...(reason !== undefined && { reason }) };

/** Whether what was asked there is gone once a reply is generated here. Another view of the conversation has other calls. */
function isFrom(there: Place | undefined, here: Place): boolean {
  if (there?.messageId !== here.messageId) return false;
  const callsThere = new Set(there.calls);
  return here.calls.every((id) => callsThere.has(id));
}

/** Nobody decided it and it will not run; its id may be that of another call. */
function isGivenUp({ standing }: OnRecord): boolean {
  if (standing.at !== 'settled' || !standing.decision || standing.result.type === 'output') return false;
  const { decision } = standing;
  return isByDeadline(decision) ? decision.type === 'reject' : 'reason' in decision && decision.reason === SUPERSEDED;
}

const isAbout = ({ call, edited }: OnRecord, other: Pick<ClaimedCall, 'tool' | 'input'>): boolean =>
  isSameCall(call, other) || isSameCall(edited, other);

async function recorded(runs: Runs, runId: string): Promise<readonly StoredEvent[] | undefined> {
  try {
    return await runs.recorded(runId);
  } catch (error) {
    if ((error as { code?: unknown }).code === 'unknown-run') return undefined;
    throw error;
  }
}

function openingIn(events: readonly StoredEvent[]) {
  return events[0]?.type === 'user-spoke' ? readOpening(events[0].messages) : undefined;
}

function knownOf({ edited: call, standing }: OnRecord, { decision }: ClaimedCall): Known {
  switch (standing.at) {
    case 'begun':
    case 'waiting':
      // A decision that was not taken is on something else than what waits.
      return decision ? { at: 'unproved' } : { at: 'waiting', call };
    case 'approved':
      return { at: 'approved', call };
    case 'stuck':
      return { at: 'done', call, outcome: { type: 'error', text: standing.text } };
    case 'settled': {
      const denial = denialIn(standing);
      if (denial !== undefined) return { at: 'denied', call, text: denial };
      return { at: 'done', call, outcome: outcomeOf(standing.result) };
    }
  }
}

function outcomeOf(result: Result): Outcome {
  return result.type === 'output' ? { type: 'output', output: result.output } : { type: 'error', text: result.text };
}

/** Why a person kept a call from running; undefined for one that ran or may have, and for one that nobody decided. */
function denialIn({ result, decision }: Standing & { at: 'settled' }): string | undefined {
  if (result.type === 'output' || result.type === 'error' || result.mayHaveActed) return undefined;
  // The words of the engine are for its own models; here the tool was the AI SDK's, and its user denied it.
  if (decision?.type === 'reject' && !isByDeadline(decision)) return deniedText(decision.reason);
  if (decision?.type !== 'cancel') return undefined;
  const isOurs = decision.reason !== undefined && OUR_REASONS.has(decision.reason);
  return isOurs ? decision.reason : result.text;
}

/** True once the run waits or has ended; false if it still runs after so long. */
async function restWithin(runs: Runs, runId: string, ms: number): Promise<boolean> {
  const signal = AbortSignal.timeout(ms);
  try {
    await runs.wait(runId, { signal });
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}
