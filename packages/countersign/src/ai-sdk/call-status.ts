// Where a gated call stands, by the events of its run.
import type { Decision, Result } from '../core/event.ts';
import type { StoredEvent } from '../runs/port/store.ts';
import type { AskedCall } from './ledger.ts';

/** Where a call stands on record. */
export type Standing =
  /** The question is not put yet: the process died just before. */
  | { readonly at: 'begun' }
  | { readonly at: 'waiting'; readonly interruptId: string }
  | { readonly at: 'approved'; readonly isStarted: boolean }
  | { readonly at: 'settled'; readonly result: Result; readonly decision: Decision | undefined }
  /** A person has to look: nobody knows how the call ended, or its tool is gone. */
  | { readonly at: 'stuck'; readonly text: string };

export function standingOf(events: readonly StoredEvent[]): Standing {
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

/** The call with what a person made of its input, if they did. */
export function editedIn(events: readonly StoredEvent[], asked: AskedCall): AskedCall {
  let call = asked;
  for (const event of events)
    if (event.type === 'decision-made' && 'input' in event.decision && event.decision.input !== undefined)
      call = { ...call, input: event.decision.input };
  return call;
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
