// The grant that a person is about to give, made from the arguments at hand.
import type { Condition, GrantRequest, Limits } from './wire.ts';

/** One field of the input: whether it is limited, and up to which number. */
export type DraftField = {
  readonly name: string;
  readonly value: unknown;
  readonly isLimited: boolean;
  /** For numbers: the most that one call may have, as typed. */
  readonly most?: string;
};

export type Draft = {
  readonly fields: readonly DraftField[];
  readonly uses: string;
  /** The name of the field whose sum is limited; empty for none. */
  readonly budgetField: string;
  readonly total: string;
  readonly days: string;
  /** Also runs that other people started. */
  readonly servesAll: boolean;
};

const isAmount = (value: unknown): value is number => typeof value === 'number' && value >= 0;

/** Every field is limited at first, so that a grant is never wider than the person meant. */
export function draftOf(input: unknown): Draft {
  const entries = typeof input === 'object' && input !== null && !Array.isArray(input) ? Object.entries(input) : [];
  const fields = entries.map(([name, value]) => ({
    name,
    value,
    isLimited: true,
    ...(isAmount(value) && { most: String(value) }),
  }));
  const [amount] = fields.filter(({ most }) => most !== undefined);
  const total = amount ? String(Math.ceil(Number(amount.most) * 5)) : '';
  return { fields, uses: '5', budgetField: amount?.name ?? '', total, days: '1', servesAll: false };
}

const DAY_MS = 86_400_000;

/** The limits that the draft says; undefined while one of its numbers is not a number. */
export function limitsOf({ fields, uses, budgetField, total, servesAll }: Draft): Limits | undefined {
  const limited = fields.filter(({ isLimited }) => isLimited);
  const where = limited.map(
    ({ name, value, most }): Condition =>
      most === undefined ? { field: name, equals: value } : { field: name, atLeast: 0, atMost: numberOf(most) },
  );
  const numbers = [...limited.flatMap(({ most }) => most ?? []), ...(budgetField === '' ? [] : [total])];
  const count = Number(uses);
  if (!Number.isInteger(count) || count < 1 || count > 1_000) return undefined;
  if (numbers.some((text) => !(numberOf(text) >= 0))) return undefined;
  return {
    where,
    uses: count,
    ...(budgetField !== '' && { budget: { field: budgetField, total: numberOf(total) } }),
    ...(servesAll && { serves: {} }),
  };
}

const numberOf = (text: string): number => (text.trim() === '' ? Number.NaN : Number(text));

export const requestOf = (limits: Limits, days: string, now: number): GrantRequest => ({
  ...limits,
  expiresAt: now + Number(days) * DAY_MS,
});
