// A process that asks, decides and tells people, until it is killed.
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Store } from '../../src/runs/port/store.ts';
import { changedStore } from '../changed-store.ts';
import { openStore, type Place } from '../crash/bank.ts';
import { randomOf } from '../random.ts';
import { openDesk, PEOPLE } from './desk.ts';

export type TellingOptions = {
  readonly place: Place;
  readonly url: string;
  readonly seed: number;
  /** The number of runs that it starts. */
  readonly runs: number;
  /** It kills itself at this step: before or after a write of the outbox, or a post. */
  readonly dieAt?: number;
};

const options: TellingOptions = JSON.parse(process.argv[2] ?? '{}');
const random = randomOf(options.seed);
let steps = 0;

function act(): void {
  steps += 1;
  if (steps === options.dieAt) process.kill(process.pid, 'SIGKILL');
}

const between =
  <Given extends readonly unknown[], Result>(work: (...given: Given) => Promise<Result>) =>
  async (...given: Given): Promise<Result> => {
    act();
    const result = await work(...given);
    act();
    return result;
  };

/** The same store, with a step before and after each write of the outbox. */
function watched(store: Store): Store {
  const { notes } = store;
  return changedStore(store, {
    takeUntold: between((limit, leaseMs) => store.takeUntold?.(limit, leaseMs) ?? Promise.resolve([])),
    told: between(async (id, news) => store.told?.(id, news)),
    notes: {
      get: (...given) => notes.get(...given),
      getMany: (...given) => notes.getMany(...given),
      list: (...given) => notes.list(...given),
      put: between((...given) => notes.put(...given)),
      remove: between((...given) => notes.remove(...given)),
    },
  });
}

const { clerk, runs } = openDesk({ store: watched(openStore(options.place)), url: options.url, act });
await runs.list({ limit: 1 });
const worker = runs.work({ pollMs: 20, onError: () => undefined });
// It exits with its parent.
process.stdin.on('end', () => process.exit()).resume();
process.on('SIGTERM', async () => {
  await worker.stop();
  process.exit();
});
process.stdout.write('ready\n');
await Promise.all([start(), decide()]);

async function start(): Promise<void> {
  for (let count = 0; count < options.runs; count += 1) {
    await clerk.start('Pay.', { runId: `run-${options.seed}-${count}-${randomBytes(3).toString('hex')}` });
    await delay(random() * 20);
  }
}

async function decide(): Promise<void> {
  for (;;) {
    const { items } = await runs.requests({ limit: 20 });
    const card = items[Math.floor(random() * items.length)];
    const by = PEOPLE[Math.floor(random() * PEOPLE.length)] ?? '';
    // Another process may have decided it.
    if (card) await runs.decide(card.id, 'reject', { by, digest: card.digest }).catch(() => undefined);
    await delay(5 + random() * 40);
  }
}
