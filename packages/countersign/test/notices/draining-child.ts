// A process that drains the outbox, and reports its pace and its memory.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { openStore, type Place } from '../crash/bank.ts';
import { openDesk } from './desk.ts';

export type DrainingOptions = { readonly place: Place; readonly url: string; readonly notices: number };

/** In megabytes. `heap`: after a garbage collection. */
export type Memory = { readonly rss: number; readonly heap: number };

export type Drained = {
  readonly seconds: number;
  readonly perSecond: number;
  /** After a tenth of the notices, half of them, and all. */
  readonly memory: readonly Memory[];
};

const options: DrainingOptions = JSON.parse(process.argv[2] ?? '{}');
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const memory: Memory[] = [];
const looks = [0.1, 0.5, 1].map((share) => Math.floor(share * options.notices));
const { promise: drained, resolve } = Promise.withResolvers<void>();
let posts = 0;

function look(): void {
  collect();
  const { rss, heapUsed } = process.memoryUsage();
  memory.push({ rss: Math.round(rss / 1e6), heap: Math.round(heapUsed / 1e6) });
}

// Each notice calls it twice.
const { runs } = openDesk({
  store: openStore(options.place),
  url: options.url,
  act() {
    posts += 0.5;
    if (looks.includes(posts)) look();
    if (posts === options.notices) resolve();
  },
});
await runs.list({ limit: 1 });
const startedAt = performance.now();
const worker = runs.work({ pollMs: 50 });
await drained;
const seconds = (performance.now() - startedAt) / 1_000;
await worker.stop();
const report: Drained = { seconds: Math.round(seconds), perSecond: Math.round(options.notices / seconds), memory };
process.stdout.write(`${JSON.stringify(report)}\n`);
process.exit();
