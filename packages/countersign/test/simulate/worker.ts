// A process that runs blocks of schedules and says what they found. `scripts/simulate.mjs` and the tests start it.
import { replaceGlobals } from '../../src/testing/simulate/globals.ts';
import { type Figures, runSchedule, type ScheduleResult } from './schedule.ts';
import { type Place, storesOf } from './stores.ts';

/** Schedules to run. With `untilFound`, a worker stops at the first one that finds something. */
export type Block = {
  readonly from: number;
  readonly count: number;
  readonly place?: Place;
  readonly trace?: number;
  readonly untilFound?: boolean;
};
export type Found = Pick<ScheduleResult, 'seed' | 'hash' | 'problems' | 'trace'>;
/** `hashes`: those of all schedules as one, which two runs of the same block share. */
export type BlockResult = {
  readonly from: number;
  readonly count: number;
  readonly figures: Figures;
  readonly hashes: string;
  readonly found: readonly Found[];
};

export async function runBlock({
  from,
  count,
  place = 'memory',
  trace = 60,
  untilFound = false,
}: Block): Promise<BlockResult> {
  const figures: Record<string, number> = {};
  const found: Found[] = [];
  let hashes = 0;
  for (let seed = from; seed < from + count && !(untilFound && found.length > 0); seed += 1) {
    const unhandled: string[] = [];
    const notice = (error: unknown) => unhandled.push(`unhandled rejection: ${(error as Error)?.stack ?? error}`);
    process.on('unhandledRejection', notice);
    const result = await runSchedule(seed, storesOf(place, seed));
    process.off('unhandledRejection', notice);
    for (const [name, value] of Object.entries(result.figures)) figures[name] = (figures[name] ?? 0) + value;
    hashes = (Math.imul(hashes, 31) + Number.parseInt(result.hash, 16)) >>> 0;
    const problems = [...result.problems, ...unhandled];
    if (problems.length > 0) found.push({ seed, hash: result.hash, problems, trace: result.trace.slice(-trace) });
  }
  return { from, count, figures: figures as Figures, hashes: hashes.toString(16).padStart(8, '0'), found };
}

if (process.send) {
  replaceGlobals();
  process.on('message', async (block: Block) => process.send?.(await runBlock(block)));
  process.on('disconnect', () => process.exit());
}
