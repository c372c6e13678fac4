// The status of a gated call, read from the timeline of its run.
import type { Decision, Interrupt, Result } from '../core/event.ts';
import { timelineOf } from '../core/timeline.ts';
import type { StoredEvent } from '../runs/port/store.ts';

export type CallStatus =
  /** The question was not asked yet: the process crashed just before. */
  | { readonly at: 'begun' }
  | { readonly at: 'waiting'; readonly interruptId: string }
  | { readonly at: 'approved'; readonly isStarted: boolean }
  | { readonly at: 'settled'; readonly result: Result; readonly decision: Decision | undefined }
  /** A person must look at it: its outcome is unknown, or its tool no longer exists. */
  | { readonly at: 'stuck'; readonly text: string };

export function callStatus(events: readonly StoredEvent[]): CallStatus {
  const timeline = timelineOf(events);
  let question: Interrupt | undefined;
  let decision: Decision | undefined;
  let isStarted = false;
  let cancelled: Result | undefined;
  for (const entry of timeline) {
    if (entry.type === 'call-ended' && entry.result) return { at: 'settled', result: entry.result, decision };
    if (entry.type === 'call-started') isStarted = true;
    if (entry.type === 'wait-started' && entry.interrupt.kind !== 'inside') question = entry.interrupt;
    if (entry.type === 'wait-ended' && entry.decision) {
      question = undefined;
      decision = entry.decision;
    }
    // A result may still be recorded after the run was cancelled.
    if (entry.type === 'run-ended') cancelled = withdrawn(entry.message, isStarted);
  }
  if (cancelled) return { at: 'settled', result: cancelled, decision: undefined };
  if (question) return asked(question);
  return decision ? { at: 'approved', isStarted } : { at: 'begun' };
}

/** The input that a person edited the call to; undefined if it was not edited. */
export function editedInput(events: readonly StoredEvent[]) {
  const edits = timelineOf(events).flatMap((entry) =>
    entry.type === 'wait-ended' && entry.decision && 'input' in entry.decision ? [entry.decision.input] : [],
  );
  return edits.findLast((input) => input !== undefined);
}

function asked({ id, kind, payload }: Interrupt): CallStatus {
  if (kind === 'approval') return { at: 'waiting', interruptId: id };
  return {
    at: 'stuck',
    text: (payload as { readonly message?: string }).message ?? 'A person must look at this call.',
  };
}

function withdrawn(message: string | undefined, isStarted: boolean): Result {
  const text = `This call was withdrawn${message === undefined ? '' : ` (${message})`}.`;
  if (!isStarted) return { type: 'cancelled', text: `${text} The tool was not run.` };
  return {
    type: 'cancelled',
    text: `${text} It had started, and it is unknown whether it took effect.`,
    mayHaveActed: true,
  };
}
