// A process of ratchet.mjs: counts what each program costs per round trip, and sends the numbers to its parent.
//   bytes       allocated on the heap
//   calls       of our functions
//   hashes      of any kind
//   statements  of SQL, with BEGIN and COMMIT
//   written     bytes in the log of the database
//   events      in the record of a run
import { setImmediate as turn } from 'node:timers/promises';
import { getHeapStatistics } from 'node:v8';
import { counted } from './counted.mjs';
import { callsDuring } from './coverage.mjs';
import { programs } from './programs.mjs';
import { isOurs } from './sources.mjs';

/** The steady clock goes with the round trips: what happens once in a while happens as often on a slow machine. */
const ROUND_MS = 1;
let steadyMs = performance.now();
performance.now = () => steadyMs;

/** Work beside the round trips, such as a renewal or a look for due runs, only ever adds: the least counts. */
const TIMES = 5;

const costs = {};
for (const [name, open] of Object.entries(programs)) costs[name] = await costsOf(await open());
process.send(costs, () => process.exit());

async function costsOf({ rounds, per = 1, once, events, written, close }) {
  const repeat = async () => {
    for (let round = 0; round < rounds; round += 1) {
      await once();
      steadyMs += ROUND_MS;
    }
  };
  const each = (total) => total / rounds / per;
  // Code, caches and prepared statements are made in the first rounds.
  await repeat();
  const all = [];
  for (let time = 0; time < TIMES; time += 1) {
    globalThis.gc();
    await turn();
    const heapBefore = usedHeap();
    await repeat();
    const bytes = each(usedHeap() - heapBefore);
    await written?.start();
    const before = { ...counted };
    const { calls } = await callsDuring(repeat, isOurs);
    all.push({
      bytes,
      calls: each(calls),
      hashes: each(counted.hashes - before.hashes),
      statements: each(counted.statements - before.statements),
      ...(written && { written: each(await written.end()) }),
      ...(events && { events: await events() }),
    });
  }
  await close?.();
  const least = (what) => Math.min(...all.map((cost) => cost[what]));
  return Object.fromEntries(Object.keys(all[0]).map((what) => [what, least(what)]));
}

function usedHeap() {
  return getHeapStatistics().used_heap_size;
}
