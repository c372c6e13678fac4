// Starts that race against freezes: none is recorded after a freeze was acknowledged, on any store.
import { memoryStore, type Store } from 'countersign';
import { postgresStore } from 'countersign/postgres';
import { sqliteStore } from 'countersign/sqlite';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../stores/folder.ts';
import { testServer } from '../stores/postgres-server.ts';
import { openBank } from './kit.ts';

/** All of them where the long campaigns run. */
const STARTS = process.env.COUNTERSIGN_CAMPAIGNS ? 10_000 : 1_000;
const PAUSE_MS = 200;
const LANES = 40;

const postgres = await testServer();

const STORES: readonly (readonly [string, () => Promise<readonly Store[]>])[] = [
  ['memory', async () => [memoryStore()]],
  ['SQLite', async () => manyOf(sqliteStore, `${temporaryFolder().path}/runs.db`, 2)],
  ...(postgres ? [['PostgreSQL', async () => manyOf(postgresStore, await postgres.freshDatabase(), 4)] as const] : []),
];

function manyOf(open: (at: string) => Store, at: string, count: number): readonly Store[] {
  return Array.from({ length: count }, () => open(at));
}

describe.each(STORES)('starts against freezes on %s', (_name, open) => {
  test('none that begins after a freeze has returned is recorded before it is lifted', {
    timeout: 300_000,
  }, async () => {
    const stores = await open();
    const starts: Start[] = [];
    // Each has a process of its own, as far as the store can tell.
    const banks = stores.map((store) => openBank(watched(store, starts), { rules: [{ tool: 'look', then: 'allow' }] }));
    const ran: string[] = [];
    let left = STARTS;
    const lanes = Array.from({ length: LANES }, async (_, lane) => {
      const { ai, look } = banks[lane % banks.length] as (typeof banks)[number];
      const gate = ai.gate(look);
      while (left > 0) {
        left -= 1;
        const key = `call-${left}`;
        const body = () => `${ran.push(key)}`;
        expect((await gate.run({ key }, { key, by: 'ann', run: body })).status).toBe('done');
      }
    });
    // From when a freeze has returned until it is lifted, no start may be recorded.
    const closed: Start[] = [];
    for (let round = 0; left > 0; round += 1) {
      const { freezes } = (banks[round % banks.length] as (typeof banks)[number]).ai;
      const { id } = await freezes.freeze(
        { ...(round % 2 === 0 && { tools: ['look'] }), reason: 'Stop.' },
        { by: 'eve' },
      );
      const from = performance.now();
      for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
      closed.push({ from, to: performance.now() });
      await freezes.lift(id, { by: 'eve' });
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    await Promise.all(lanes);
    expect(closed.length).toBeGreaterThan(0);
    expect(starts.length).toBeGreaterThanOrEqual(STARTS);
    expect(starts.filter(({ from, to }) => closed.some((one) => from > one.from && to < one.to))).toEqual([]);
    expect([ran.length, new Set(ran).size]).toEqual([STARTS, STARTS]);
    await Promise.all(stores.map((store) => store.close()));
  });
});

/** When an append with a start was sent, and when it was answered. */
type Start = { readonly from: number; readonly to: number };

/** Notes the appends that recorded a start. */
function watched(store: Store, starts: Start[]): Store {
  const append: Store['append'] = async (given) => {
    const from = performance.now();
    const answer = await store.append(given);
    if (given.events.some(({ type }) => type === 'call-started')) starts.push({ from, to: performance.now() });
    return answer;
  };
  return new Proxy(store, {
    get(target, name) {
      const value = name === 'append' ? append : Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
