// The laws of recalls: an approved call waits before it starts, and one that a person recalled never does.
import { keyOf } from '../../../src/testing/simulate/records.ts';
import { BEGIN } from '../../../src/testing/simulate/timeline.ts';
import type { Remains } from '../remains.ts';

/** How far the time of the store may be off, as a process knows it. */
const CLOCK_MS = 1_500;

export function recalledAndRan({ acts, world }: Remains): readonly string[] {
  return acts.said.flatMap((one) => {
    if (one.card.kind !== 'recall' || one.answer?.status !== 'settled') return [];
    const effect = world.effects.find(({ key }) => key === one.key);
    return effect ? [`${one.person} recalled ${one.card.id}, and ${effect.name} happened`] : [];
  });
}

export function ranTooEarly({ acts, world, records, controls: { recallMs } }: Remains): readonly string[] {
  if (recallMs === undefined) return [];
  const waits = records.flatMap(({ requests }) => requests.filter(({ kind }) => kind === 'recall'));
  return world.effects.flatMap(({ name, key, at }) => {
    if (name !== 'pledge') return [];
    const approved = acts.said.filter((one) => one.key === key && one.type === 'approve').map((one) => one.at);
    const ends = waits.flatMap((wait) => (keyOf(wait) === key ? [(wait.expiresAt ?? 0) - BEGIN] : []));
    const earliest = Math.max(Math.min(...approved) + recallMs, ...ends) - CLOCK_MS;
    return at < earliest ? [`${name} ${key} happened at ${at}, and could be recalled until ${earliest}`] : [];
  });
}
