// Asks the directory who could still decide a request, so that nobody leaves it waiting for people who do not exist.
import type { Voter } from '../../core/authority/may-decide.ts';
import {
  type Ballot,
  circlesOf,
  isPlain,
  type Policies,
  type Vote,
  type Who,
  whoText,
} from '../../core/authority/policy.ts';
import { outOfReach } from '../../core/authority/reach.ts';
import type { Missing } from '../../core/authority/tally.ts';
import { ConflictError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import type { Escalation } from '../../core/request/request.ts';
import type { RunRequest } from './view.ts';

/** What a request asks of whom. */
export type Reached = {
  readonly policies: Policies;
  readonly ballot: Ballot;
  /** Those to come count as well. */
  readonly escalate: readonly Escalation[];
  readonly input: Json;
};

/** What the directory of people knows. */
type Known = { readonly membersOf?: (role: string) => readonly string[] | Promise<readonly string[]> };

/**
 * The votes that nobody who is known can give; none if the request can be approved, or if the directory does not know the members of
 * a role, so that nothing can be said.
 */
export async function votesOutOfReach(
  { policies, ballot, escalate, input }: Reached,
  { membersOf }: Known,
): Promise<readonly Missing[]> {
  if (isPlain(policies)) return [];
  const escalatedTo = [...(ballot.escalatedTo ?? [])];
  for (const { to, policy } of escalate) {
    // Who the managers will be is not known now.
    if (to === 'manager') return [];
    escalatedTo.push(policy === undefined ? to : { ...to, policy });
  }
  const circles = [...policies.flatMap(circlesOf), ...escalatedTo];
  // Nobody in particular is asked.
  if (circles.length === 0) return [];
  const roles = [...new Set(circles.flatMap((who: Who) => who.roles ?? []))];
  if (roles.length > 0 && !membersOf) return [];
  const members = await Promise.all(roles.map(async (role) => [role, (await membersOf?.(role)) ?? []] as const)).catch(
    () => undefined,
  );
  if (!members) return [];
  const people = new Set([...circles.flatMap((who: Who) => who.people ?? []), ...members.flatMap(([, ids]) => ids)]);
  const known = [...people].map(
    (by): Voter => ({ by, roles: members.flatMap(([role, ids]) => (ids.includes(by) ? [role] : [])) }),
  );
  return outOfReach(policies, { ...ballot, escalatedTo }, known, input);
}

/** A vote; with `asked`, it edits the input, and others must agree. */
type Editing = { readonly asked?: Reached; readonly vote: Pick<Vote, 'by'> };

/**
 * Throws if an edit leaves a request that nobody can approve: it voids the votes before it, and under four eyes its author does not
 * count any more.
 */
export async function refuseOutOfReach(runId: string, edits: Iterable<Editing>, people: Known): Promise<void> {
  for (const { asked, vote } of edits) {
    const missing = asked ? await votesOutOfReach(asked, people) : [];
    if (missing.length === 0) continue;
    const groups = missing.map(({ of, count }) => `${count} of ${whoText(of).join(' or ') || 'anyone'}`);
    const message = `After this edit by ${vote.by ?? 'nobody'}, the people who are known could not give the missing votes: ${groups.join(' and ')}. Nothing was recorded.`;
    throw new ConflictError('out-of-reach', { runId, missing }, message);
  }
}

/** The same for a request as callers see it. */
export function requestOutOfReach(request: RunRequest, people: Known): Promise<readonly Missing[]> {
  const { policies, requesters, progress, input, settledAt } = request;
  if (settledAt !== null) return Promise.resolve([]);
  const { votes = [], escalatedTo = [], escalate = request.escalate } = progress ?? {};
  // Those that are recorded were the first.
  const toCome = escalate.slice(escalatedTo.length);
  return votesOutOfReach({ policies, ballot: { votes, requesters, escalatedTo }, escalate: toCome, input }, people);
}
