// What was decided on a card, read from the event that says so.
import type { Decision, RunEvent } from '../core/event.ts';
import { isObject, type Json } from '../core/json.ts';
import type { PendingCard } from '../runs/card.ts';
import type { CardDecision } from './card.ts';

export function decisionOn(pending: PendingCard, event: RunEvent): CardDecision {
  const at = event.at ?? null;
  if (event.type !== 'decision-made') return { ...NOBODY, type: 'cancel', at };
  const { decision } = event;
  return { ...(decision.type === 'inside' ? inner(pending, decision.decided) : outer(decision)), at };
}

const NOBODY = { by: null, at: null, channel: null, note: null } as const;

function outer(decision: Exclude<Decision, { type: 'inside' }>): CardDecision {
  const { type, by = null, channel = null, note = null } = decision;
  return {
    type,
    by,
    at: null,
    channel,
    note,
    ...('reason' in decision && decision.reason !== undefined && { reason: decision.reason }),
    ...('input' in decision && decision.input !== undefined && { edit: decision.input }),
    ...('output' in decision && { output: decision.output }),
  };
}

/** The request around the conversation inside keeps a note of who decided what in it. */
function inner(pending: PendingCard, notes: Json): CardDecision {
  const { ref } = pending.part.toolRequest;
  const all: readonly unknown[] = Array.isArray(notes) ? notes : [];
  const note = all.filter(isObject).find((note) => note.ref === ref) ?? {};
  const text = (value: unknown) => (typeof value === 'string' ? value : null);
  const type = TYPES.find((type) => type === note.type) ?? 'approve';
  return {
    ...NOBODY,
    type,
    by: text(note.by),
    channel: text(note.channel),
    note: text(note.note),
    ...(typeof note.reason === 'string' && { reason: note.reason }),
  };
}

const TYPES = ['approve', 'reject', 'respond', 'restart', 'cancel'] as const;
