// A call in the store as the AI SDK hears of it: what it is, whether it is over, and what the client and the model get.
import { isByDeadline, type Result } from '../../core/run/event.ts';
import type { CallRecord } from '../../runs/gates/call-gate.ts';
import type { CallStatus } from '../../runs/gates/call-status.ts';
import type { DecisionInput } from '../../runs/requests/decision.ts';
import {
  type AskedCall,
  type ClaimedCall,
  deniedText,
  Failed,
  isSameCall,
  type Known,
  type Outcome,
  PASSED_OVER,
  Refused,
} from './ledger.ts';

/** `call` is what the model asked for, `edited` the same with the input that a person changed it to, if they did. */
export type RecordedCall = Pick<CallRecord, 'status' | 'opening'> & {
  readonly runId: string;
  readonly call: AskedCall;
  readonly edited: AskedCall;
  /** This person asked for it, or took part in its decision. Nobody else learns of it, or runs it. */
  readonly isMine: boolean;
};

export const SUPERSEDED = 'The reply that asked for this call was generated again. The tool was not run.';

/** Whether the recorded call is the claimed one, with its original or its edited input. */
export const isAbout = (
  { call, edited }: RecordedCall,
  other: { readonly tool: string; readonly input: unknown },
): boolean => isSameCall(call, other) || isSameCall(edited, other);

/** No person decided it and it will not run, so another call may use its id. */
export function isGivenUp({ status }: RecordedCall): boolean {
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
export function decisionBy(claimed: ClaimedCall, { call }: RecordedCall): DecisionInput | undefined {
  const { decision } = claimed;
  if (decision && isSameCall(call, claimed))
    return decision.approved
      ? 'approve'
      : { type: 'reject', ...(decision.reason !== undefined && { reason: decision.reason }) };
  // A decision about another call, or a result that the client made up, decides nothing.
  return undefined;
}

/** Returns the output, or throws the error that the model gets. */
export function resultOf(status: CallStatus, tool: string): unknown {
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
      if (status.frozen) throw new Refused(`${tool} is frozen (${status.frozen.reason}). It was not run.`);
      throw new Refused(`${tool} is approved but has no result yet. Send the message again.`);
  }
}

export const unknownOutcome = (tool: string): string =>
  `${tool} was started, and its outcome is unknown: it may have taken effect.`;

export function knownOf({ edited: call, status }: RecordedCall, { decision }: ClaimedCall): Known {
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
