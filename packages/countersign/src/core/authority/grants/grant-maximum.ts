// The maximum that a policy sets for grants: no grant on its requests may be wider.
import { scaled } from '../../decimal.ts';
import type { Condition } from '../condition.ts';

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

/** An amount that can be added up: finite, not negative, and exact as a number. */
export const isAmount = (value: unknown): value is number =>
  typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER;

/** Adds the numbers up as decimals, so that no rounding lets a sum exceed the total. */
export function exceeds(amounts: readonly number[], total: number): boolean {
  const [limit = 0n, ...rest] = scaled([total, ...amounts]).values;
  return rest.reduce((sum, amount) => sum + amount, 0n) > limit;
}
