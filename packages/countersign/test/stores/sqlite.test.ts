// The SQLite store fulfils the store contract, on a file and in memory.
import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { sqliteStore } from 'countersign/sqlite';
import { storeContract } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { MIGRATIONS, migrateSqlite } from '../../src/stores/sqlite/schema.ts';
import { addition, creation, request } from '../../src/testing/store-contract/check.ts';
import { temporaryFolder } from './folder.ts';

describe('sqliteStore on a file', () => {
  storeContract(
    async () => {
      const folder = temporaryFolder();
      let time = 1_800_000_000_000;
      const open = () => sqliteStore({ path: `${folder.path}/runs.db`, now: () => time });
      const stores = [open()] as const;
      const others: ReturnType<typeof open>[] = [];
      return {
        store: stores[0],
        another: async () => {
          const store = open();
          others.push(store);
          return store;
        },
        advance: (ms) => {
          time += ms;
        },
        close: async () => {
          await Promise.all([...stores, ...others].map((store) => store.close()));
          folder.remove();
        },
      };
    },
    { describe, test },
  );
});

describe('sqliteStore in memory', () => {
  storeContract(
    async () => {
      let time = 1_800_000_000_000;
      const store = sqliteStore({ path: ':memory:', now: () => time });
      const advance = (ms: number): void => {
        time += ms;
      };
      return { store, advance, close: () => store.close() };
    },
    { describe, test },
  );
});

test('a vacuumed file has no trace of a deleted run except its id', async () => {
  const folder = temporaryFolder();
  const path = `${folder.path}/runs.db`;
  const store = sqliteStore(path);
  for (const id of ['other', 'one', 'last'])
    await store.append(creation(id, { opened: [request(`${id}?`, id, { tool: id === 'one' ? 'xylophone' : 'pay' })] }));
  await store.append(addition('one', 1, { status: 'done', settled: [{ id: 'one?', settlement: {} }] }));
  expect(await store.delete('one')).toBe(true);
  await store.close();
  const file = new DatabaseSync(path);
  file.exec('VACUUM');
  file.close();
  expect(readFileSync(path, 'latin1')).not.toContain('ylophon');
  folder.remove();
});

/** A file as the version with so many migrations left it, with a pending request of a run that ann started. */
function fileOfVersion(version: number, path: string): void {
  const database = new DatabaseSync(path);
  migrateSqlite(database, path, 0, MIGRATIONS.slice(0, version));
  database.exec(`
    INSERT INTO countersign_run (seq, id, agent, started_by, created_at, status, version, hash, updated_at, outcome)
      VALUES (1, 'run', 'agent', 'ann', 1, 'waiting', 1, 'hash', 1, 'null');
    INSERT INTO countersign_event (run_seq, version, events) VALUES (1, 1, '[{"v":1,"type":"run-went-on","at":1}]');
    INSERT INTO countersign_request (id, run_id, started_by, agent, tool, kind, created_at, deciders, digest, card) VALUES
      ('question', 'run', 'ann', 'agent', 'pay', 'approval', 1, '["*","s:ann"]', 'digest', '{}'),
      ('of ben', 'run', 'ann', 'agent', 'pay', 'approval', 2, '["p:ben","s:ann"]', 'digest', '{}');
  `);
  database.close();
}

test.each([1, 2, 3])('a file of version %i is migrated, and keeps its runs and requests', async (version) => {
  const folder = temporaryFolder();
  const path = `${folder.path}/runs.db`;
  fileOfVersion(version, path);
  const store = sqliteStore(path);
  expect(await store.read('run')).toMatchObject({ run: { version: 1 }, events: [{ type: 'run-went-on' }] });
  expect(await store.request('question')).toMatchObject({ progress: null, settledAt: null, deciders: null });
  expect(await store.request('of ben')).toMatchObject({ deciders: { people: ['ben'], roles: [] } });
  expect(await store.takeUntold?.(5, 1_000)).toEqual([]);
  expect((await store.stats({ since: 0 })).waiting).toBe(2);
  const seenBy = async (person: string, settled: boolean, startedBy?: string) => {
    const deciders = { people: [person], roles: [], ...(startedBy && { startedBy }) };
    return (await store.listRequests({ settled, deciders, limit: 5 })).items.map(({ id }) => id);
  };
  expect(await seenBy('eve', false)).toEqual(['question']);
  expect(await seenBy('ben', false)).toEqual(['question', 'of ben']);
  expect(await seenBy('ann', false, 'ann')).toEqual(['question', 'of ben']);
  await store.append(addition('run', 1, { progressed: [{ id: 'question', progress: { votes: 1 } }] }));
  expect(await store.request('question')).toMatchObject({ progress: { votes: 1 } });
  expect(await store.takeUntold?.(5, 1_000)).toMatchObject([{ request: { id: 'question' }, news: 1 }]);
  const settled = ['question', 'of ben'].map((id) => ({ id, settlement: { withdrawn: true, at: 1 } }));
  await store.append(addition('run', 2, { settled }));
  expect((await store.stats({ since: 0 })).waiting).toBe(0);
  expect(await seenBy('ben', false)).toEqual([]);
  expect(await seenBy('eve', true)).toEqual(['question']);
  expect(await seenBy('ann', true, 'ann')).toEqual(['question', 'of ben']);
  await store.close();
  folder.remove();
});

