// The law of plans: without a decision of its own, a call runs only as a step of an approved plan, and each step once.
import { isDeepStrictEqual } from 'node:util';
import type { SimulatedEffect } from '../../../src/testing/simulate/world.ts';
import type { Remains } from '../remains.ts';

/** An effect of `spree` that nobody approved on its own. */
export function unplanned({ acts, world }: Remains, effect: SimulatedEffect): string | undefined {
  const { key, input, at } = effect;
  const isOwn = (one: SimulatedEffect): boolean =>
    acts.said.some((said) => said.key === one.key && said.type === 'approve' && isDeepStrictEqual(said.input, input));
  const isPlanned = acts.said.some(({ card, type, input: plan, at: saidAt }) => {
    const { steps = [] } = plan as { readonly steps?: readonly { readonly input: unknown }[] };
    const isApproved = card.tool === 'plan' && type === 'approve' && saidAt <= at;
    return isApproved && steps.some((step) => isDeepStrictEqual(step.input, input));
  });
  const what = `spree ${key} of ${JSON.stringify(input)}`;
  if (!isPlanned) return `${what}: no approved plan has it`;
  const same = world.effects.filter(
    (one) => one.name === 'spree' && isDeepStrictEqual(one.input, input) && !isOwn(one),
  );
  return same.length > 1 ? `${what}: its step ran ${same.length} times` : undefined;
}
