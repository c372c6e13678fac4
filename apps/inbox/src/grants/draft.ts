// The grant that a person is about to give, made from the arguments at hand.
import type { Json } from 'countersign';
import { lineOf } from 'countersign/request';
import type { Card } from '../api/wire.ts';
import { type Condition, type GrantRequest, type Limits, shown } from './wire.ts';

/** One field of the input: whether it is limited, and up to which number. */
export type DraftField = {
  readonly name: string;
  readonly label: string;
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
  readonly agent: string;
  /** Also runs of this agent that other people started. */
  readonly servesAll: boolean;
};

const isAmount = (value: unknown): value is number => typeof value === 'number' && value >= 0;

/** Every field is limited at first, so that a grant is never wider than the person meant. */
export function draftOf(input: unknown, agent: string, schema?: Card['inputSchema']): Draft {
  const labels = new Map(
    lineOf((input ?? null) as Json, schema)
      .inside()
      .map(({ name, label }) => [name, label]),
  );
  const entries = typeof input === 'object' && input !== null && !Array.isArray(input) ? Object.entries(input) : [];
  const fields = entries.map(([name, value]) => ({
    name,
    label: labels.get(name) ?? name,
    value,
    isLimited: true,
    ...(isAmount(value) && { most: String(value) }),
  }));
  const [amount] = fields.filter(({ most }) => most !== undefined);
  const total = amount ? String(Math.ceil(Number(amount.most) * 5)) : '';
  return { fields, uses: '5', budgetField: amount?.name ?? '', total, days: '1', agent, servesAll: false };
}

const DAY_MS = 86_400_000;

/** The limits that the draft says; undefined while one of its numbers is not a number. */
export function limitsOf({ fields, uses, budgetField, total, agent, servesAll }: Draft): Limits | undefined {
  const limited = fields.filter(({ isLimited }) => isLimited);
  const where = limited.map(
    ({ name, value, most }): Condition =>
      most === undefined ? { field: name, equals: value as Json } : { field: name, atLeast: 0, atMost: numberOf(most) },
  );
  const numbers = [...limited.flatMap(({ most }) => most ?? []), ...(budgetField === '' ? [] : [total])];
  const count = Number(uses);
  if (!Number.isInteger(count) || count < 1 || count > 1_000) return undefined;
  if (numbers.some((text) => !(numberOf(text) >= 0))) return undefined;
  return {
    where,
    uses: count,
    ...(budgetField !== '' && { budget: { field: budgetField, total: numberOf(total) } }),
    ...(servesAll && { serves: { agents: [agent] } }),
  };
}

/**
 * The draft with the limits that the past suggests, wide enough for the call at hand; undefined if they are about other calls. Whom
 * the grant serves stays as the person said.
 */
export function suggestedDraft(draft: Draft, { where = [], uses, budget }: Limits): Draft | undefined {
  const conditions = new Map(where.map((condition) => [[condition.field].flat().join('.'), condition]));
  const names = new Set(draft.fields.map(({ name }) => name));
  if ([...conditions.keys()].some((name) => !names.has(name))) return undefined;
  const fields = draft.fields.map((field): DraftField | undefined => {
    const condition = conditions.get(field.name);
    if (!condition) return { ...field, isLimited: false };
    const { atMost, equals } = condition;
    if (atMost !== undefined)
      return isAmount(field.value)
        ? { ...field, isLimited: true, most: String(Math.max(atMost, field.value)) }
        : undefined;
    return shown(equals) === shown(field.value) ? { ...field, isLimited: true } : undefined;
  });
  if (!fields.every((field) => field !== undefined)) return undefined;
  const budgetField = budget ? [budget.field].flat().join('.') : '';
  const amount = fields.find(({ name }) => name === budgetField)?.value;
  const total = budget ? String(Math.max(budget.total, isAmount(amount) ? amount : 0)) : '';
  return { ...draft, fields, uses: String(uses), budgetField, total, days: SUGGESTED_DAYS };
}

/** “to: Northwind, amount: at most 600; 3 calls, 1500 in all, for 7 days” */
export function draftText({ fields, uses, budgetField, total, days }: Draft): string {
  const limits = fields
    .filter(({ isLimited }) => isLimited)
    .map(({ label, value, most }) => `${label}: ${most === undefined ? shown(value).slice(0, 80) : `at most ${most}`}`);
  const budget = fields.find(({ name }) => name === budgetField)?.label ?? budgetField;
  const sum = budgetField === '' ? '' : `, ${budget} ${total} in all`;
  const calls = `${uses} ${uses === '1' ? 'call' : 'calls'}${sum}, for ${days} ${days === '1' ? 'day' : 'days'}`;
  return `${limits.length > 0 ? limits.join(', ') : 'any input'}; ${calls}`;
}

/** As long as the server suggests. */
const SUGGESTED_DAYS = '7';

const numberOf = (text: string): number => (text.trim() === '' ? Number.NaN : Number(text));

export const requestOf = (limits: Limits, days: string, now: number): GrantRequest => ({
  ...limits,
  expiresAt: now + Number(days) * DAY_MS,
});
