// A SQLite file that cannot be opened, read or written: clear errors, no partial writes, and work continues later.
import { spawnSync } from 'node:child_process';
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { relative } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ProviderError } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Store } from '../../src/runs/port/store.ts';
import { SqliteConnection } from '../../src/stores/sqlite/connection.ts';
import { sqliteFailure } from '../../src/stores/sqlite/failure.ts';
import { addition, creation, request } from '../../src/testing/store-contract/check.ts';
import { temporaryFolder } from './folder.ts';

let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

test('a missing folder is named, and the store works once it exists', async () => {
  const store = sqliteStore(`${folder.path}/missing/runs.db`);
  await expectFailure(store.append(creation('run')), {
    retryable: false,
    says: /missing\/runs\.db cannot be opened.*folder/,
  });
  mkdirSync(`${folder.path}/missing`);
  await store.append(creation('run'));
  expect((await store.read('run'))?.run.version).toBe(1);
  await store.close();
});

test('a folder at the path of the file cannot be opened', async () => {
  await expectFailure(sqliteStore(folder.path).migrate(), { retryable: false, says: /cannot be opened/ });
});

test('a file that is not a database is left alone', async () => {
  const path = `${folder.path}/notes.txt`;
  writeFileSync(path, 'These are my notes. '.repeat(500));
  const before = readFileSync(path);
  await expectFailure(sqliteStore(path).read('run'), { retryable: false, says: /is not a SQLite database/ });
  expect(readFileSync(path)).toEqual(before);
});

test('a damaged file is reported, and a restored backup is used', async () => {
  const path = `${folder.path}/runs.db`;
  await fill(path, 40);
  const backup = readFileSync(path);
  const file = openSync(path, 'r+');
  for (let offset = 4096; offset < backup.length; offset += 4096)
    writeSync(file, Buffer.alloc(4096, 0xab), 0, 4096, offset);
  closeSync(file);
  const store = sqliteStore(path);
  await expectFailure(store.read('run-7'), {
    retryable: false,
    says: /is damaged; stop all processes.*restore a backup/,
  });
  await expectFailure(store.append(addition('run-7', 1)), { retryable: false, says: /is damaged/ });
  writeFileSync(path, backup);
  await store.append(addition('run-7', 1));
  expect((await store.read('run-7'))?.run.version).toBe(2);
  await store.close();
});

test('a damaged file that was removed is created again, with its tables', async () => {
  const path = `${folder.path}/runs.db`;
  const store = sqliteStore(path);
  for (let index = 0; index < 40; index += 1) await store.append(creation(`run-${index}`));
  const other = new DatabaseSync(path);
  other.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  other.close();
  writeFileSync(path, Buffer.alloc(readFileSync(path).length, 0xab));
  await expectFailure(store.append(creation('new')), { retryable: false, says: /is (damaged|not a SQLite database)/ });
  for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true });
  await store.append(creation('new'));
  expect((await store.listRuns({ limit: 9 })).items.map(({ id }) => id)).toEqual(['new']);
  await store.close();
});

test('a read-only file names the missing permission, and the store works once it has it', async () => {
  const path = `${folder.path}/runs.db`;
  await fill(path, 1);
  // A user other than root, who bypasses permissions.
  const output = asNobody(path, [
    'chmodSync(path, 0o444); chmodSync(folder, 0o555);',
    'leaveRoot();',
    'const store = sqliteStore(path);',
    'await store.append(addition("run-0", 1)).catch(tell);',
    'enterRoot(); chmodSync(folder, 0o777); chmodSync(path, 0o666); leaveRoot();',
    'await store.append(addition("run-0", 1));',
    'console.log((await store.read("run-0")).run.version);',
  ]);
  expect(output).toMatch(/^store-failed false .*(can only be read; give this process the right|cannot be opened)/);
  expect(output.trim().split('\n').at(-1)).toBe('2');
});

test('a database of a newer version is not touched', async () => {
  const path = `${folder.path}/runs.db`;
  await fill(path, 1);
  const database = new DatabaseSync(path);
  database.exec(
    'INSERT INTO countersign_migration (version, applied_at) VALUES (99, 0); PRAGMA wal_checkpoint(TRUNCATE)',
  );
  const dump = () => database.prepare('SELECT sql FROM sqlite_schema').all();
  const before = dump();
  const says = /have version 99, but this version of Countersign knows only version \d+.*Update Countersign/;
  await expectFailure(sqliteStore(path).migrate(), { retryable: false, says });
  await expectFailure(sqliteStore(path).append(creation('new')), { retryable: false, says });
  expect(dump()).toEqual(before);
  expect(database.prepare('SELECT count(*) AS runs FROM countersign_run').get()).toEqual({ runs: 1 });
  database.close();
});

