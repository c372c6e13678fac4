// The same work with Countersign and without it, in turns in one process: a busy machine slows down both.
import { repeat } from './measure.mjs';
import { median } from './stats.mjs';

const SIDES = ['ours', 'bare'];

/** Medians over the turns. `pair.ours` and `pair.bare` do the work once. */
export async function beside(pair, env) {
  const { turns, ...slice } = env.warm
    ? { turns: 1, minCpuMs: 2500, maxWallMs: 15_000, maxIters: 1000 }
    : { turns: 6, minCpuMs: 100, maxWallMs: 3000 };
  const all = [];
  for (let turn = 0; turn < turns; turn++) {
    const took = {};
    for (const side of turn % 2 ? SIDES.toReversed() : SIDES) took[side] = await repeat(pair[side], slice);
    all.push(took);
  }
  const over = (of) => median(all.map(of));
  return {
    iters: all.reduce((sum, { ours }) => sum + ours.iters, 0),
    oursUs: over(({ ours }) => ours.cpuUs),
    bareUs: over(({ bare }) => bare.cpuUs),
    ratio: over(({ ours, bare }) => ours.cpuUs / bare.cpuUs),
    oursWallUs: over(({ ours }) => ours.wallUs),
    bareWallUs: over(({ bare }) => bare.wallUs),
  };
}

/** Of a case that measures so. */
export const BESIDE = {
  // Both sides are in one process, so there is one row.
  adapters: ['ours'],
  rounds: 3,
  primary: 'ratio',
  columns: [
    ['ours / bare', 'ratio'],
    ['ours, CPU µs', 'oursUs'],
    ['bare, CPU µs', 'bareUs'],
    ['ours, wall µs', 'oursWallUs'],
    ['bare, wall µs', 'bareWallUs'],
  ],
};
