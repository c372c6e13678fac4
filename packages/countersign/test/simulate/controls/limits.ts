// The tool `draw` under a limit.
import type { Rule } from '../../../src/index.ts';
import type { Chance } from '../../../src/testing/simulate/chance.ts';

/** The rule with the limit. `isGated`: each call of the tool asks in any case. */
export type Limited = {
  readonly then: 'ask' | 'deny' | 'freeze';
  readonly isGated: boolean;
  readonly calls?: number;
  readonly most?: number;
  readonly per: number;
  readonly each?: 'person';
};

export function limitedOf(chance: Chance): Limited {
  const then = chance.pick(['ask', 'deny', 'freeze'] as const);
  return {
    then,
    isGated: then !== 'ask' && chance.is(0.3),
    ...(chance.is(0.7) ? { calls: 1 + chance.below(2) } : { most: chance.pick([5, 900]) }),
    per: chance.pick([20_000, 600_000, 600_000]),
    ...(chance.is(0.2) && { each: 'person' }),
  };
}

export function ruleOf({ then, isGated: _own, most, ...limit }: Limited): Rule {
  return { tool: 'draw', then, limit: { ...limit, ...(most !== undefined && { sum: 'amount', most }) } } as Rule;
}