test.each([
  'CREATE TABLE countersign_run (name TEXT)',
  'CREATE VIEW countersign_event AS SELECT 1',
  'CREATE TABLE countersign_migration (name TEXT)',
])('a database that uses one of our table names for something else is not touched: %s', async (text) => {
  const path = `${folder.path}/runs.db`;
  const database = new DatabaseSync(path);
  database.exec(text);
  const says = /The tables in .*runs\.db are not those of Countersign.*choose another file/;
  await expectFailure(sqliteStore(path).append(creation('run')), { retryable: false, says });
  expect(database.prepare('SELECT sql FROM sqlite_schema').all()).toEqual([{ sql: text }]);
  database.close();
});

test('a process that stopped during a write is not a fault of the file: the error is retryable', () => {
  const failure = sqliteFailure(Object.assign(new Error('locking protocol'), { errcode: 15 }), 'runs.db');
  expect(failure).toMatchObject({ code: 'store-failed', retryable: true });
  expect(failure.message).toMatch(/runs\.db is locked by a process that stopped.*try again/);
});

describe('a disk that is full', () => {
  test("is distinguished from other failures by SQLite's error code", () => {
    const database = new DatabaseSync(':memory:');
    database.exec('CREATE TABLE t (x TEXT); PRAGMA max_page_count = 5');
    const write = () => database.prepare('INSERT INTO t VALUES (?)').run('x'.repeat(100_000));
    const failure = sqliteFailure(caught(write), 'runs.db');
    expect(failure).toMatchObject({ code: 'store-failed', retryable: true });
    expect(failure.message).toMatch(/The disk of runs\.db is full; make room and try again/);
    database.close();
  });

  test.runIf(canMount())('loses no acknowledged append and keeps no partial one', async () => {
    const path = `${folder.path}/disk`;
    mount(path);
    try {
      const ballast = `${path}/ballast`;
      writeFileSync(ballast, Buffer.alloc(300_000));
      const store = sqliteStore(`${path}/runs.db`);
      await store.append(creation('run'));
      let version = 1;
      const step = async (): Promise<void> => {
        const events = Array.from({ length: 3 }, () => addition('run', 0).events).flat();
        const opened = [request(`question-${version}`, 'run', { card: 'x'.repeat(20_000) })];
        await store.append(addition('run', version, { events, opened }));
        version += 3;
      };
      const failure = await untilItFails(step);
      expect(failure).toMatchObject({ code: 'store-failed', retryable: true });
      await expectWhole(store, version);
      rmSync(ballast);
      await step();
      await step();
      await expectWhole(store, version);
      await store.close();
    } finally {
      unmount(path);
    }
  });
});

test('a call waits for another process that writes, without blocking this one, and gives up in the end', async () => {
  const path = `${folder.path}/runs.db`;
  await fill(path, 1);
  const other = new DatabaseSync(path);
  other.exec('BEGIN IMMEDIATE');
  const patient = sqliteStore(path);
  const impatient = sqliteStore({ path, busyTimeoutMs: 60 });
  const waiting = patient.append(addition('run-0', 1));
  await expectFailure(impatient.append(addition('run-0', 1)), {
    retryable: true,
    says: /Another process has been writing to/,
  });
  expect((await patient.read('run-0'))?.run.version).toBe(1);
  other.exec('ROLLBACK');
  await waiting;
  await impatient.append(addition('run-0', 2));
  expect((await patient.read('run-0'))?.run.version).toBe(3);
  other.close();
  await Promise.all([patient.close(), impatient.close()]);
});

test('a disk that supports no log beside the file is written to without one', async () => {
  const { prepare } = DatabaseSync.prototype;
  vi.spyOn(DatabaseSync.prototype, 'prepare').mockImplementation(function (this: DatabaseSync, text) {
    return prepare.call(this, text.replace('journal_mode = WAL', 'journal_mode = DELETE'));
  });
  const path = `${folder.path}/runs.db`;
  const store = sqliteStore(path);
  await store.append(creation('run'));
  await store.append(addition('run', 1));
  expect(existsSync(`${path}-wal`)).toBe(false);
  await store.close();
});

