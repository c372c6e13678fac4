// Deleting many runs holds no lock for long: another writer gets its turn between any two of them.
import { postgresStore } from 'countersign/postgres';
import { sqliteStore } from 'countersign/sqlite';
import { afterAll, describe, expect, test } from 'vitest';
import type { Store } from '../../src/runs/port/store.ts';
import { addition, creation, request, stepDone } from '../../src/testing/store-contract/check.ts';
import { temporaryFolder } from './folder.ts';
import { type TestServer, testServer } from './postgres-server.ts';

const postgres = await testServer();
const folder = temporaryFolder();
afterAll(() => folder.remove());

/** With about 70 rows each, and their keys. */
const RUNS = 200;
const APPENDS = 6;

describe.runIf(postgres)('on PostgreSQL', () => {
  sharesTurns(async () => {
    const url = await (postgres as TestServer).freshDatabase();
    return () => postgresStore({ url, poolMax: 2 });
  });
});

describe('on SQLite', () => {
  sharesTurns(async () => () => sqliteStore(`${folder.path}/runs.db`));
});

function sharesTurns(place: () => Promise<() => Store>): void {
  test('another writer appends again and again while runs are deleted', async () => {
    const open = await place();
    const [deleting, writing] = [open(), open()];
    await deleting.migrate();
    const ids = Array.from({ length: RUNS }, (_, index) => `old-${index}`);
    const fill = async (id: string) => {
      const opened = Array.from({ length: 20 }, (_, index) => request(`${id}:${index}`, id));
      await deleting.append(creation(id, { opened, status: 'waiting' }));
      for (let version = 1; version < APPENDS; version += 1)
        await deleting.append(addition(id, version, { events: [stepDone(`${version}`, 'done')] }));
      const settled = opened.map((one) => ({ id: one.id, settlement: null }));
      await deleting.append(addition(id, APPENDS, { settled, status: 'done' }));
    };
    await Promise.all(ids.map(fill));
    await writing.append(creation('new'));
    let isOver = false;
    let version = 1;
    const writer = (async () => {
      for (; !isOver; version += 1) {
        await writing.append(addition('new', version));
        // SQLite answers synchronously: the other writer gets its turn.
        await new Promise(setImmediate);
      }
    })();
    for (const id of ids) expect(await deleting.delete(id)).toBe(true);
    isOver = true;
    await writer;
    // A writer that waited for all deletions would have appended once.
    expect(version).toBeGreaterThan(3);
    const stats = await deleting.stats({ since: 0 });
    expect([stats.waiting, stats.decided]).toEqual([0, 0]);
    expect(await deleting.read('old-0')).toBeUndefined();
    await deleting.close();
    await writing.close();
  }, 120_000);
}
