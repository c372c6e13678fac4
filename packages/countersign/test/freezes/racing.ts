// Races starts against freezes: many processes start calls while freezes come and go.
import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import type { Store } from 'countersign';
import { expect } from 'vitest';
import { isFullCampaign } from '../campaign-size.ts';
import { openBank } from './kit.ts';

/** When an append with a start was sent, and when it was answered. */
type Append = { readonly from: number; readonly to: number };

/**
 * `lanes`: how many calls are under way at the same moment. `between`: how many run between two freezes. `lagMs`: how long the lists
 * of the store may lag, in which a lift finds the frozen calls.
 */
type Size = { readonly starts: number; readonly lanes: number; readonly between: number; readonly lagMs?: number };

/**
 * Makes so many calls start, and fails if a start that was sent after a freeze had returned was recorded before the freeze was
 * lifted, or if a call ran twice or never. Each store counts as a process of its own.
 */
export async function raceStartsAgainstFreezes(
  stores: readonly Store[],
  { starts: count, lanes: width, between, lagMs = 0 }: Size,
): Promise<void> {
  const started: Append[] = [];
  const frozen = new Set<string>();
  const banks = stores.map((store) =>
    openBank(watched(store, started, frozen), { rules: [{ tool: 'look', then: 'allow' }] }),
  );
  const ran: string[] = [];
  let [left, finished] = [count, 0];
  const lanes = Array.from({ length: width }, async (_, lane) => {
    const { ai, look } = banks[lane % banks.length] as (typeof banks)[number];
    const gate = ai.gate(look);
    while (left > 0) {
      left -= 1;
      const key = `call-${left}`;
      const body = async () => {
        ran.push(key);
        // Otherwise all calls of a store in memory run before anything else does.
        await setImmediate();
      };
      expect((await gate.run({ key }, { key, by: 'ann', run: body })).status).toBe('done');
      finished += 1;
    }
  });
  // From when a freeze has returned until it is lifted, no start may be recorded.
  const closed: Append[] = [];
  // With fewer calls left than lanes, not every lane would try another one.
  for (let round = 0; left > width; round += 1) {
    const { freezes } = (banks[round % banks.length] as (typeof banks)[number]).ai;
    const match = round % 2 === 0 ? { tools: ['look'] } : {};
    const { id } = await freezes.freeze({ ...match, reason: 'Stop.' }, { by: 'eve' });
    const from = performance.now();
    await expect.poll(() => frozen.size, { interval: 1, timeout: 120_000 }).toBe(width);
    await delay(lagMs);
    closed.push({ from, to: performance.now() });
    await freezes.lift(id, { by: 'eve' });
    for (const next = finished + between; left > 0 && finished < next; ) await delay(1);
  }
  await Promise.all(lanes);
  expect(closed.length).toBeGreaterThan(1);
  expect(started.filter(({ from, to }) => closed.some((one) => from > one.from && to < one.to))).toEqual([]);
  expect([ran.length, new Set(ran).size]).toEqual([count, count]);
  if (isFullCampaign) console.log({ starts: started.length, freezes: closed.length });
}

/** Notes the appends that record a start, and the runs whose call is frozen now. */
function watched(store: Store, started: Append[], frozen: Set<string>): Store {
  const append: Store['append'] = async (given) => {
    const from = performance.now();
    const answer = await store.append(given);
    for (const { type } of given.events) {
      if (type === 'call-frozen') frozen.add(given.runId);
      if (type === 'call-started') {
        started.push({ from, to: performance.now() });
        frozen.delete(given.runId);
      }
    }
    return answer;
  };
  return new Proxy(store, {
    get(target, name) {
      const value = name === 'append' ? append : Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
