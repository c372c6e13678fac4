// The status of a call that went through the gate, read from the record of its run.

import type { Frozen } from '../../core/authority/freeze.ts';
import type { Json } from '../../core/json.ts';
import type { Request } from '../../core/request/request.ts';
import type { Decision, HostStart, Result } from '../../core/run/event.ts';
import { timelineOf } from '../../core/run/timeline.ts';
import type { StoredEvent } from '../port/store.ts';

export type CallStatus =
  /** The request was not asked yet: the process crashed just before. */
  | { readonly at: 'begun' }
  /** `isApproved`: it may start when its deadline has passed. */
  | {
      readonly at: 'waiting';
      readonly requestId: string;
      readonly expiresAt?: number | undefined;
      readonly isApproved?: true;
    }
  /**
   * `isStarted`: a process runs the body, or crashed while it did. `host`: a program outside runs it. `frozen`: a freeze covers it, so it
   * waits until the freeze ends.
   */
  | {
      readonly at: 'approved';
      readonly isStarted: boolean;
      readonly host?: HostStart | undefined;
      readonly frozen?: Frozen | undefined;
    }
  | { readonly at: 'settled'; readonly result: Result; readonly decision: Decision | undefined }
  /** A person must look at it: its outcome is unknown, or its tool no longer exists. */
  | { readonly at: 'stuck'; readonly requestId: string; readonly isDoubt: boolean; readonly text: string };

export function callStatus(events: readonly StoredEvent[]): CallStatus {
  let question: Request | undefined;
  let decision: Decision | undefined;
  let isCleared = false;
  let isStarted = false;
  let freeze: Frozen | undefined;
  let cancelled: Result | undefined;
  for (const entry of timelineOf(events)) {
    if (entry.type === 'call-ended' && entry.result) return { at: 'settled', result: entry.result, decision };
    if (entry.type === 'call-started') isStarted = true;
    if (entry.type === 'call-frozen') freeze = entry.freeze;
    if (entry.type === 'run-unfrozen') freeze = undefined;
    if (entry.type === 'call-granted') isCleared = true;
    if (entry.type === 'call-cleared') {
      isCleared = true;
      isStarted = false;
    }
    if (entry.type === 'wait-started' && entry.request.kind !== 'inside') question = entry.request;
    if (entry.type === 'wait-ended' && entry.decision) {
      question = undefined;
      decision = entry.decision;
      isStarted = false;
    }
    // A result may still be recorded after the run was cancelled.
    if (entry.type === 'run-ended') cancelled = withdrawn(entry.message, isStarted);
  }
  if (cancelled) return { at: 'settled', result: cancelled, decision: undefined };
  if (question) return asked(question);
  if (freeze) return { at: 'approved', isStarted: false, frozen: freeze };
  if (isStarted) return { at: 'approved', isStarted, host: hostOf(events) };
  return decision || isCleared ? { at: 'approved', isStarted } : { at: 'begun' };
}

/** The input that a person edited the call to, if one did, and everyone who voted or decided. */
export function decisionsIn(events: readonly StoredEvent[]): { edited?: Json; readonly people: Set<string | null> } {
  const found: ReturnType<typeof decisionsIn> = { people: new Set() };
  for (const entry of timelineOf(events)) {
    if (entry.type === 'vote-cast') found.people.add(entry.vote.by);
    if (entry.type !== 'wait-ended' || !entry.decision) continue;
    found.people.add(entry.decision.by ?? null);
    if ('input' in entry.decision && entry.decision.input !== undefined) found.edited = entry.decision.input;
  }
  return found;
}

function hostOf(events: readonly StoredEvent[]): HostStart | undefined {
  const start = events.findLast((event) => event.type === 'call-started');
  return start?.type === 'call-started' ? start.host : undefined;
}

function asked({ id, kind, shown, wait }: Request): CallStatus {
  if (kind === 'approval' || kind === 'question') return { at: 'waiting', requestId: id, expiresAt: wait?.expiresAt };
  if (kind === 'recall') return { at: 'waiting', requestId: id, expiresAt: wait?.expiresAt, isApproved: true };
  const { message: text = 'A person must look at this call.' } = shown.payload as { readonly message?: string };
  return { at: 'stuck', requestId: id, isDoubt: kind === 'doubt', text };
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
