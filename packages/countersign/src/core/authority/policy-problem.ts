// Whether a policy is valid and can be satisfied.
import { matched } from './matching.ts';
import { type Group, type Policy, whoText } from './policy.ts';
import { authoritySchemas, shapeProblem } from './schemas.ts';

/** Explains why the policy is invalid or cannot be satisfied. `roles`: all existing roles, if the application lists them. */
export function policyProblem(policy: unknown, roles?: readonly string[]): string | undefined {
  const problem = shapeProblem(authoritySchemas().PolicySchema, policy);
  if (problem !== undefined) return problem;
  const { deciders, quorum = [] } = policy as Policy;
  const circles = [
    ...(deciders ? [{ where: 'deciders', who: deciders }] : []),
    ...quorum.map(({ of }, index) => ({ where: `quorum[${index}].of`, who: of })),
  ];
  const empty = circles.find(({ who }) => whoText(who).length === 0);
  if (empty) return `\`${empty.where}\` names no people and no roles`;
  for (const { where, who } of circles) {
    const strange = roles && who.roles?.find((role) => !roles.includes(role));
    if (strange !== undefined) return `\`${where}\` names the role ${strange}, which does not exist`;
  }
  return tooFewPeople(quorum) ?? deadlineProblem(policy as Policy);
}

/** A deadline is no person: it cannot stand for several of them, and it cannot sign. */
export function deadlineProblem({ onExpiry, quorum = [], signed }: Policy): string | undefined {
  if (onExpiry !== 'approve' || (quorum.length === 0 && !signed)) return undefined;
  return `a deadline cannot approve in place of ${signed ? 'a signature' : 'a quorum'}: leave out \`onExpiry: "approve"\``;
}

/** Groups that name people only: each person counts once, so there must be enough different ones. */
function tooFewPeople(groups: readonly Group[]): string | undefined {
  const named = groups.filter(({ of, when }) => when === undefined && of.people && !of.roles?.length);
  const people = [...new Set(named.flatMap(({ of }) => of.people ?? []))];
  const places = named.flatMap((group) => Array.from({ length: group.count }, () => group));
  const taken = matched(places, people, (person, { of }) => of.people?.includes(person) === true);
  if (taken.size === places.length) return undefined;
  return `it needs ${places.length} votes of ${people.join(', ')}, and each of them counts once, so at most ${taken.size} can be given`;
}
