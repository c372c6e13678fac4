// Reads the decision on a card from the event that recorded it.

import type { Settled } from '../../core/request/outcome.ts';
import { askedAnswer } from '../../core/request/request.ts';
import type { Decision, PersonDecision, RunEvent } from '../../core/run/event.ts';
import { addressOf, refsOf } from '../../core/run/made.ts';
import type { PendingCard } from '../../runs/requests/card.ts';
import type { CardDecision, RequestCard } from './card.ts';

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

/** After an edit, people read what runs. */
export function retitled(
  { title: asked }: Pick<RequestCard, 'title'>,
  event: RunEvent,
): Partial<Pick<RequestCard, 'title' | 'earlierTitle'>> {
  const title = event.type === 'decision-made' && 'title' in event.decision ? event.decision.title : undefined;
  return title === undefined || title === asked ? {} : { title, earlierTitle: asked };
}

/** The request as the event settled it: its outcome until the record of the call says more. */
export function settledBy(event: RunEvent, pending: PendingCard): Settled {
  const { kind } = pending.request;
  const { type, by, channel } = decisionOn(pending, event);
  const isDecided = event.type === 'decision-made';
  const note = event.type === 'vote-cast' ? 'edited' : null;
  return {
    kind,
    continues: askedAnswer(pending.request) !== undefined,
    settledAt: event.at ?? 0,
    settlement: isDecided ? { decision: { type }, by, channel } : { note },
    recorded: null,
  };
}

function outer(decision: PersonDecision): CardDecision {
  const { type, by = null, channel = null, note = null } = decision;
  return {
    type,
    by,
    at: null,
    channel,
    note,
    ...('reason' in decision && decision.reason !== undefined && { reason: decision.reason }),
    ...('comment' in decision && { comment: decision.comment }),
    ...('input' in decision && decision.input !== undefined && { edit: decision.input }),
    ...('output' in decision && { output: decision.output }),
  };
}

/** The decision on a request of a sub-agent. Requests with the same ref may be pending in other sub-agents. */
function inner({ part }: PendingCard, { decisions }: Decision & { type: 'inside' }): CardDecision {
  const refs = refsOf(addressOf(part), 1);
  const made = decisions.find(({ on }) => refsOf(on) === refs);
  return made ? outer(made.decision) : { ...NOBODY, type: 'approve' };
}
