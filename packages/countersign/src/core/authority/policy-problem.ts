// Whether a policy is valid and can be satisfied.
import { isObject } from '../json.ts';
import { conditionProblem } from './condition.ts';
import { maximumProblem } from './grant-maximum.ts';
import { matched } from './matching.ts';
import { type Group, type Policy, whoText } from './policy.ts';

const FIELDS: readonly string[] = [
  'name',
  'deciders',
  'notRequester',
  'quorum',
  'veto',
  'signed',
  'grants',
  'warnings',
  'onExpiry',
  'delegates',
];

/** More votes than this are a mistake. */
const MOST_VOTES = 100;

/** Explains why the policy is invalid or cannot be satisfied. `roles`: all existing roles, if the application lists them. */
export function policyProblem(policy: unknown, roles?: readonly string[]): string | undefined {
  const problem = shapeProblem(policy);
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

/** False if a later release wrote the policy: this one would miss some of its requirements. */
export function knowsPolicy(policy: unknown): boolean {
  return shapeProblem(policy) === undefined;
}

function shapeProblem(policy: unknown): string | undefined {
  if (!isObject(policy)) return 'it must be an object';
  const unknown = Object.keys(policy).filter((key) => !FIELDS.includes(key));
  if (unknown.length > 0) return `it has no ${unknown.join(', ')}; it has ${FIELDS.join(', ')}`;
  const { deciders, notRequester, quorum = [], veto, signed, grants, onExpiry, delegates } = policy as Policy;
  if (notRequester !== undefined && notRequester !== true) return '`notRequester` must be true, or left out';
  if (veto !== undefined && veto !== 'any' && veto !== 'majority') return '`veto` must be "any" or "majority"';
  if (signed !== undefined && signed !== 'passkey') return '`signed` must be "passkey"';
  if (delegates !== undefined && delegates !== true) return '`delegates` must be true, or left out';
  if (onExpiry !== undefined && onExpiry !== 'approve')
    return '`onExpiry` of a stored policy must be "approve", or left out';
  const grantsFault = grants === undefined ? undefined : maximumProblem(grants);
  if (grantsFault !== undefined) return `\`grants\`: ${grantsFault}`;
  if (!Array.isArray(quorum)) return '`quorum` must be a list of groups';
  const problem = deciders === undefined ? undefined : whoProblem('deciders', deciders);
  if (problem !== undefined) return problem;
  return quorum.map((group, index) => groupProblem(`quorum[${index}]`, group)).find((found) => found !== undefined);
}

function whoProblem(where: string, who: unknown): string | undefined {
  if (!isObject(who)) return `\`${where}\` must be an object with \`people\` or \`roles\``;
  const { people, roles, ...rest } = who;
  const odd = Object.keys(rest);
  if (odd.length > 0) return `\`${where}\` has no ${odd.join(', ')}; it has people and roles`;
  for (const [field, list] of Object.entries({ people, roles }))
    if (list !== undefined && !isNames(list)) return `\`${where}.${field}\` must be a list of names`;
  return undefined;
}

const isNames = (list: unknown): boolean =>
  Array.isArray(list) && list.every((name) => typeof name === 'string' && name !== '');

function groupProblem(where: string, group: unknown): string | undefined {
  if (!isObject(group)) return `\`${where}\` must be an object such as { of: { roles: ["finance"] }, count: 2 }`;
  const { of, count, when, ...rest } = group;
  const odd = Object.keys(rest);
  if (odd.length > 0) return `\`${where}\` has no ${odd.join(', ')}; it has of, count and when`;
  if (!Number.isInteger(count) || (count as number) < 1 || (count as number) > MOST_VOTES)
    return `\`${where}.count\` must be a whole number from 1 to ${MOST_VOTES}`;
  if (when !== undefined && !Array.isArray(when)) return `\`${where}.when\` must be a list of conditions`;
  const problem = (when as readonly unknown[] | undefined)?.map(conditionProblem).find((found) => found !== undefined);
  return problem === undefined ? whoProblem(`${where}.of`, of) : `\`${where}.when\`: ${problem}`;
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
