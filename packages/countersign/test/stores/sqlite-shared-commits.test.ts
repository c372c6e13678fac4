// Appends that share a transaction in a SQLite file: one commit per tick, and no trace of rejected ones.
import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { sqliteStore } from 'countersign/sqlite';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Append, Store } from '../../src/runs/port/store.ts';
import { addition, creation, request } from '../../src/testing/store-contract/check.ts';
import { temporaryFolder } from './folder.ts';

let folder: ReturnType<typeof temporaryFolder>;
let path: string;
let store: Store;
beforeEach(async () => {
  folder = temporaryFolder();
  path = `${folder.path}/runs.db`;
  store = sqliteStore(path);
  await store.migrate();
});
afterEach(async () => {
  await store.close();
  folder.remove();
});

test('appends of one tick share one commit', async () => {
  const before = commits();
  await Promise.all(runIds('first', 10).map((id) => store.append(creation(id))));
  expect(commits() - before).toBe(1);
  await Promise.all(
    runIds('later', 10).map(async (id) => {
      await store.read('first-0');
      await store.append(creation(id));
    }),
  );
  expect(commits() - before).toBe(2);
});

test('a single append is one commit', async () => {
  const before = commits();
  for (const id of runIds('run', 3)) await store.append(creation(id));
  expect(commits() - before).toBe(3);
});

