// Pending requests that other people decide than the person who sends a message: such a message does not withdraw them.
import type { RequestProgress } from '../../core/authority/ballots.ts';
import { settlesAlone, type Voter } from '../../core/authority/may-decide.ts';
import { isPlain } from '../../core/authority/policy.ts';
import { type Directory, votersFor } from '../people.ts';
import { type PendingCard, willRun } from './card.ts';
import { ballotOf, policiesOn } from './progress.ts';

/** The person who sends a message to a conversation. */
export type Speaker = {
  /** Absent if not known. */
  readonly by?: string | undefined;
  /** The roles of the sign-in. */
  readonly roles?: readonly string[] | undefined;
  /** False: this person decides nothing. */
  readonly mayDecide?: boolean | undefined;
};

/** Whether other people decide one of these requests. If the directory of people fails, they do: then nothing is withdrawn. */
export async function areLeftToOthers(
  people: Directory,
  cards: Iterable<PendingCard>,
  speaker: Speaker,
): Promise<boolean> {
  // A call that is approved waits for its time, not for the person who writes.
  const asked = [...cards].filter(({ request }) => request.kind !== 'recall');
  if (asked.some((card) => involvesOthers(card.progress, speaker.by))) return true;
  if (speaker.mayDecide === false) return asked.length > 0;
  const governed = asked.filter((card) => !isPlain(policiesOn(card)));
  if (governed.length === 0) return false;
  const voters = await votersOf(people, speaker);
  return !governed.every((card) => isOwn(card, voters));
}

/** Whether other people decide this request. `voters`: the reader, and each person whom they stand in for. */
export function isLeftToOthers(card: PendingCard, by: string | undefined, voters: readonly Voter[]): boolean {
  return involvesOthers(card.progress, by) || !isOwn(card, voters);
}

function isOwn(card: PendingCard, voters: readonly Voter[]): boolean {
  return settlesAlone(policiesOn(card), ballotOf(card), willRun(card.part), voters);
}

/** Other people have voted or commented, or one of them should decide it. */
function involvesOthers(progress: RequestProgress | undefined, by: string | undefined): boolean {
  if (!progress) return false;
  const { votes, comments = [], assignedTo = by } = progress;
  const isOther = (person: string | null) => person !== (by ?? null);
  return assignedTo !== by || [...votes, ...comments].some((one) => isOther(one.by));
}

async function votersOf(people: Directory, { by, roles = [] }: Speaker): Promise<readonly Voter[]> {
  if (by === undefined) return [{ by: null }];
  return votersFor(people, by, roles).catch(() => []);
}
