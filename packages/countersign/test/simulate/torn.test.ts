// The simulated failure of power: what a SQLite file acknowledged is there afterwards, and the interrupted write is not.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { sqliteStore } from '../../src/stores/sqlite/sqlite.ts';
import { Chance } from '../../src/testing/simulate/chance.ts';
import { tornStore } from './torn.ts';

test.each([1, 2, 3, 4, 5, 6])(
  'after a torn commit, all acknowledged writes are there, and the torn one is not (%i)',
  async (seed) => {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-torn-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    let fails = 0;
    const open = (path: string) => sqliteStore({ path });
    const store = tornStore({ folder, open, chance: new Chance(seed), fails: () => fails });
    const changes: string[] = [];
    store.watch((runId) => changes.push(runId));
    for (const key of ['a', 'b', 'c']) await store.notes.put('kept', key, { key });
    fails = 1;
    await expect(store.notes.put('kept', 'd', { key: 'd' })).rejects.toThrow('power has failed');
    fails = 0;
    expect(store.torn()).toBe(1);
    const keys = async () => (await store.notes.list('kept', { limit: 10 })).items.map(({ key }) => key);
    expect(await keys()).toEqual(['a', 'b', 'c']);
    await store.notes.put('kept', 'd', { key: 'again' });
    expect(await keys()).toEqual(['a', 'b', 'c', 'd']);
    await store.close();
  },
);
