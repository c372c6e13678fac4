// What a pending request has collected: votes, edits, escalations, its assignment and comments. The run keeps it by the question's id,
// so that a request of a sub-agent needs nothing special.

import { defined, type Json } from '../json.ts';
import { type Comment, NEWEST_COMMENTS } from '../request/comment.ts';
import type { EditBound, Escalation, Reasked, Request, Review } from '../request/request.ts';
import type { BallotEvent } from '../run/event.ts';
import type { Escalated, Policies, Vote } from './policy.ts';
import { isEdit, peopleOf } from './tally.ts';

/** What the people of a request have done so far. */
export type RequestProgress = {
  /** All votes in the order of voting, even those that an edit or a later vote voided. */
  readonly votes: readonly Vote[];
  /** The last edit that did not settle the request. It is asked about this input now. */
  readonly edit?: RequestEdit;
  /** 1, and one more for each edit that did not settle the request. */
  readonly round: number;
  readonly escalatedTo: readonly Escalated[];
  /** The escalations of the policies that count now, if those on the card do not count any more. */
  readonly escalate?: readonly Escalation[];
  /** The person who should decide it. Others still may. */
  readonly assignedTo?: string;
  /** How often it was assigned to a person, and when it was last. */
  readonly assignments?: number;
  readonly assignedAt?: number;
  /** The newest comments, oldest first; absent if there are none. */
  readonly comments?: readonly Comment[];
  /** Policies that were applied after the request was made. They count instead of those on the card. */
  readonly policies?: Policies;
  /** What reviewers said then. */
  readonly reviews?: readonly Review[];
};

/** An input that a person proposed instead. Without `bound`, the tool's schema parses it again when the call runs. */
export type RequestEdit = {
  readonly input: Json;
  readonly bound?: EditBound;
  readonly by: string | null;
  readonly at?: number;
  /** What the gate says about this input. */
  readonly asked: Reasked;
};

/** By the id of the request inside the run. */
export type Ballots = ReadonlyMap<string, RequestProgress>;

const NO_PROGRESS: RequestProgress = { votes: [], round: 1, escalatedTo: [] };

export function progressOf(
  { ballots }: { readonly ballots?: Ballots | undefined },
  requestId: string,
): RequestProgress {
  return ballots?.get(requestId) ?? NO_PROGRESS;
}

export function foldBallot(ballots: Ballots | undefined, event: BallotEvent): Ballots {
  const { requestId } = event;
  const progress = ballots?.get(requestId) ?? NO_PROGRESS;
  return new Map(ballots).set(requestId, progressAfter(progress, event));
}

function progressAfter(before: RequestProgress, event: BallotEvent): RequestProgress {
  switch (event.type) {
    case 'vote-cast': {
      const { vote, edit } = event;
      const voted = { ...before, votes: [...before.votes, vote] };
      if (!edit) return voted;
      const { by, at = event.at } = vote;
      const { policies: _before, reviews: _said, ...rest } = voted;
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
    case 'request-escalated':
      return {
        ...before,
        escalatedTo: [...before.escalatedTo, { ...event.to, ...defined({ policy: event.policy }) }],
      };
    case 'request-assigned': {
      const { assignedTo: _before, ...rest } = before;
      if (event.to === null) return rest;
      const assignments = (before.assignments ?? 0) + 1;
      return { ...rest, assignedTo: event.to, assignments, ...defined({ assignedAt: event.at }) };
    }
    case 'request-commented': {
      const { comments = [] } = before;
      const { by, text, mentions = [], at } = event;
      const number = (comments.at(-1)?.number ?? 0) + 1;
      const comment = { number, by, text, mentions, ...defined({ at }) };
      return { ...before, comments: [...comments, comment].slice(-NEWEST_COMMENTS) };
    }
    case 'votes-withdrawn': {
      const without = (vote: Vote): Vote => (peopleOf(vote).includes(event.of) ? { ...vote, withdrawn: true } : vote);
      return { ...before, votes: before.votes.map(without) };
    }
    case 'policy-applied':
      return {
        ...before,
        policies: event.policies,
        escalate: event.escalate,
        escalatedTo: [],
        ...defined({ reviews: event.reviews }),
      };
  }
}

/** Each round of a request has its own card: a vote on the card of an earlier round never counts for the edit. */
export function roundId(requestId: string, round: number): string {
  return round > 1 ? `${requestId}~${round}` : requestId;
}

/** The policies that count for a request: those applied last, or those of the last edit, before those on its card. */
export function policiesIn(progress: RequestProgress | undefined, request: Request): Policies;
export function policiesIn(progress: RequestProgress | undefined, request: Request | undefined): Policies | undefined;
export function policiesIn(progress: RequestProgress | undefined, request: Request | undefined): Policies | undefined {
  return progress?.policies ?? progress?.edit?.asked.policies ?? request?.authority.policies;
}

/** Everyone who has edited the input in this request. */
export function editorsIn(progress: RequestProgress | undefined): readonly string[] {
  return [...new Set((progress?.votes ?? []).filter(isEdit).flatMap(peopleOf))];
}
