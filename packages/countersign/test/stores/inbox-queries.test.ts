// Store features that an inbox and its server need beside the contract. Counted, never timed.
import { DatabaseSync } from 'node:sqlite';
import { postgresStore } from 'countersign/postgres';
import { sqliteStore } from 'countersign/sqlite';
import { afterAll, describe, expect, test } from 'vitest';
import type { Store } from '../../src/runs/port/store.ts';
import { requestsSql } from '../../src/stores/sql/list-query.ts';
import { SQLITE_DIALECT } from '../../src/stores/sqlite/statements.ts';
import { creation, request } from '../../src/testing/store-contract/check.ts';
import { temporaryFolder } from './folder.ts';
import { onServer, type TestServer, testServer } from './postgres-server.ts';

const postgres = await testServer({ own: true });
const { freshDatabase } = postgres ?? ({} as TestServer);
const folder = temporaryFolder();
afterAll(() => folder.remove());
let files = 0;

describe.runIf(postgres)('on PostgreSQL', () => {
  test('a search needs no permission to change tables', async () => {
    const url = await freshDatabase();
    await postgresStore(url).migrate();
    const [{ name }] = await onServer(url, 'SELECT current_schema() AS name');
    await onServer(
      url,
      `CREATE ROLE clerk_${name} LOGIN; GRANT USAGE ON SCHEMA ${name} TO clerk_${name};
       GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${name} TO clerk_${name}`,
    );
    const store = postgresStore(url.replace('//postgres@', `//clerk_${name}@`));
    await store.append(creation('run', { opened: [request('a', 'run', { tool: 'pay' })] }));
    expect((await store.listRequests({ search: 'pay', limit: 9 })).items.length).toBe(1);
    expect(await store.notes.put('notes', 'key', 1)).toBe(true);
    expect(await store.notes.put('notes', 'key', 2)).toBe(true);
    await store.close();
  });

  outlive(() => freshDatabase(), postgresStore, onServer);
});

describe('on SQLite', () => {
  const ask = async (place: string, text: string): Promise<readonly any[]> => {
    const database = new DatabaseSync(place);
    const rows = database.prepare(text).all();
    database.close();
    return rows;
  };
  outlive(async () => `${folder.path}/${++files}.db`, sqliteStore, ask);

  test('the history of a period is read along its index, also that of one person', async () => {
    const path = `${folder.path}/${++files}.db`;
    const store = sqliteStore(path);
    await store.append(creation('run'));
    await store.close();
    const database = new DatabaseSync(path);
    const period = { settled: true, settledSince: 1, settledBefore: 9, limit: 5, order: 'newest' } as const;
    for (const more of [{}, { outcome: 'not-run' }, { deciders: { people: ['ann'], roles: [] } }] as const) {
      const { text, values } = requestsSql({ ...period, ...more }, SQLITE_DIALECT);
      const plan = database.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values) as { readonly detail: string }[];
      expect(plan[0]?.detail).toContain('USING INDEX countersign_request_settled_at (settled_at>? AND settled_at<?)');
      const scans = plan.filter(({ detail }) => /SCAN (i|d)\b|TEMP B-TREE/.test(detail));
      expect(scans).toEqual([]);
    }
    database.close();
  });
});

/** Checks which notes and requests another process still finds. */
function outlive(
  freshPlace: () => Promise<string>,
  open: (place: string) => Store,
  ask: (place: string, text: string) => Promise<readonly any[]>,
): void {
  test('notes outlive the store that wrote them, with their versions', async () => {
    const place = await freshPlace();
    const first = open(place);
    await first.notes.put('tokens', 'a', { scopes: ['read'] });
    await first.notes.put('tokens', 'b', 1);
    await first.notes.remove('tokens', 'b');
    const before = await first.notes.get('tokens', 'a');
    await first.close();
    const second = open(place);
    expect(await second.notes.get('tokens', 'a')).toEqual(before);
    await second.notes.put('tokens', 'b', 1);
    const versions = (await second.notes.list('tokens', { limit: 9 })).items.map(({ version }) => version);
    expect(Math.min(...versions)).toBe(before?.version);
    expect(Math.max(...versions)).toBeGreaterThan((before?.version ?? 0) + 1);
    await second.close();
  });

  test('the next write removes expired notes', async () => {
    const place = await freshPlace();
    const first = open(place);
    const now = await first.now();
    for (const key of ['a', 'b', 'c']) await first.notes.put('sessions', key, 1, { expiresAt: now - 1 });
    await first.notes.put('sessions', 'd', 1, { expiresAt: now + 600_000 });
    const rows = "SELECT count(*) AS count FROM countersign_note WHERE collection <> 'freezes'";
    await first.close();
    const second = open(place);
    await second.notes.put('other', 'e', 1);
    expect(Number((await ask(place, rows))[0].count)).toBe(2);
    await second.close();
  });

  test('a request with a very long input is stored and found by its first words', async () => {
    const store = open(await freshPlace());
    const text = Array.from({ length: 300_000 }, (_, index) => `word${index}`).join(' ');
    const card = { part: { toolRequest: { input: { text, other: 'x'.repeat(10_000) } } } };
    await store.append(creation('run', { opened: [request('a', 'run', { card })] }));
    const found = async (search: string) => (await store.listRequests({ search, limit: 9 })).items.length;
    expect(await found('word99')).toBe(1);
    expect(await found('word299999')).toBe(0);
    await store.close();
  });
}
