// What a pending question has collected: votes, edits, escalations and its assignment. The run keeps it by the question's id,
// so that a question of a sub-agent needs nothing special.

import { defined, type Json } from '../json.ts';
import type { EditBound, Escalation, Interrupt, Reasked } from '../request/interrupt.ts';
import type { BallotEvent } from '../run/event.ts';
import type { Escalated, Policies, Vote } from './policy.ts';
import { isEdit, peopleOf } from './tally.ts';

/** What the people of a question have done so far. */
export type QuestionProgress = {
  /** All votes in the order of voting, even those that an edit or a later vote voided. */
  readonly votes: readonly Vote[];
  /** The last edit that did not settle the question. It is asked about this input now. */
  readonly edit?: QuestionEdit;
  /** 1, and one more for each edit that did not settle the question. */
  readonly round: number;
  readonly escalatedTo: readonly Escalated[];
  /** The escalations of the policies that count now, if those on the card do not count any more. */
  readonly escalate?: readonly Escalation[];
  /** The person who should decide it. Others still may. */
  readonly assignedTo?: string;
  /** How often it was assigned to a person, and when it was last. */
  readonly assignments?: number;
  readonly assignedAt?: number;
  /** Policies that were applied after the request was made. They count instead of those on the card. */
  readonly policies?: Policies;
};

/** An input that a person proposed instead. Without `bound`, the tool's schema parses it again when the call runs. */
export type QuestionEdit = {
  readonly input: Json;
  readonly bound?: EditBound;
  readonly by: string | null;
  readonly at?: number;
  /** What the gate says about this input. */
  readonly asked: Reasked;
};

/** By the id of the question inside the run. */
export type Ballots = ReadonlyMap<string, QuestionProgress>;

const NO_PROGRESS: QuestionProgress = { votes: [], round: 1, escalatedTo: [] };

export function progressOf({ ballots }: { readonly ballots?: Ballots }, interruptId: string): QuestionProgress {
  return ballots?.get(interruptId) ?? NO_PROGRESS;
}

export function foldBallot(ballots: Ballots | undefined, event: BallotEvent): Ballots {
  const { interruptId } = event;
  const progress = ballots?.get(interruptId) ?? NO_PROGRESS;
  return new Map(ballots).set(interruptId, progressAfter(progress, event));
}

function progressAfter(before: QuestionProgress, event: BallotEvent): QuestionProgress {
  switch (event.type) {
    case 'vote-cast': {
      const { vote, edit } = event;
      const voted = { ...before, votes: [...before.votes, vote] };
      if (!edit) return voted;
      const { by, at = event.at } = vote;
      const { policies: _before, ...rest } = voted;
      const { settles, ...edited } = edit;
      const round = before.round + (settles ? 0 : 1);
      const escalate = edit.asked?.escalate;
      return {
        ...rest,
        ...(escalate && { escalate, escalatedTo: [] }),
        round,
        edit: { ...edited, ...defined({ by, at }) },
      };
    }
    case 'question-escalated':
      return {
        ...before,
        escalatedTo: [...before.escalatedTo, { ...event.to, ...defined({ policy: event.policy }) }],
      };
    case 'question-assigned': {
      const { assignedTo: _before, ...rest } = before;
      if (event.to === null) return rest;
      const assignments = (before.assignments ?? 0) + 1;
      return { ...rest, assignedTo: event.to, assignments, ...defined({ assignedAt: event.at }) };
    }
    case 'policy-applied':
      return { ...before, policies: event.policies, escalate: event.escalate, escalatedTo: [] };
  }
}

/** Each round of a question has its own card: a vote on the card of an earlier round never counts for the edit. */
export function roundId(interruptId: string, round: number): string {
  return round > 1 ? `${interruptId}~${round}` : interruptId;
}

/** The policies that count for a request: those applied last, or those of the last edit, before those on its card. */
export function policiesIn(progress: QuestionProgress | undefined, interrupt: Interrupt): Policies;
export function policiesIn(
  progress: QuestionProgress | undefined,
  interrupt: Interrupt | undefined,
): Policies | undefined;
export function policiesIn(
  progress: QuestionProgress | undefined,
  interrupt: Interrupt | undefined,
): Policies | undefined {
  return progress?.policies ?? progress?.edit?.asked.policies ?? interrupt?.authority.policies;
}

/** Everyone who has edited the input in this request. */
export function editorsIn(progress: QuestionProgress | undefined): readonly string[] {
  return [...new Set((progress?.votes ?? []).filter(isEdit).flatMap(peopleOf))];
}
