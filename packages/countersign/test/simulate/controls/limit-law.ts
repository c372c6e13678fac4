// The law of limits: no more calls run than a limit allows.
import { exceeds } from '../../../src/core/authority/grants/grant-maximum.ts';
import type { Remains } from '../remains.ts';
import type { Counted } from './counts.ts';

/** How far the clocks may be apart that count. */
const CLOCK_MS = 1_000;

export function beyondLimit({
  controls: { limited },
  counts,
  records,
  world,
  acts,
  started,
}: Remains): readonly string[] {
  if (!limited) return [];
  const { then, calls = Number.POSITIVE_INFINITY, most, per, each } = limited;
  const problems: string[] = [];
  const tools = new Map(records.flatMap((run) => [...run.calls.values()].map(({ id, tool }) => [id, tool])));
  const effects = new Map(world.effects.flatMap((one) => (one.name === 'draw' ? [[one.key, one]] : [])));
  const byOf = ({ runId }: Counted) => started.find(({ id }) => id === runId)?.by;
  const drawn = [...counts.started].flatMap(([key, count]) => {
    const effect = effects.get(key);
    // A call of a run that was deleted may have another tool.
    if (!count && then !== 'freeze' && (effect || tools.get(key) === 'draw'))
      problems.push(`${key} started, and was not counted`);
    return count && effect ? [{ key, count, amount: (effect.input as { amount: number }).amount, at: effect.at }] : [];
  });
  for (const { key, count, amount, at } of drawn) {
    const isApproved = acts.said.some((one) => one.key === key && one.type === 'approve' && one.at <= at);
    if (then === 'ask' && isApproved) continue;
    const before = drawn.filter(
      (other) =>
        other.count.order < count.order &&
        other.count.epoch === count.epoch &&
        other.count.at > count.at - per + CLOCK_MS &&
        (each === undefined || byOf(other.count) === byOf(count)),
    );
    // Whoever lifts the freeze lets the first call pass, however much it is for.
    if (then === 'freeze' && count.epoch > 0 && before.length === 0) continue;
    const what = `${key} of ${amount} ran after ${before.map((other) => `${other.key} of ${other.amount}`).join(', ')}`;
    if (before.length >= calls) problems.push(`${what}, and the limit is ${calls}`);
    if (most !== undefined && exceeds([...before.map((other) => other.amount), amount], most))
      problems.push(`${what}, and the limit is ${most}`);
  }
  return problems;
}
