// The options of `decide` that give a grant: how many calls, under which conditions, up to which sum, for how long.
import type { Command } from 'commander';
import type { GrantRequest, Json } from 'countersign';
import type { Condition } from 'countersign/request';
import { usageFailure } from '../failure.ts';
import { wholeNumber } from './options.ts';
import { parseAnswer } from './value.ts';

export type GrantOptions = {
  readonly allow?: number;
  readonly where?: readonly Condition[];
  readonly budget?: NonNullable<GrantRequest['budget']>;
  readonly for?: number;
};

const DAY_MS = 86_400_000;

export const withGrant = (command: Command): Command =>
  command
    .option('--allow <uses>', 'with --approve: also allow so many next calls of this tool', wholeNumber(1, 1_000))
    .option('--where <condition>', 'with --allow: such as to=ACME or "amount<=500"; repeat it for several', collect)
    .option('--budget <sum>', 'with --allow: the sum of a field over all calls, such as "amount<=2000"', budgetOf)
    .option('--for <time>', 'with --allow: how long, such as 12h or 7d (default: 1d)', durationOf);

/** The grant that the options ask for; undefined if they ask for none. */
export function grantOf({ allow: uses, where, budget, for: time = DAY_MS }: GrantOptions): GrantRequest | undefined {
  if (uses !== undefined)
    return { uses, expiresAt: Date.now() + time, ...(where && { where }), ...(budget && { budget }) };
  if (where || budget) throw usageFailure('--where and --budget work with --allow.', 'See: countersign decide --help');
  return undefined;
}

const OPERATORS = { '<=': 'atMost', '>=': 'atLeast', '<': 'below', '>': 'above', '=': 'equals' } as const;

function collect(text: string, before: readonly Condition[] = []): readonly Condition[] {
  return [...before, conditionOf(text)];
}

function conditionOf(text: string): Condition {
  const [, field = '', operator = '', value = ''] = /^([^<>=]+)(<=|>=|<|>|=)(.*)$/s.exec(text) ?? [];
  const limit = OPERATORS[operator as keyof typeof OPERATORS];
  if (limit === undefined) throw usageFailure(`Not a condition: ${text}. Write to=ACME or "amount<=500".`);
  const parsed = parseAnswer(`The value of ${field.trim()}`, value, null) as Json;
  if (limit !== 'equals' && typeof parsed !== 'number') throw usageFailure(`Not a number in ${text}: ${value}.`);
  const path = field.trim().split('.');
  return { field: path.length === 1 ? (path[0] ?? '') : path, [limit]: parsed };
}

function budgetOf(text: string): NonNullable<GrantRequest['budget']> {
  const { field, atMost } = conditionOf(text);
  if (atMost === undefined) throw usageFailure(`Not a budget: ${text}. Write "amount<=2000".`);
  return { field, total: atMost };
}

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: DAY_MS, w: 7 * DAY_MS };

export function durationOf(text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,6})([mhdw])$/.exec(text) ?? [];
  const size = UNITS[unit];
  if (size === undefined) throw usageFailure(`Not a time: ${text}. Write 30m, 12h, 7d or 2w.`);
  return Number(count) * size;
}
