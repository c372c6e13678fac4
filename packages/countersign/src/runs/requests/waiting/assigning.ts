// Assigns a request to a person, who should decide it. Others still may.
import { circlesOf, isPlain } from '../../../core/authority/policy.ts';
import { UsageError } from '../../../core/errors.ts';
import { aStringOrNull, type OptionTable } from '../../../core/options.ts';
import { event } from '../../../core/run/event.ts';
import type { Drives } from '../../driving/driving.ts';
import { voterOf } from '../../people.ts';
import type { PendingCard } from '../card.ts';
import { policiesOn } from '../progress.ts';
import { recordOn } from '../recording.ts';
import { electorateOf } from '../votes.ts';

/** Options of `runs.assign`. */
export type AssignOptions = {
  /** The person to decide; null removes the assignment. */
  readonly to: string | null;
  /** Who assigns it. */
  readonly by?: string | null;
};

export const ASSIGN_OPTIONS: OptionTable<AssignOptions> = {
  to: { ...aStringOrNull, required: true },
  by: aStringOrNull,
};

/** Resolves once it is recorded. Records nothing if the request is assigned to this person already. */
export async function assign(drives: Drives, requestId: string, options: AssignOptions): Promise<void> {
  const { to, by = null } = options;
  await recordOn(drives, requestId, 'decision', async (card) => {
    if ((card.progress?.assignedTo ?? null) === to) return undefined;
    if (to !== null) await refuseUnable(drives, card, requestId, to);
    return event({ type: 'request-assigned', requestId: card.id, to, by });
  });
}

/** Throws if a vote of this person would be refused. If the engine cannot know their roles, the vote will tell. */
async function refuseUnable({ people }: Drives, card: PendingCard, requestId: string, to: string): Promise<void> {
  const policies = policiesOn(card);
  if (isPlain(policies)) return;
  const electorate = electorateOf(policies, card);
  const voter = await voterOf(people, to, {}, electorate);
  const circles = policies.flatMap(circlesOf);
  const isUnknown = !people.rolesOf && circles.some((who) => who.roles?.length);
  if (isUnknown || electorate.mayVote({ by: to, ...voter })) return;
  const message = `${requestId} cannot be assigned to ${to}, because ${to} is not allowed to decide it. Name one of its deciders.`;
  throw new UsageError('not-allowed', { status: 403, requestId, to }, message);
}