test('an in-memory database survives a failure', async () => {
  const connection = new SqliteConnection({ path: ':memory:', now: Date.now, busyTimeoutMs: 0 });
  await connection.write((prepare) => prepare('CREATE TABLE kept (x)').get());
  const fail = () => {
    throw Object.assign(new Error('database or disk is full'), { errcode: 13 });
  };
  await expectFailure(connection.write(fail), { retryable: true, says: /is full/ });
  expect(await connection.read((prepare) => prepare('SELECT x FROM kept').all())).toEqual([]);
  await connection.close();
});

test('a write is on disk before it is acknowledged', async () => {
  const connection = new SqliteConnection({ path: `${folder.path}/runs.db`, now: Date.now, busyTimeoutMs: 0 });
  expect(await connection.read((prepare) => prepare('PRAGMA synchronous').get())).toEqual({ synchronous: 2 });
  await connection.close();
});

describe('a file that is open', () => {
  test.each([
    ['replaced by a backup', (path: string) => renameSync(`${path}-backup`, path)],
    [
      'replaced, with the log taken away',
      (path: string) => {
        for (const end of ['-wal', '-shm']) rmSync(path + end, { force: true });
        renameSync(`${path}-backup`, path);
      },
    ],
    [
      'deleted',
      (path: string) => {
        for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true });
      },
    ],
    ['moved away', (path: string) => renameSync(path, `${path}-old`)],
    ['left without its log', (path: string) => rmSync(`${path}-wal`)],
    ['left without its locks', (path: string) => rmSync(`${path}-shm`)],
  ])('and was %s accepts no more writes, which would be lost', async (_how, act) => {
    const path = `${folder.path}/runs.db`;
    await fill(path, 1);
    copyFileSync(path, `${path}-backup`);
    const store = sqliteStore(path);
    await store.append(addition('run-0', 1));
    act(path);
    for (const call of [() => store.append(addition('run-0', 2)), () => store.claim('run-0', 'token', 60_000)])
      await expectFailure(call(), { retryable: false, says: /was replaced or deleted.*Stop all processes/ });
    await expectFailure(store.append(addition('run-0', 2)), { retryable: false, says: /was replaced or deleted/ });
    await store.close();
  });

  test.each(['-wal', '-shm'])('accepts no first write either if %s beside it was removed', async (end) => {
    const path = `${folder.path}/runs.db`;
    await fill(path, 1);
    const store = sqliteStore(path);
    await store.read('run-0');
    rmSync(path + end);
    await expectFailure(store.append(addition('run-0', 1)), { retryable: false, says: /was replaced or deleted/ });
    expect((await store.read('run-0'))?.run.version).toBe(1);
    await store.close();
  });

  test("by a link has its log beside the link's target", async () => {
    mkdirSync(`${folder.path}/elsewhere`);
    symlinkSync(`${folder.path}/elsewhere/runs.db`, `${folder.path}/link.db`);
    const store = sqliteStore(`${folder.path}/link.db`);
    await store.append(creation('run'));
    await store.append(addition('run', 1));
    rmSync(`${folder.path}/elsewhere/runs.db-wal`);
    await expectFailure(store.append(addition('run', 2)), { retryable: false, says: /was replaced or deleted/ });
    await store.close();
  });

  test('stays the same file when the process changes its folder', async () => {
    const before = process.cwd();
    const store = sqliteStore(relative(before, `${folder.path}/runs.db`));
    await store.append(creation('run'));
    try {
      process.chdir(folder.path);
      await store.append(addition('run', 1));
    } finally {
      process.chdir(before);
    }
    expect((await store.read('run'))?.run.version).toBe(2);
    await store.close();
  });
});

test('a closed store says so', async () => {
  const store = sqliteStore(`${folder.path}/runs.db`);
  await store.append(creation('run'));
  await store.close();
  await expectFailure(store.read('run'), { retryable: false, says: /was closed/ });
});

/** Creates a file with this many runs, all of them in the file itself. */
async function fill(path: string, runs: number): Promise<void> {
  const store = sqliteStore(path);
  for (let index = 0; index < runs; index += 1) await store.append(creation(`run-${index}`));
  await store.close();
}

async function expectFailure(
  call: Promise<unknown>,
  { retryable, says }: { readonly retryable: boolean; readonly says: RegExp },
): Promise<void> {
  const error = await call.then(
    () => undefined,
    (failure: unknown) => failure,
  );
  if (!(error instanceof ProviderError)) throw new Error(`Not the error of a store: ${error}`);
  expect(error).toMatchObject({ code: 'store-failed', retryable });
  expect(error.message).toMatch(says);
}