test('a filter that few requests pass is answered in stretches, so that other work has its turn', async () => {
  const store = sqliteStore({ path: ':memory:' });
  const rare = new Set([0, 2_500, 2_501, 4_999]);
  const opened = Array.from({ length: 5_000 }, (_, index) =>
    request(`i${index}`, 'run', { createdAt: index, tool: rare.has(index) ? 'rare' : 'common' }),
  );
  await store.append(creation('run', { status: 'waiting', opened }));
  const found = async (order: 'newest' | 'oldest', limit: number) => {
    const all: string[] = [];
    for (let after: string | null | undefined; after !== null; ) {
      const page = await store.listRequests({ tool: 'rare', order, limit, ...(after && { after }) });
      for (const { id } of page.items) all.push(id);
      after = page.cursor;
    }
    return all;
  };
  for (const limit of [1, 2, 3, 4, 9]) {
    expect(await found('oldest', limit)).toEqual(['i0', 'i2500', 'i2501', 'i4999']);
    expect(await found('newest', limit)).toEqual(['i4999', 'i2501', 'i2500', 'i0']);
  }
  let isDone = false;
  const listing = store.listRequests({ tool: 'none', search: 'a b c', limit: 9 }).then(({ items }) => {
    isDone = true;
    return items;
  });
  let turns = 0;
  for (; !isDone; turns += 1) await new Promise(setImmediate);
  expect(await listing).toEqual([]);
  // 500 rows at once, with three words.
  expect(turns).toBeGreaterThanOrEqual(9);
  await store.close();
});

test('runs and requests are counted in stretches, so that other work has its turn', async () => {
  const store = sqliteStore({ path: ':memory:', now: () => 100_000 });
  const tools = ['pay', 'ask', 'mail'] as const;
  // The times to decide are 0 to 5,999 ms in an order of no meaning.
  const opened = Array.from({ length: 6_000 }, (_, index) =>
    request(`i${index}`, 'run', { createdAt: 100_000 - ((index * 7) % 6_000), tool: tools[index % 3] ?? '' }),
  );
  const waiting = opened.map(({ id, createdAt }) => request(`waiting-${id}`, 'run', { createdAt }));
  await store.append(creation('run', { status: 'waiting', opened: [...opened, ...waiting] }));
  const settlement = { decision: { type: 'approve' } };
  await store.append(addition('run', 1, { settled: opened.map(({ id }) => ({ id, settlement })) }));
  for (let index = 0; index < 4_001; index += 1) await store.append(creation(`run-${index}`, { status: 'done' }));
  const turnsOf = async (counting: Promise<unknown>) => {
    let isDone = false;
    const done = counting.then(() => {
      isDone = true;
    });
    let turns = 0;
    for (; !isDone; turns += 1) await new Promise(setImmediate);
    await done;
    return turns;
  };
  expect(await turnsOf(store.countRuns())).toBeGreaterThanOrEqual(3);
  expect(await store.countRuns()).toMatchObject({ running: 1, done: 4_001 });
  // The settled requests alone: how many are pending is kept.
  expect(await turnsOf(store.stats({ since: 0 }))).toBeGreaterThanOrEqual(3);
  const { medianMs, p95Ms, decided, waiting: pending, oldestWaitingAt, ...stats } = await store.stats({ since: 0 });
  expect({ medianMs, p95Ms, decided, pending, oldestWaitingAt }).toEqual({
    ...{ medianMs: 2_999, p95Ms: 5_699, decided: 6_000, pending: 6_000, oldestWaitingAt: 94_001 },
  });
  const counted = Object.fromEntries(stats.tools.map((tool) => [tool.tool, [tool.approved, tool.medianMs]]));
  expect(counted).toEqual({ tool: [0, null], pay: [2_000, 2_997], ask: [2_000, 2_998], mail: [2_000, 2_999] });
  expect(stats.days).toMatchObject([{ approved: 6_000 }]);
  await store.close();
});
