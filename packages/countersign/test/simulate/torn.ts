// A SQLite file on a computer that loses power in the middle of a commit: the end of the log is cut off, or filled with anything.
import { copyFileSync, existsSync, mkdirSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ProviderError } from '../../src/core/errors.ts';
import type { Notes } from '../../src/runs/port/notes.ts';
import type { Store } from '../../src/runs/port/store.ts';
import type { Chance } from '../../src/testing/simulate/chance.ts';

/** `torn`: how often the power failed. */
export type TornStore = Store & { readonly torn: () => number };

type Options = {
  readonly folder: string;
  readonly open: (path: string) => Store;
  readonly chance: Chance;
  /** How often a write is the last one before the power fails. */
  readonly fails: () => number;
};

/** What was acknowledged is on the disk. Of the write that the failure interrupts, some bytes are: it must not count. */
export function tornStore({ folder, open, chance, fails }: Options): TornStore {
  let torn = 0;
  let failing: Promise<unknown> | undefined;
  let underWay = 0;
  const listeners = new Map<(runId: string) => void, () => void>();
  const path = () => join(folder, String(torn), 'runs.db');
  const begin = (): Store => {
    mkdirSync(join(folder, String(torn)), { recursive: true });
    return open(path());
  };
  let store = begin();

  async function read<T>(work: () => Promise<T>): Promise<T> {
    while (failing) await failing.catch(() => undefined);
    underWay += 1;
    return work().finally(() => {
      underWay -= 1;
    });
  }

  async function write<T>(work: () => Promise<T>): Promise<T> {
    // Only a write that is alone: others in its commit would be torn with it.
    if (failing || underWay > 0 || !chance.is(fails())) return read(work);
    const doing = interrupted(work);
    failing = doing;
    return doing.finally(() => {
      failing = undefined;
    });
  }

  async function interrupted<T>(work: () => Promise<T>): Promise<T> {
    const before = sizeOf(`${path()}-wal`);
    const done = await work();
    const after = sizeOf(`${path()}-wal`);
    if (after <= before) return done;
    const [old, from] = [store, path()];
    torn += 1;
    mkdirSync(join(folder, String(torn)));
    copyFileSync(from, path());
    copyFileSync(`${from}-wal`, `${path()}-wal`);
    const cut = before + chance.below(after - before);
    truncateSync(`${path()}-wal`, cut);
    if (chance.is(0.3)) writeFileSync(`${path()}-wal`, bytes(chance, after - cut), { flag: 'a' });
    store = begin();
    for (const [changed] of listeners) listeners.set(changed, store.watch(changed));
    await old.close();
    throw new ProviderError('store-failed', {}, 'The simulated power has failed.', { retryable: true });
  }

  const notes: Notes = {
    get: (...args) => read(() => store.notes.get(...args)),
    put: (...args) => write(() => store.notes.put(...args)),
    remove: (...args) => write(() => store.notes.remove(...args)),
    getMany: (...args) => read(() => store.notes.getMany(...args)),
    list: (...args) => read(() => store.notes.list(...args)),
  };
  return {
    torn: () => torn,
    notes,
    append: (append) => write(() => store.append(append)),
    read: (...args) => read(() => store.read(...args)),
    delete: (runId) => write(() => store.delete(runId)),
    claim: (...args) => write(() => store.claim(...args)),
    renew: (...args) => write(() => store.renew(...args)),
    release: (...args) => write(() => store.release(...args)),
    due: (...args) => read(() => store.due(...args)),
    queue: () => read(() => store.queue()),
    takeUntold: (limit, leaseMs) => write(() => store.takeUntold?.(limit, leaseMs) ?? Promise.resolve([])),
    told: (requestId, news) => write(() => store.told?.(requestId, news) ?? Promise.resolve()),
    listRuns: (query) => read(() => store.listRuns(query)),
    listRequests: (query) => read(() => store.listRequests(query)),
    request: (id) => read(() => store.request(id)),
    countRuns: () => read(() => store.countRuns()),
    stats: (query) => read(() => store.stats(query)),
    now: () => store.now(),
    watch: (changed) => {
      listeners.set(changed, store.watch(changed));
      return () => {
        listeners.get(changed)?.();
        listeners.delete(changed);
      };
    },
    migrate: () => store.migrate(),
    close: () => store.close(),
  };
}

const sizeOf = (path: string): number => (existsSync(path) ? statSync(path).size : 0);

function bytes(chance: Chance, length: number): Uint8Array {
  const made = new Uint8Array(length);
  chance.fill(made);
  return made;
}