test('appends in quick succession leave turns to the rest of the process', async () => {
  let turns = 0;
  const count = () => {
    turns += 1;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  await store.append(creation('run'));
  for (let version = 1; version < 200; version += 1) await store.append(addition('run', version));
  clearImmediate(timer);
  expect(turns).toBeGreaterThan(4);
});

// Also if only one is left.
test.each([65, 200])(
  'more appends than one transaction takes all become durable, in their order: %i',
  async (length) => {
    await store.append(creation('run'));
    const appends = Array.from({ length }, (_, index) => store.append(addition('run', 1 + index)));
    await Promise.all(appends);
    const loaded = await store.read('run');
    expect(loaded?.events.length).toBe(1 + length);
    expect(loaded?.events.at(-1)).toEqual(addition('run', length).events[0]);
  },
);

test('appends requested before closing are durable once it has closed', async () => {
  const appends = runIds('run', 200).map((id) => store.append(creation(id)));
  await store.close();
  expect((await Promise.allSettled(appends)).filter(({ status }) => status === 'rejected')).toEqual([]);
  store = sqliteStore(path);
  expect((await store.listRuns({ limit: 500 })).items.length).toBe(200);
});

test('a rejected append leaves no trace between successful ones of the same transaction', async () => {
  const red = { labels: ['red'] };
  await store.append(creation('run', { opened: ['one', 'two'].map((id) => request(id, 'run', red)) }));
  await store.append(creation('other', { opened: [request('foreign', 'other', red)] }));
  await store.append(addition('run', 1, { settled: [{ id: 'two', settlement: 'first' }] }));
  const settles = (...ids: readonly string[]) => ids.map((id) => ({ id, settlement: 'again' }));
  const opens = (...ids: readonly string[]) => ids.map((id) => request(id, 'run', red));
  const refused: readonly Append[] = [
    addition('run', 2, { opened: opens('foreign') }),
    addition('run', 2, { opened: opens('new', 'one'), settled: settles('one') }),
    addition('run', 2, { opened: opens('new', 'new'), settled: settles('one') }),
    addition('run', 2, { opened: opens('new'), settled: settles('two') }),
    addition('run', 2, { opened: opens('new'), settled: settles('one', 'one') }),
    addition('run', 2, { opened: opens('new'), settled: settles('one', 'foreign') }),
    addition('run', 2, { opened: opens('new'), settled: settles('new') }),
    creation('new run', { opened: [request('fresh', 'new run', red), request('one', 'new run', red)] }),
    creation('other', { opened: [request('fresh', 'other', red)] }),
  ];
  const before = commits();
  const tables = dump();
  const results = await Promise.allSettled(
    refused.flatMap((append, index) => [store.append(append), store.append(creation(`good-${index}`))]),
  );
  expect(commits() - before).toBe(1);
  const codes = results.map((result) => (result.status === 'fulfilled' ? 'done' : result.reason.code));
  const invariants = refused.slice(0, -1).flatMap(() => ['invariant', 'done']);
  expect(codes).toEqual([...invariants, 'run-exists', 'done']);
  expect(dump("WHERE id NOT LIKE 'good-%'")).toEqual(tables);
  expect((await store.countRuns()).running).toBe(2 + refused.length);
});

test('an impossible append fails alone, and the rest of its transaction succeeds', async () => {
  await store.append(creation('run'));
  await store.append(creation('damaged', { opened: [request('labelled', 'damaged', { labels: ['red'] })] }));
  change("UPDATE countersign_run SET outcome = '{' WHERE id = 'damaged'");
  change("UPDATE countersign_request SET labels = '{'");
  const results = await Promise.allSettled([
    store.append(creation('first')),
    store.append(creation('bad', { status: {} as never })),
    store.append(addition('run', 1)),
    store.append(addition('run', 2, { wakeAt: null, outcome: null })),
    store.claim('damaged', 'token', 60_000),
    store.append(addition('damaged', 1, { settled: [{ id: 'labelled', settlement: null }] })),
    store.append(creation('last')),
  ]);
  const rejected = results.flatMap((result, index) => (result.status === 'rejected' ? [[index, result.reason]] : []));
  expect(rejected).toMatchObject([[1, { code: 'store-failed', retryable: false }]]);
  expect((await store.listRuns({ limit: 9 })).items.map(({ id }) => id)).toEqual(['last', 'first', 'damaged', 'run']);
  expect((await store.read('run'))?.events.length).toBe(3);
  expect((await store.listRequests({ label: 'red', limit: 9 })).items).toEqual([]);
});

test('a failed append does not affect the only other one of its transaction', async () => {
  const bad = store.append(creation('bad', { status: {} as never }));
  const results = await Promise.allSettled([bad, store.append(creation('good'))]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
});

test('the retry without a failed append waits for another process that writes, even before closing', async () => {
  await store.append(creation('run'));
  const other = new DatabaseSync(path);
  const { exec } = DatabaseSync.prototype;
  const spy = vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (this: DatabaseSync, text) {
    exec.call(this, text);
    if (text !== 'ROLLBACK') return;
    spy.mockRestore();
    other.exec('BEGIN IMMEDIATE');
    setTimeout(() => other.exec('COMMIT'), 30);
  });
  const results = Promise.allSettled([
    store.append(addition('run', 1)),
    store.append(creation('bad', { status: {} as never })),
    store.append(creation('last')),
  ]);
  await store.close();
  expect((await results).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  other.close();
  store = sqliteStore(path);
  expect((await store.listRuns({ limit: 9 })).items.map(({ id, version }) => [id, version])).toEqual([
    ['last', 1],
    ['run', 2],
  ]);
});

test('falsy names, times and settlements come back unchanged', async () => {
  const create = { id: 'run', agent: '', startedBy: '' };
  const empty = { agent: '', tool: '', kind: '', digest: '', labels: [''], createdAt: 0, expiresAt: 0 };
  const settlements = [0, '', false, null];
  const ids = settlements.map((_, index) => `question-${index}`);
  const opened = ids.map((id) => request(id, 'run', { ...empty, card: 0 }));
  await store.append(creation('run', { create, hash: '', outcome: false, wakeAt: 0, opened: opened.slice(0, 2) }));
  await store.append(addition('run', 1, { hash: '', outcome: 0, wakeAt: 0, opened: opened.slice(2) }));
  const settled = settlements.map((settlement, index) => ({ id: `question-${index}`, settlement }));
  await store.append(addition('run', 2, { hash: '', outcome: '', wakeAt: 0, settled }));
  expect((await store.read('run'))?.run).toMatchObject({ ...create, version: 3, hash: '', outcome: '', wakeAt: 0 });
  const kept = await Promise.all(ids.map((id) => store.request(id)));
  expect(kept).toEqual(
    opened.map((one, index) => ({
      ...{
        ...one,
        startedBy: '',
        progress: null,
        outcome: null,
        settledAt: expect.any(Number),
        settlement: settlements[index],
      },
    })),
  );
  expect((await store.listRequests({ settled: true, label: '', startedBy: '', limit: 9 })).items.length).toBe(4);
});

function runIds(name: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${name}-${index}`);
}

/** The number of transactions in the log: the last page of each states the file size after it. */
function commits(): number {
  const log = readFileSync(`${path}-wal`);
  const salt = log.subarray(16, 24);
  let count = 0;
  for (let frame = 32; frame + 24 <= log.length; frame += 24 + log.readUInt32BE(8)) {
    if (log.subarray(frame + 8, frame + 16).equals(salt) && log.readUInt32BE(frame + 4) > 0) count += 1;
  }
  return count;
}

/** Edits the file directly. */
function change(text: string): void {
  const database = new DatabaseSync(path);
  database.exec(text);
  database.close();
}

/** Everything in the tables, of these runs. */
function dump(runs = ''): unknown {
  const database = new DatabaseSync(path, { readOnly: true });
  const all = (text: string): unknown => database.prepare(text).all();
  const tables = {
    runs: all(`SELECT * FROM countersign_run ${runs}`),
    events: all(`SELECT run_seq, version, events FROM countersign_event
      WHERE run_seq IN (SELECT seq FROM countersign_run ${runs}) ORDER BY run_seq, version`),
    requests: all('SELECT * FROM countersign_request'),
  };
  database.close();
  return tables;
}