function caught(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

/** A disk of one megabyte. */
function mount(path: string): boolean {
  mkdirSync(path);
  return spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'none', path]).status === 0;
}

function unmount(path: string): void {
  spawnSync('umount', [path]);
}

function canMount(): boolean {
  const trial = temporaryFolder();
  const mounted = mount(`${trial.path}/disk`);
  if (mounted) unmount(`${trial.path}/disk`);
  else console.warn('\nSKIPPED THE TEST ON A FULL DISK: mounting a small disk needs permission.\n');
  trial.remove();
  return mounted;
}

async function untilItFails(step: () => Promise<void>): Promise<unknown> {
  for (let count = 0; count < 1_000; count += 1) {
    try {
      await step();
    } catch (error) {
      return error;
    }
  }
  throw new Error('The disk never got full.');
}

/** Each append wrote three events and one request; the first one wrote one event. */
async function expectWhole(store: Store, version: number): Promise<void> {
  const loaded = await store.read('run');
  expect(loaded?.run.version).toBe(version);
  expect(loaded?.events.length).toBe(version);
  const { items } = await store.listRequests({ limit: 10_000 });
  expect(items.length).toBe((version - 1) / 3);
}

/** Runs lines of a program as a user other than root, and returns its output. */
function asNobody(path: string, lines: readonly string[]): string {
  const source = new URL('../../src/', import.meta.url).href;
  const program = `
    import { chmodSync } from 'node:fs';
    import { dirname } from 'node:path';
    import { sqliteStore } from '${source}stores/sqlite/sqlite.ts';
    import { addition } from '${source}testing/store-contract/check.ts';
    const path = ${JSON.stringify(path)};
    const folder = dirname(path);
    const isRoot = process.getuid() === 0;
    const leaveRoot = () => isRoot && process.seteuid(65534);
    const enterRoot = () => isRoot && process.seteuid(0);
    const tell = (error) => console.log(error.code, error.retryable, error.message);
    ${lines.join('\n')}`;
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ['--no-warnings', '--input-type=module', '-e', program],
    { encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

describe('a file that another process locks for long', () => {
  const answersOf = (store: Store, count: number) =>
    Promise.all(
      Array.from({ length: count }, (_, index) =>
        store.append(creation(`run-${index}`)).then(
          () => 'written',
          ({ code }: { readonly code: string }) => code,
        ),
      ),
    );

  test('delays each call by at most busyTimeoutMs, however many there are', async () => {
    const store = sqliteStore({ path: `${folder.path}/runs.db`, busyTimeoutMs: 200 });
    await store.migrate();
    const other = new DatabaseSync(`${folder.path}/runs.db`);
    other.exec('BEGIN IMMEDIATE');
    const begun = performance.now();
    expect(new Set(await answersOf(store, 640))).toEqual(new Set(['store-failed']));
    // One after the other, they would take two minutes.
    expect(performance.now() - begun).toBeLessThan(30_000);
    other.close();
    await store.close();
  });
});

test('a relative path means the same file when it is opened again in another folder', async () => {
  const before = process.cwd();
  for (const name of ['one', 'two']) mkdirSync(`${folder.path}/${name}`);
  process.chdir(`${folder.path}/one`);
  try {
    const store = sqliteStore('runs.db');
    for (let index = 0; index < 40; index += 1) await store.append(creation(`run-${index}`));
    const other = new DatabaseSync('runs.db');
    other.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    other.close();
    const backup = readFileSync('runs.db');
    process.chdir(`${folder.path}/two`);
    const file = openSync(`${folder.path}/one/runs.db`, 'r+');
    for (let offset = 4_096; offset < backup.length; offset += 4_096)
      writeSync(file, Buffer.alloc(4_096, 0xab), 0, 4_096, offset);
    closeSync(file);
    await expect(store.claim('run-7', 'token', 1_000)).rejects.toBeInstanceOf(ProviderError);
    writeFileSync(`${folder.path}/one/runs.db`, backup);
    expect((await store.read('run-7'))?.run.id).toBe('run-7');
    await store.close();
  } finally {
    process.chdir(before);
  }
});

test('half a surrogate pair in a name matches no other name', async () => {
  const store = sqliteStore(`${folder.path}/runs.db`);
  await store.append(creation('run\ufffd'));
  expect(await store.read('run\ud800')).toBeUndefined();
  expect(await store.claim('run\ud800', 'token', 1_000)).toBeUndefined();
  expect(await store.request('run\ud800')).toBeUndefined();
  await store.close();
});
