// Whether a person can give this grant.
import { sameJson } from '../../json.ts';
import { type Condition, fieldText, pathOf } from '../condition.ts';
import { authoritySchemas, shapeProblem } from '../schemas.ts';
import type { GrantRequest } from './grant.ts';
import type { GrantMaximum } from './grant-maximum.ts';

/** Says why this grant cannot be made; undefined if it can. */
export function grantProblem(
  request: unknown,
  maxima: readonly (GrantMaximum | false)[],
  now: number,
): string | undefined {
  const problem = shapeProblem(authoritySchemas().GrantRequestSchema, request, 'a grant');
  if (problem !== undefined) return problem;
  const grant = request as GrantRequest;
  if (grant.expiresAt <= now) return '`expiresAt` has passed';
  const faults = maxima.map((maximum) =>
    maximum === false ? 'the policy of the request allows no grants' : tooWide(grant, maximum, now),
  );
  return faults.find((found) => found !== undefined);
}

/** Which limit of the policy the grant exceeds. */
function tooWide(
  { where = [], uses, budget, expiresAt }: GrantRequest,
  { uses: most, field, each, total, expiresWithin }: GrantMaximum,
  now: number,
): string | undefined {
  if (uses > most) return `the policy allows at most ${most} uses`;
  if (expiresAt - now > expiresWithin) return `the policy allows at most ${expiresWithin / 3_600_000} hours`;
  if (field === undefined) return undefined;
  const name = fieldText(field);
  const isLimited = where.some((condition) => sameField(condition.field, field) && isAtMost(condition, each));
  if (each !== undefined && !isLimited) return `the policy needs a condition that ${name} is at most ${each}`;
  const isBudget = budget && sameField(budget.field, field);
  if (total !== undefined && !(isBudget && budget.total <= total))
    return `the policy needs a budget of at most ${total} over ${name}`;
  return undefined;
}

function isAtMost({ equals, oneOf, below, atMost }: Condition, limit = Number.POSITIVE_INFINITY): boolean {
  const values = oneOf ?? (equals === undefined ? undefined : [equals]);
  if (values?.every((value) => typeof value === 'number' && value <= limit)) return true;
  return [below, atMost].some((most) => most !== undefined && most <= limit);
}

const sameField = (one: Condition['field'], other: Condition['field']): boolean => sameJson(pathOf(one), pathOf(other));
