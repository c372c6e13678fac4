// Reads the decision on a card from the event that recorded it.

import { isObject, type Json, sameJson } from '../../core/json.ts';
import type { Decision, RunEvent } from '../../core/run/event.ts';
import type { PendingCard } from '../../runs/requests/card.ts';
import type { CardDecision } from './card.ts';

export function decisionOn(pending: PendingCard, event: RunEvent): CardDecision {
  const at = event.at ?? null;
  if (event.type === 'vote-cast') return { ...EDITED, by: event.vote.by, at };
  if (event.type !== 'decision-made') return { ...NOBODY, type: 'cancel', at };
  const { decision } = event;
  return { ...(decision.type === 'inside' ? inner(pending, decision) : outer(decision)), at };
}

const NOBODY = { by: null, at: null, channel: null, note: null } as const;

/** Others must agree to an edit, so the request is asked again and this card is over. */
export const EDITED: CardDecision = {
  ...NOBODY,
  type: 'cancel',
  reason: 'The input was edited, so the votes given before do not count. It is asked again, with the edited input.',
};

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

/** The decision on a question of a sub-agent. Questions with the same ref may be pending in other sub-agents. */
function inner({ part }: PendingCard, { resume }: Decision & { type: 'inside' }): CardDecision {
  const { ref } = part.toolRequest;
  const path = listOf(part.metadata?.path).slice(1);
  for (const type of TYPES)
    for (const entry of listOf(isObject(resume) ? resume[type] : undefined)) {
      const { toolRequest, toolResponse, metadata } = recordOf(entry);
      const { decision, path: inside = [], ...more } = recordOf(metadata);
      if (recordOf(toolResponse ?? toolRequest).ref !== ref || !sameJson(inside, path)) continue;
      const answer = type === 'respond' && isObject(toolResponse) && { output: toolResponse.output as Json };
      const edit = 'replacedInput' in more && isObject(toolRequest) && { edit: toolRequest.input as Json };
      return { ...noted(type, recordOf(decision)), ...answer, ...edit };
    }
  return { ...NOBODY, type: 'approve' };
}

function noted(type: CardDecision['type'], { by, channel, note, reason }: Record<string, unknown>): CardDecision {
  const text = (value: unknown) => (typeof value === 'string' ? value : null);
  return {
    ...NOBODY,
    type,
    by: text(by),
    channel: text(channel),
    note: text(note),
    ...(typeof reason === 'string' && { reason }),
  };
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const recordOf = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {});

const TYPES = ['approve', 'reject', 'respond', 'restart', 'cancel'] as const;
