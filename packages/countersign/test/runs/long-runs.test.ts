// A long run is read page by page and verified in turns, so that the process serves other requests meanwhile.
import { countersign, memoryStore } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import type { LoadedRun, ReadOptions, Store, StoredEvent } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { afterAll, expect, test } from 'vitest';
import { event } from '../../src/core/run/event.ts';
import { chainStart, linkAll } from '../../src/runs/port/chain.ts';
import { MOST_PAGE_EVENTS } from '../../src/runs/port/page.ts';
import { readRun } from '../../src/runs/port/read-run.ts';
import { trustedState } from '../../src/runs/requests/view.ts';
import { changedStore } from '../changed-store.ts';
import { temporaryFolder } from '../stores/folder.ts';

const CREATE = { id: 'run', agent: 'clerk', startedBy: null };
const folder = temporaryFolder();
afterAll(() => folder.remove());

/** Appends so many messages of so many characters, a hundred at a time. */
async function fill(store: Store, count: number, length: number): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = [];
  let hash = chainStart(CREATE);
  while (events.length < count) {
    const added = Array.from({ length: Math.min(100, count - events.length) }, (_, index) => said(index, length));
    hash = linkAll(hash, added);
    const create = events.length === 0 ? { create: CREATE } : {};
    const rest = { status: 'done', wakeAt: null, outcome: null, opened: [], settled: [] } as const;
    await store.append({ runId: 'run', expectedVersion: events.length, ...create, events: added, hash, ...rest });
    events.push(...added);
  }
  return events;
}

function said(index: number, length: number): StoredEvent {
  const text = `${index} ${'x'.repeat(length)}`;
  return { ...event({ type: 'user-spoke', messages: [{ role: 'user', content: [{ text }] }] }), at: 1 };
}

/** The store, with a list of its reads. `before` is called before each. */
function spied(store: Store, before: (count: number) => Promise<unknown> = async () => undefined) {
  const reads: ReadOptions[] = [];
  const read = async (runId: string, options: ReadOptions = {}): Promise<LoadedRun | undefined> => {
    reads.push(options);
    await before(reads.length);
    return store.read(runId, options);
  };
  return { reads, store: changedStore(store, { read }) };
}

/** How often other work of this process gets its turn while `work` runs. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const ticking = (async () => {
    for (; !isOver; turns++) await new Promise(setImmediate);
  })();
  await work().finally(() => (isOver = true));
  await ticking;
  return turns;
}

test.for([
  ['memory', () => memoryStore()],
  ['SQLite', () => sqliteStore(`${folder.path}/runs.db`)],
] as const)(
  'other work gets its turn after each page while 8 MB are read and verified: %s',
  { timeout: 60_000 },
  async ([, open]) => {
    const spy = spied(open());
    await fill(spy.store, 40_000, 100);
    const { runs } = countersign({ model: scriptedModel([]), store: spy.store });
    const verify = async () => expect(await runs.verify('run')).toEqual({ ok: true, events: 40_000, problem: null });
    const turns = await turnsDuring(verify);
    expect(spy.reads.length).toBeGreaterThan(8);
    expect(turns).toBeGreaterThanOrEqual(spy.reads.length);
    await spy.store.close();
  },
);

test('a long run is read in pages', async () => {
  const spy = spied(memoryStore());
  const events = await fill(spy.store, 2 * MOST_PAGE_EVENTS + 1, 10);
  expect((await readRun(spy.store, 'run'))?.events).toEqual(events);
  expect(spy.reads).toEqual([{ after: 0 }, { after: MOST_PAGE_EVENTS }, { after: 2 * MOST_PAGE_EVENTS }]);
});

test('a few large events are read in pages', async () => {
  const spy = spied(memoryStore());
  const events = await fill(spy.store, 4, 1_000_000);
  expect((await readRun(spy.store, 'run', 1))?.events).toEqual(events.slice(1));
  expect(spy.reads).toEqual([{ after: 1 }, { after: 2 }, { after: 3 }]);
});

test('a short run is read in one call', async () => {
  const spy = spied(memoryStore());
  const events = await fill(spy.store, 100, 1_000);
  expect((await readRun(spy.store, 'run'))?.events).toEqual(events);
  expect(spy.reads).toHaveLength(1);
});

test('events that are appended between two pages are left out', async () => {
  const store = memoryStore();
  const spy = spied(store, async (count) => {
    if (count > 1) await append();
  });
  const events = await fill(store, MOST_PAGE_EVENTS + 1, 10);
  const append = async () => {
    const loaded = await readRun(store, 'run');
    if (!loaded) throw new Error('The run is gone.');
    const { version, hash } = loaded.run;
    const added = [said(version, 10)];
    const rest = { status: 'done', wakeAt: null, outcome: null, opened: [], settled: [] } as const;
    await store.append({ runId: 'run', expectedVersion: version, events: added, hash: linkAll(hash, added), ...rest });
  };
  const loaded = await readRun(spy.store, 'run');
  expect(loaded?.events).toEqual(events);
  expect(loaded?.run.version).toBe(events.length);
  expect((await store.read('run'))?.run.version).toBe(events.length + 1);
  // Throws if the events do not belong to the record.
  if (loaded) await trustedState(loaded);
});

test('a run that is deleted between two pages is gone', async () => {
  const store = memoryStore();
  const spy = spied(store, async (count) => count > 1 && store.delete('run'));
  await fill(store, MOST_PAGE_EVENTS + 1, 10);
  expect(await readRun(spy.store, 'run')).toBeUndefined();
});

test('missing events at the end of a long run are reported', async () => {
  const store = memoryStore();
  await fill(store, MOST_PAGE_EVENTS + 1, 10);
  const read = async (runId: string, options: ReadOptions = {}) => {
    const loaded = await store.read(runId, options);
    return loaded && { ...loaded, events: loaded.events.slice(0, Math.max(0, 5_000 - (options.after ?? 0))) };
  };
  const { runs } = countersign({ model: scriptedModel([]), store: changedStore(store, { read }) });
  expect((await runs.verify('run')).problem).toContain('has 5000 events, and its record says 5001');
  await expect(runs.follow('run', { after: 10 }).next()).rejects.toMatchObject({ code: 'tampered-run' });
});
