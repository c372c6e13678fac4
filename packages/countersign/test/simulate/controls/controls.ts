// What some schedules have beside their calls and people: limits, calls that can be recalled or undone, or plans. Most have none of it, so that they stay as small as they are.
import type { Chance } from '../../../src/testing/simulate/chance.ts';
import type { Size } from '../plan.ts';
import { type Limited, limitedOf } from './limits.ts';

export type Controls = {
  readonly limited?: Limited;
  /** How long an approved call of `pledge` waits. */
  readonly recallMs?: number;
  /** Clients ask for the undo of what `give` did. */
  readonly undos?: true;
  /** Agents propose plans with steps of `spree`. */
  readonly plans?: true;
};

const KINDS = [
  { size: { tools: ['draw'], runs: 3, turns: 2 }, of: (chance: Chance): Controls => ({ limited: limitedOf(chance) }) },
  {
    size: { tools: ['pledge', 'pledge', 'pay'], runs: 2, turns: 2 },
    of: (chance: Chance): Controls => ({ recallMs: chance.pick([3_000, 10_000, 30_000]) }),
  },
  { size: { tools: ['give'], runs: 2, turns: 2 }, of: (): Controls => ({ undos: true }) },
  { size: { tools: ['spree'], runs: 2, turns: 1 }, of: (): Controls => ({ plans: true }) },
] as const;

/** How likely a schedule has each of them. */
const LIKELY = 0.06;

/** Its own chance: the schedules without controls stay the same. */
export function controlsOf(chance: Chance, plain: Size): { readonly much: Size; readonly controls: Controls } {
  const kind = KINDS[Math.floor(chance.between(0, 1) / LIKELY)];
  if (!kind) return { much: plain, controls: {} };
  return { much: { programs: 0, people: 0.3, ...kind.size }, controls: kind.of(chance) };
}
