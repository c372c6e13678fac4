// Limits: how many calls may start in any stretch of time, and for how much.
import type { Json } from '../../json.ts';
import { type Condition, fieldOf, fieldText } from '../condition.ts';
import { exceeds, isAmount, MOST_USES } from './grant-maximum.ts';

export type Limit = {
  /** How many calls; 1,000 at most, which is the default. */
  readonly calls?: number;
  /** The numeric field whose sum may not exceed `most`. */
  readonly sum?: Condition['field'];
  readonly most?: number;
  /** In milliseconds, from each call backwards. */
  readonly per: number;
};

/** A call that counts. `isSpent`: it ran, or may have run. */
export type LimitUse = { readonly key: string; readonly at: number; readonly amount?: number; readonly isSpent?: true };

/** `why`: there is no room for the call. `uses`: with the call in either case. */
export type Counted = { readonly uses: readonly LimitUse[]; readonly why?: string };

/** Counts a call beside those that count already. The same call counts once. */
export function counted(
  { calls = MOST_USES, sum, most = Infinity, per }: Limit,
  uses: readonly LimitUse[],
  { key, input, now }: { readonly key: string; readonly input: Json; readonly now: number },
): Counted {
  const amount = sum === undefined ? undefined : fieldOf(input, sum);
  const use: LimitUse = { key, at: now, ...(isAmount(amount) && { amount }) };
  const others = uses.filter((other) => other.key !== key && other.at > now - per);
  // While there are so many, nothing else has room, and the oldest would end first.
  const all = [...others.slice(1 - MOST_USES), use];
  if (sum !== undefined && !isAmount(amount)) return { uses: all, why: `${fieldText(sum)} is not an amount` };
  if (others.length >= calls) return { uses: all, why: 'no calls are left' };
  const amounts = all.flatMap((one) => one.amount ?? []);
  if (sum !== undefined && exceeds(amounts, most)) return { uses: all, why: 'this call would exceed it' };
  return { uses: all };
}
