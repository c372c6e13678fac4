// Databases that releases have written: this one opens them, verifies every run, and continues what they left. The files never change;
// each release adds its own with `MAKE_DATABASES=1`.
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { postgresStore } from 'countersign/postgres';
import { sqliteStore } from 'countersign/sqlite';
import type { Store } from 'countersign/store';
import { afterAll, describe, expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { temporaryFolder } from '../stores/folder.ts';
import { onServer, testServer } from '../stores/postgres-server.ts';
import { fill, openOffice, requestsOf } from './office.ts';

const postgres = await testServer();
const folder = temporaryFolder();
afterAll(() => folder.remove());

if (process.env.MAKE_DATABASES) await makeDatabases(join(import.meta.dirname, manifest.version));

const releases = globSync('[0-9]*', { cwd: import.meta.dirname }).toSorted();
const read = (release: string, file: string) => gunzipSync(readFileSync(join(import.meta.dirname, release, file)));

const stores: readonly (readonly [string, (release: string) => Promise<Store>])[] = [
  [
    'SQLite',
    async (release) => {
      const path = join(folder.path, `${release}.db`);
      writeFileSync(path, read(release, 'sqlite.db.gz'));
      return sqliteStore(path);
    },
  ],
  ...(postgres
    ? ([
        [
          'PostgreSQL',
          async (release: string) => {
            const url = await postgres.freshDatabase();
            await onServer(url, read(release, 'postgres.sql.gz').toString());
            const store = postgresStore(url);
            await store.migrate();
            return store;
          },
        ],
      ] as const)
    : []),
];

test('this version has kept its databases', () => {
  expect(releases.map((name) => basename(name))).toContain(manifest.version);
});

describe.each(releases)('what %s wrote', (release) => {
  test.each(stores)('verifies and goes on, on %s', async (_name, open) => {
    const store = await open(release);
    const { ai, paid, start, gate } = openOffice(store, { leaseMs: 200 });
    const { items: runs } = await ai.runs.list({ limit: 100 });
    expect(runs.length).toBeGreaterThanOrEqual(11);
    for (const { id } of runs) expect([id, await ai.runs.verify(id)]).toMatchObject([id, { ok: true }]);
    const status = async (runId: string) => (await ai.runs.get(runId)).status;
    expect([await status('done'), await status('rejected'), await status('cancelled')]).toEqual([
      'done',
      'done',
      'cancelled',
    ]);
    expect(JSON.stringify((await requestsOf(ai, 'waiting'))[0])).toContain('Is it due?');

    // It was moved, so it starts frozen, beside the freeze that it had.
    const [freeze, moved] = await ai.freezes.list();
    expect(freeze).toMatchObject({ tools: ['wire'], reason: 'Stop.' });
    await ai.freezes.lift(moved?.id ?? '', { by: 'eve' });
    const worker = ai.runs.work({ pollMs: 10 });
    await expect.poll(async () => (await requestsOf(ai, 'doubt'))[0]?.kind).toBe('doubt');
    for (const runId of ['waiting', 'half', 'inside'])
      for (const request of await requestsOf(ai, runId)) await ai.runs.decide(request, 'approve', { by: 'cara' });
    const [question] = await requestsOf(ai, 'asked');
    await ai.runs.decide(question?.id ?? '', { type: 'respond', output: 'Yes.' }, { by: 'cara' });
    const [doubt] = await requestsOf(ai, 'doubt');
    await ai.runs.decide(doubt?.id ?? '', { type: 'respond', output: { paid: 10 } }, { by: 'cara' });
    for (const runId of ['waiting', 'inside', 'asked', 'doubt'])
      await expect.poll(async () => [runId, await status(runId)]).toEqual([runId, 'done']);

    expect(paid.toSorted()).toEqual(['Inside 10', 'Waits 10']);
    await ai.freezes.lift(freeze?.id ?? '', { by: 'eve' });
    await expect.poll(() => status('half')).toBe('done');
    expect((await start('later', ['pay', { to: 'ACME', amount: 30 }])).status).toBe('done');
    const [grant] = (await ai.grants.list({})).items;
    expect(grant).toMatchObject({ left: { uses: 1 } });

    const outside = (await ai.runs.requests({})).items;
    await ai.runs.decide(outside[0]?.id ?? '', 'approve', { by: 'cara' });
    expect(await gate.request({ to: 'Outside', amount: 10 }, { key: 'k', by: 'ann', run: true })).toMatchObject({
      status: 'done',
    });
    expect(paid.toSorted()).toEqual(['ACME 30', 'Half 10', 'Inside 10', 'Outside 10', 'Waits 10']);
    for (const { id } of (await ai.runs.list({ limit: 100 })).items)
      expect([id, await ai.runs.verify(id)]).toMatchObject([id, { ok: true }]);
    await worker.stop();
    await store.close();
  });
});

async function makeDatabases(place: string): Promise<void> {
  if (existsSync(place)) throw new Error(`${place} exists. What a release has written never changes.`);
  const path = join(folder.path, 'made.db');
  const sqlite = sqliteStore(path);
  await fill(sqlite);
  await sqlite.close().catch(() => undefined);
  if (!postgres) throw new Error('PostgreSQL is needed.');
  const url = await postgres.freshDatabase();
  const store = postgresStore(url);
  await store.migrate();
  await fill(store);
  const plain = new URL(url);
  const [schema = ''] = /search_path=(\w+)/.exec(decodeURIComponent(plain.search))?.slice(1) ?? [];
  plain.search = '';
  const options = [`--dbname=${plain.href}`, `--schema=${schema}`, '--inserts', '--no-owner', '--no-privileges'];
  const [bin = ''] = globSync('/usr/lib/postgresql/*/bin').toSorted().slice(-1);
  const dump = spawnSync(join(bin, 'pg_dump'), options, { encoding: 'utf8', maxBuffer: 2 ** 28 });
  if (dump.status !== 0) throw new Error(dump.stderr);
  // In whichever schema it is restored, without commands of psql and settings of the session.
  const lines = dump.stdout
    .split('\n')
    .filter((line) => !/^(\\|SET |SELECT pg_catalog\.set_config|CREATE SCHEMA|--|$)/.test(line));
  mkdirSync(place);
  writeFileSync(join(place, 'postgres.sql.gz'), gzipSync(lines.join('\n').replaceAll(`${schema}.`, '')));
  writeFileSync(join(place, 'sqlite.db.gz'), gzipSync(readFileSync(path)));
  await store.close().catch(() => undefined);
}
