// What an agent does that proposes a plan: some of its steps, one of them twice, and a call that is not in it.
import type { Chance } from '../../../src/testing/simulate/chance.ts';
import type { Plan } from '../plan.ts';

export function planningOf(chance: Chance, amountOf: () => number): Plan {
  const steps = Array.from({ length: 1 + chance.below(3) }, () => ({ tool: 'spree', input: { amount: amountOf() } }));
  const calls = [...steps, chance.pick(steps), { input: { amount: amountOf() } }];
  const made = calls.filter(() => chance.is(0.8)).map(({ input }) => ({ name: 'spree', input: { ...input } }));
  return [[{ name: 'plan', input: { steps } }], ...(made.length > 0 ? [made] : [])];
}
