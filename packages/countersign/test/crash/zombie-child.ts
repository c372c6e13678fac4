// A process that drives its runs until each has reached a given place, and stalls there until it receives a wake-up.
// Then it continues as if nothing had happened.
import { writeSync } from 'node:fs';
import { ConflictError } from '../../src/core/errors.ts';
import type { Store } from '../../src/runs/port/store.ts';
import { type BankPlace, decisionOn, Ledger, type Line, openBank, openStore, type Place } from './bank.ts';

/** In a tool or in the model, or right before or after a write. */
export type StallPlace =
  | BankPlace
  | `${'before' | 'after'} ${'model-replied' | 'call-started' | 'call-committed' | 'call-went-on' | 'call-settled'}`;

export type ZombieOptions = {
  readonly place: Place;
  readonly ledger: string;
  readonly leaseMs: number;
  readonly runs: readonly string[];
  readonly stallAt: StallPlace;
};

const options: ZombieOptions = JSON.parse(process.argv[2] ?? '{}');
const stalled = new Set<string>();
const { promise: woken, resolve: wake } = Promise.withResolvers<void>();
let isAnnounced = false;
/** Store calls without an answer yet. */
let open = 0;

// It exits with its parent.
process.stdin.on('end', () => process.exit()).on('data', () => wake());
const looking = setInterval(() => {
  if (isAnnounced || stalled.size < options.runs.length || open > 0) return;
  isAnnounced = true;
  writeSync(1, 'stalled\n');
}, 10);

/** The runs whose start is recorded. */
const started = new Map(options.runs.map((run) => [run, Promise.withResolvers<void>()]));

async function at(place: StallPlace, run: string): Promise<void> {
  // The model waits until the start is recorded separately.
  if (place === 'model') await started.get(run)?.promise;
  if (place !== options.stallAt || stalled.has(run)) return;
  stalled.add(run);
  await woken;
}

/** Sends nothing between the announcement and the wake-up: a process suspended in a SQLite write would block all others. */
async function send<T>(work: () => Promise<T>): Promise<T> {
  if (isAnnounced) await woken;
  open += 1;
  try {
    return await work();
  } finally {
    open -= 1;
  }
}

const real = openStore(options.place);
const store: Store = {
  append: async (append) => {
    const types = append.events.map(({ type }) => type);
    for (const type of types) await at(`before ${type}` as StallPlace, append.runId);
    const appended = await send(() => real.append(append));
    started.get(append.runId)?.resolve();
    for (const type of types) await at(`after ${type}` as StallPlace, append.runId);
    return appended;
  },
  read: (...args) => send(() => real.read(...args)),
  claim: (...args) => send(() => real.claim(...args)),
  renew: (...args) => send(() => real.renew(...args)),
  delete: (runId) => send(() => real.delete(runId)),
  release: (...args) => send(() => real.release(...args)),
  due: (limit, agents) => send(() => real.due(limit, agents)),
  listRuns: (query) => send(() => real.listRuns(query)),
  listRequests: (query) => send(() => real.listRequests(query)),
  request: (id) => send(() => real.request(id)),
  queue: () => send(() => real.queue()),
  countRuns: () => send(() => real.countRuns()),
  stats: (query) => send(() => real.stats(query)),
  notes: real.notes,
  now: () => send(() => real.now()),
  watch: (changed) => real.watch(changed),
  migrate: () => real.migrate(),
  close: () => real.close(),
};

const ledger = new Ledger<Line>(options.ledger);
const { runs, start } = openBank({ store, ledger, leaseMs: options.leaseMs, at });
await Promise.all(options.runs.map(start));
// A decision may stall before it is recorded, and another process may decide first. So each runs separately.
const decided = new Set<string>();
while (stalled.size < options.runs.length) {
  for (const card of (await runs.requests({ limit: 100 })).items) {
    if (!options.runs.includes(card.runId) || card.kind !== 'approval' || decided.has(card.id)) continue;
    decided.add(card.id);
    void runs.decide(card.id, decisionOn(card), { by: 'ann' }).catch((error: unknown) => {
      if (!(error instanceof ConflictError)) throw error;
    });
  }
  await new Promise((resolve) => setTimeout(resolve, 5));
}
await woken;
clearInterval(looking);
// Late results are recorded late, and this process may continue their runs.
for (let quiet = 0; quiet < 10; quiet = open > 0 ? 0 : quiet + 1) {
  await runs.settled();
  await new Promise((resolve) => setTimeout(resolve, 10));
}
writeSync(1, 'rested\n');
process.exit();
