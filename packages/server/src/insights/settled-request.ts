// A settled request, reduced to what the figures count: how it ended, who voted, and after how long.
import type { RunRequest } from 'countersign';

/** How a vote or a request ended. `edited`: approved with changes. */
export type Outcome = 'approved' | 'edited' | 'rejected' | 'answered' | 'cancelled';

/** One person's vote. */
export type CountedVote = {
  readonly by: string;
  readonly outcome: Outcome;
  readonly at: number;
  /** From the request to the vote. */
  readonly afterMs: number;
  /** How long the person had the card in view: as their channel reported it, otherwise since the request. */
  readonly seenMs: number;
};

/** A settled request. `expired`: its deadline decided. `withdrawn`: a decision was no longer needed. */
export type SettledRequest = {
  readonly tool: string;
  /** The name of its policy; null if it has none. */
  readonly policy: string | null;
  readonly createdAt: number;
  readonly settledAt: number;
  readonly outcome: Outcome | 'expired' | 'withdrawn';
  readonly votes: readonly CountedVote[];
  readonly drill: boolean;
  /** A review had warned of it. */
  readonly warned?: boolean;
  /** The call ran unasked, and a rule would have asked. Only one figure counts it. */
  readonly observed?: true;
};

/** The part of a stored request that is read. */
export type Readable = Pick<RunRequest, 'tool' | 'createdAt' | 'settledAt' | 'settlement'> & {
  readonly policies: readonly { readonly name?: string }[];
  readonly drill?: boolean;
  readonly warned?: boolean;
};

/** Undefined while the request is pending, and for a call that a grant let run. */
export function settledRequest(request: Readable): SettledRequest | undefined {
  const { tool, policies, createdAt, settledAt, settlement, drill = false, warned = false } = request;
  // Nobody decided a call that a grant let run.
  if (settledAt === null || settlement === null || 'granted' in settlement) return undefined;
  const common = {
    tool,
    policy: policies.flatMap(({ name }) => name ?? [])[0] ?? null,
    createdAt,
    settledAt,
    drill,
    warned,
  };
  if ('observed' in settlement) return { ...common, outcome: 'withdrawn', votes: [], observed: true };
  if (settlement.decision === undefined) return { ...common, outcome: 'withdrawn', votes: [] };
  const { by, channel, at, decision } = settlement;
  const given: readonly GivenVote[] = (settlement as { votes?: readonly GivenVote[] }).votes ?? [];
  // A decision of the deadline has its name and no channel.
  const isExpired = by === 'deadline' && channel === null;
  const cast = given.length > 0 || isExpired ? given : [{ ...settlement, by, at, decision }];
  const votes = cast.flatMap((vote) => countedVote(vote, createdAt, settledAt));
  return { ...common, outcome: isExpired ? 'expired' : outcomeOf(decision), votes };
}

type GivenVote = {
  readonly by: string | null;
  readonly decision: unknown;
  readonly at?: number;
  readonly seenForMs?: number;
};

/** A vote without a name counts for no person. */
function countedVote({ by, decision, at, seenForMs }: GivenVote, createdAt: number, settledAt: number): CountedVote[] {
  if (by === null) return [];
  const votedAt = at ?? settledAt;
  const afterMs = Math.max(votedAt - createdAt, 0);
  // A person cannot have seen the card before it existed.
  const seenMs = Math.min(seenForMs ?? afterMs, afterMs);
  return [{ by, outcome: outcomeOf(decision), at: votedAt, afterMs, seenMs }];
}

function outcomeOf(decision: unknown): Outcome {
  const { type, edit, replaceInput } = (decision ?? {}) as { type?: unknown; edit?: unknown; replaceInput?: unknown };
  if (type === 'reject' || type === 'revise') return 'rejected';
  if (type === 'respond') return 'answered';
  if (type === 'cancel') return 'cancelled';
  return edit === undefined && replaceInput === undefined ? 'approved' : 'edited';
}
