// Several processes on one SQLite file, and on one PostgreSQL: exactly one of the racing processes wins.
import { postgresStore } from 'countersign/postgres';
import { sqliteStore } from 'countersign/sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Store } from '../../src/runs/port/store.ts';
import { creation, request } from '../../src/testing/store-contract/check.ts';
import { campaignSize } from '../campaign-size.ts';
import { temporaryFolder } from './folder.ts';
import { testServer, withSetting } from './postgres-server.ts';
import { type Race, type Racers, startRacers } from './race.ts';

const RUNS = campaignSize(20, 120);
const PROCESSES = 4;
const LEVEL = 'default_transaction_isolation';

const postgres = await testServer();
const folder = temporaryFolder();
let racers: Racers;
const race = (next: Race) => racers.race(next);
beforeAll(async () => {
  racers = await startRacers(PROCESSES);
});
afterAll(() => {
  racers?.close();
  folder.remove();
});
let files = 0;

describe('on SQLite', () => {
  races(async () => `${folder.path}/${++files}.db`, sqliteStore);
});

describe.runIf(postgres)('on PostgreSQL', () => {
  races(async () => (await postgres?.freshDatabase()) ?? '', postgresStore);
});

describe.runIf(postgres)('on PostgreSQL with serializable transactions', () => {
  const fresh = async () => withSetting((await postgres?.freshDatabase()) ?? '', LEVEL, 'serializable');
  races(fresh, postgresStore);
});

function races(freshPlace: () => Promise<string>, open: (place: string) => Store): void {
  test('each run is created, appended to, claimed and decided by one of the processes', {
    timeout: 60_000,
  }, async () => {
    const place = await freshPlace();
    const store = open(place);
    const created = winners(await race({ place, task: 'create', runs: RUNS }));
    await expectHashes(store, created, 1);
    const appended = winners(await race({ place, task: 'append', runs: RUNS }));
    await expectHashes(store, appended, 2);
    winners(await race({ place, task: 'claim', runs: RUNS }));
    await store.close();
  });

  test('each question is decided once, while its run changes', { timeout: 60_000 }, async () => {
    const place = await freshPlace();
    const store = open(place);
    const runIds = Array.from({ length: RUNS }, (_, index) => `run-${index}`);
    const ask = (id: string) => store.append(creation(id, { opened: [request(`${id}-question`, id)] }));
    await Promise.all(runIds.map(ask));
    const decided = winners(await race({ place, task: 'settle', runs: RUNS }));
    for (const [runId, name] of decided) {
      expect((await store.request(`${runId}-question`))?.settlement).toBe(name);
    }
    await expectHashes(store, decided, 2);
    expect((await store.listRequests({ limit: 1 })).items).toEqual([]);
    await store.close();
  });

  test('each note is written by one of the processes', { timeout: 60_000 }, async () => {
    const place = await freshPlace();
    const written = winners(await race({ place, task: 'note', runs: RUNS }));
    const store = open(place);
    const notes = await store.notes.getMany('race', [...written.keys()]);
    expect(new Map(notes.map(({ key, value }) => [key, value]))).toEqual(written);
    expect(new Set(notes.map(({ version }) => version)).size).toBe(RUNS);
    await store.close();
  });

  test('processes that begin together on an empty database create its tables', { timeout: 60_000 }, async () => {
    for (let round = 0; round < 2; round += 1) {
      const place = await freshPlace();
      const done = await race({ place, task: 'migrate' });
      const store = open(place);
      const { items } = await store.listRuns({ limit: 10 });
      expect(items.map(({ id }) => id).sort()).toEqual([...done.keys()].sort());
      await store.close();
    }
  });
}

/** The winner of each run. Every run must have exactly one. */
function winners(wins: ReadonlyMap<string, readonly string[]>): ReadonlyMap<string, string> {
  const all = [...wins].flatMap(([name, runIds]) => runIds.map((runId) => [runId, name] as const));
  const byRun = new Map(all);
  expect(byRun.size).toBe(RUNS);
  expect(all.length).toBe(RUNS);
  return byRun;
}

/** The winners wrote their names. */
async function expectHashes(store: Store, wins: ReadonlyMap<string, string>, version: number): Promise<void> {
  for (const [runId, name] of wins) {
    const loaded = await store.read(runId);
    expect(loaded?.events.length).toBe(version);
    expect(loaded?.run).toMatchObject({ version, hash: name });
  }
}
