// The ledger in a store: each call is a run of its own, so it is decided once, and runs at most once.
import { ConflictError, messageOf, ProviderError } from '../core/errors.ts';
import { type Decision, isByDeadline, type Result } from '../core/event.ts';
import { interruptKey } from '../runs/card.ts';
import { shortHash } from '../runs/chain.ts';
import type { DecisionInput } from '../runs/decision.ts';
import { PATIENCE_MS } from '../runs/journal.ts';
import type { Runs } from '../runs/runs.ts';
import type { StoredEvent } from '../runs/store.ts';
import { isAway } from '../runs/store-errors.ts';
import {
  type AskedCall,
  type ClaimedCall,
  deniedText,
  Failed,
  isSameCall,
  type Known,
  type Ledger,
  type Outcome,
  PASSED_OVER,
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

/** Where a call stands on record. */
type Standing =
  /** The question is not put yet: the process died just before. */
  | { readonly at: 'begun' }
  | { readonly at: 'waiting'; readonly interruptId: string }
  | { readonly at: 'approved'; readonly isStarted: boolean }
  | { readonly at: 'settled'; readonly result: Result; readonly decision: Decision | undefined }
  /** A person has to look: nobody knows how the call ended, or its tool is gone. */
  | { readonly at: 'stuck'; readonly text: string };

/** `call` is what the model asked for, `edited` the same with what a person made of its input, if they did. */
type OnRecord = { readonly call: AskedCall; readonly edited: AskedCall; readonly standing: Standing };

export function storedLedger({ ai, agent, vouch }: OneCallAgent, options: StoredLedgerOptions): Ledger {
  const { chatId, person, mayDecide } = options;
  const { runs } = ai;
  // Runs of another agent could not be driven here, so they have other ids.
  const runIdOf = (id: string) => `ai-sdk.${shortHash(JSON.stringify([agent.name, chatId, id]))}`;

  /** Asked about once in a request: a policy that changes its mind or fails later cannot hide what a call has come to. */
  const admitted = new Set<string>();

  async function isTheirs({ call, askedBy }: Opening): Promise<boolean> {
    if (askedBy === person || admitted.has(call.id)) return true;
    if ((await mayDecide(person, { tool: call.tool, input: call.input, askedBy })) !== true) return false;
    admitted.add(call.id);
    return true;
  }

  /** Undefined also for a call that is not this person's to decide: they learn nothing of it. */
  async function read(id: string): Promise<OnRecord | undefined> {
    const events = await recorded(runs, runIdOf(id));
    const opening = events && openingIn(events);
    if (!events || opening?.chatId !== chatId) return undefined;
    const { call } = opening;
    if (!(await isTheirs(opening))) return undefined;
    return { call, edited: editedIn(events, call), standing: standingOf(events) };
  }

  async function decide(standing: Standing & { at: 'waiting' }, id: string, decision: DecisionInput): Promise<void> {
    try {
      await runs.decide(interruptKey(runIdOf(id), standing.interruptId), decision, {
        by: person,
        channel: 'chat',
        // What is approved runs when the AI SDK says so, with its options; the rest is over.
        drive: decision !== 'approve',
      });
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      // Somebody was first, and what is on record counts; or it is too late, and whoever drives the run says so.
      if ((await read(id))?.standing.at === 'waiting') await drive(id, undefined);
    }
  }

  /** Drives the run until a person or nobody is needed. */
  async function drive(id: string, body: Body | undefined): Promise<OnRecord | undefined> {
    const runId = runIdOf(id);
    for (;;) {
      await runs.drive(runId, body && { context: { body } });
      const rest = await restWithin(runs, runId, LOOK_AGAIN_MS);
      if (rest) return read(id);
    }
  }

  async function settled(claimed: ClaimedCall, found: OnRecord): Promise<OnRecord> {
    const { id, decision } = claimed;
    const { standing, call } = found;
    if (standing.at === 'begun') return settledAgain(claimed, await drive(id, undefined), found);
    if (standing.at === 'waiting') {
      if (decision && isSameCall(call, claimed)) await decide(standing, id, decisionInput(decision));
      // What was decided on another call is no decision on this one, and the AI SDK is about to try it.
      else if (decision && claimed.isLast) return found;
      else if (claimed.isPassedOver) await decide(standing, id, { type: 'cancel', reason: PASSED_OVER });
      else if (decision || claimed.outcome) await decide(standing, id, { type: 'cancel', reason: MADE_UP });
      else return found;
      return settledAgain(claimed, await read(id), found);
    }
    if (standing.at !== 'approved' || claimed.isLast) return found;
    if (standing.isStarted || !claimed.isOver) return (await drive(id, undefined)) ?? found;
    // The AI SDK refused what was approved, such as by a rule of the app. It was told as over, and does not run after that.
    await runs.cancel(runIdOf(id), { reason: REFUSED_SINCE });
    return (await read(id)) ?? found;
  }

  const settledAgain = (claimed: ClaimedCall, found: OnRecord | undefined, before: OnRecord) =>
    found && found.standing.at !== before.standing.at ? settled(claimed, found) : (found ?? before);

  async function runOnce(call: AskedCall, body: Body): Promise<unknown> {
    let found = await read(call.id);
    if (!found) throw new Refused(`Nothing shows that ${call.tool} was asked for in this chat. It was not run.`);
    if (!isAbout(found, call))
      throw new Refused(`This is not the call of ${found.call.tool} that was asked for. It was not run.`);
    vouch(call);
    if (found.standing.at === 'begun') found = (await drive(call.id, undefined)) ?? found;
    if (found.standing.at === 'waiting') {
      await decide(found.standing, call.id, 'approve');
      found = (await read(call.id)) ?? found;
    }
    if (found.standing.at === 'approved') found = (await drive(call.id, body)) ?? found;
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
    async ask(call) {
      const runId = runIdOf(call.id);
      vouch(call);
      try {
        await agent.start({ messages: beginWith({ chatId, askedBy: person, call }) }, { runId, by: person });
      } catch (error) {
        if (!(error instanceof ConflictError && error.code === 'run-exists')) throw error;
        const found = await read(call.id);
        if (
          !found ||
          !isSameCall(found.call, call) ||
          (found.standing.at !== 'waiting' && found.standing.at !== 'begun')
        )
          throw new ConflictError(
            'run-exists',
            { chatId, toolCallId: call.id, runId },
            `The model gave the id ${call.id} to a second call in chat ${chatId}. Ids of calls must be new in a chat.`,
            { cause: error },
          );
      }
      await runs.rested(runId);
    },

    async settle(claimed) {
      const found = await read(claimed.id);
      if (!found) return { at: (await claimed.isGated()) ? 'unproved' : 'open-to-all' };
      // A provider that counts its calls gives an id again: beside the one on record, what asks nobody is another call. In
      // its place, it is what a client made of it.
      const isBeside = !isAbout(found, claimed) && claimed.underId.some((call) => isAbout(found, call));
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

const REFUSED_SINCE = 'it was approved, but refused before it ran';

const decisionInput = ({ approved, reason }: NonNullable<ClaimedCall['decision']>): DecisionInput =>
  approved ? 'approve' : { type: 'reject', ...(reason !== undefined && { reason }) };

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

function editedIn(events: readonly StoredEvent[], asked: AskedCall): AskedCall {
  let call = asked;
  for (const event of events)
    if (event.type === 'decision-made' && 'input' in event.decision && event.decision.input !== undefined)
      call = { ...call, input: event.decision.input };
  return call;
}

function standingOf(events: readonly StoredEvent[]): Standing {
  let standing: Standing = { at: 'begun' };
  let decision: Decision | undefined;
  let isStarted = false;
  for (const event of events) {
    if (event.type === 'call-settled') return { at: 'settled', result: event.result, decision };
    if (event.type === 'call-started') {
      isStarted = true;
      if (standing.at === 'approved') standing = { at: 'approved', isStarted };
    }
    // Somebody cancelled the run. A result may still come after it.
    if (event.type === 'run-ended')
      standing = { at: 'settled', result: withdrawn(event.message, isStarted), decision: undefined };
    if (event.type === 'decision-made') {
      decision = event.decision;
      standing = { at: 'approved', isStarted };
    }
    if (event.type === 'call-interrupted') {
      const { id, kind, payload } = event.interrupt;
      const text = (payload as { readonly message?: string }).message ?? 'A person has to look at this call.';
      standing = kind === 'approval' ? { at: 'waiting', interruptId: id } : { at: 'stuck', text };
    }
  }
  return standing;
}

function withdrawn(message: string | undefined, isStarted: boolean): Result {
  const text = `This call was withdrawn${message === undefined ? '' : ` (${message})`}.`;
  if (!isStarted) return { type: 'cancelled', text: `${text} The tool was not run.` };
  return {
    type: 'cancelled',
    text: `${text} It had been started, and nobody knows whether it took effect.`,
    mayHaveActed: true,
  };
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
  return decision.reason === PASSED_OVER || decision.reason === MADE_UP ? decision.reason : result.text;
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
