// The maximum that a policy sets for grants: no grant on its questions may be wider.

import { isObject } from '../json.ts';
import { type Condition, conditionProblem } from './condition.ts';

/** How wide a grant may be. */
export type GrantMaximum = {
  /** How many calls it may let run; 1,000 at most. */
  readonly uses: number;
  /** The numeric field that `each` and `total` limit. */
  readonly field?: Condition['field'];
  /** The highest amount of one call. */
  readonly each?: number;
  /** The highest sum of all calls. */
  readonly total?: number;
  /** How long it may be valid, in milliseconds. */
  readonly expiresWithin: number;
};

/** A grant keeps each use in one record, which must stay small. */
export const MOST_USES = 1_000;

const DAY_MS = 24 * 60 * 60 * 1_000;

/** Where no policy says anything. */
export const DEFAULT_MAXIMUM: GrantMaximum = { uses: MOST_USES, expiresWithin: 90 * DAY_MS };

const FIELDS: readonly string[] = ['uses', 'field', 'each', 'total', 'expiresWithin'];

/** An amount that can be added up: finite, not negative, and exact as a number. */
export const isAmount = (value: unknown): value is number =>
  typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER;

/** Returns the problem with a maximum; undefined if it is valid. `false` allows no grants. */
export function maximumProblem(maximum: unknown): string | undefined {
  if (maximum === false) return undefined;
  if (!isObject(maximum)) return 'it must be false, or an object such as { uses: 10, expiresWithin: 604800000 }';
  const unknown = Object.keys(maximum).filter((key) => !FIELDS.includes(key));
  if (unknown.length > 0) return `it has no ${unknown.join(', ')}; it has ${FIELDS.join(', ')}`;
  const { uses, field, each, total, expiresWithin } = maximum;
  if (!Number.isInteger(uses) || Number(uses) < 1 || Number(uses) > MOST_USES)
    return `\`uses\` must be a whole number from 1 to ${MOST_USES}`;
  if (!Number.isSafeInteger(expiresWithin) || Number(expiresWithin) < 1)
    return '`expiresWithin` must be a time in whole milliseconds';
  for (const [name, amount] of Object.entries({ each, total }))
    if (amount !== undefined && !isAmount(amount)) return `\`${name}\` must be a number from 0`;
  if (field !== undefined) return conditionProblem({ field, atLeast: 0 });
  return each === undefined && total === undefined ? undefined : '`each` and `total` need `field`, which they limit';
}
