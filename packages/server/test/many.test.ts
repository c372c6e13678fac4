// Many requests, pending or decided: the first page, a search and the statistics are as fast as with a few.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { sqliteStore } from 'countersign/sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { digestOf } from '../../countersign/src/runs/requests/card.ts';
import { outcomeOf } from '../../countersign/src/stores/rules/outcomes.ts';
import { searchTextOf } from '../../countersign/src/stores/rules/search-text.ts';
import { campaignSize } from '../../countersign/test/campaign-size.ts';
import { type Ask, startServer } from './server.ts';

/** `npm run campaigns` fills 100,000. */
const MANY = campaignSize(20_000, 100_000);

/** Requests as the engine writes them, without the engine. `settlement` gives the outcome of each. */
function fill(path: string, count: number, settlement?: (index: number) => object): void {
  const database = new DatabaseSync(path);
  const run = database.prepare(
    `INSERT INTO countersign_run (id, agent, status, version, hash, started_by, created_at, updated_at, outcome)
     VALUES (?, 'teller', 'waiting', 3, 'x', ?, ?, ?, 'null')`,
  );
  const question = database.prepare(
    `INSERT INTO countersign_request (id, run_id, agent, tool, kind, risk, created_at, card, digest, started_by,
       deciders, search_text, settled_at, settlement, outcome, edited, expired)
     VALUES (?, ?, 'teller', 'pay', 'approval', 'high', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  database.exec('BEGIN');
  for (let index = 0; index < count; index++) {
    const runId = `filled-${index}`;
    const id = `${runId}:call_1`;
    const input = { to: index % 20_000 === 77 ? 'zebra' : `customer${index}`, amount: 500 };
    const metadata = { interrupt: true, interruptKind: 'approval' };
    const card = { part: { toolRequest: { name: 'pay', ref: 'call_1', input }, metadata } };
    const who = index % 3 === 0 ? 'ann' : 'bob';
    run.run(runId, who, index, index);
    question.run(
      id,
      runId,
      index,
      JSON.stringify(card),
      digestOf(id, card),
      who,
      JSON.stringify(['*', `s:${who}`]),
      searchTextOf({ agent: 'teller', tool: 'pay', labels: [], card }),
      ...settledColumns(index, settlement?.(index)),
    );
  }
  database.exec('COMMIT');
  database.close();
}

function settledColumns(at: number, settlement?: object): (string | number | null)[] {
  if (settlement === undefined) return [null, null, null, null, null];
  const { outcome, edited, expired } = outcomeOf(JSON.parse(JSON.stringify(settlement)));
  return [at, JSON.stringify(settlement), outcome, Number(edited), Number(expired)];
}

const PAGES = [
  '/api/v1/requests',
  '/api/v1/requests?order=newest',
  '/api/v1/requests?search=zebra',
  '/api/v1/requests?search=customer',
  '/api/v1/requests?search=nothing',
  '/api/v1/requests?tool=pay&risk=high',
  '/api/v1/requests?mine=1',
  '/api/v1/requests?for=me',
  '/api/v1/runs?status=waiting',
];

async function fastest(ask: Ask, pages = PAGES): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  for (const path of pages) {
    const times: number[] = [];
    for (let round = 0; round < 9; round++) {
      const at = performance.now();
      const { status } = await ask('GET', path);
      times.push(performance.now() - at);
      expect(status, path).toBe(200);
    }
    found.set(path, times.toSorted((left, right) => left - right)[0] ?? 0);
  }
  return found;
}

/** How long one read of every request takes: limits relative to it hold on a slow or busy machine too. */
function scanMs(path: string): number {
  const database = new DatabaseSync(path);
  const scan = database.prepare('SELECT card FROM countersign_request');
  const times = Array.from({ length: 5 }, () => {
    const at = performance.now();
    scan.all();
    return performance.now() - at;
  });
  database.close();
  return Math.min(...times);
}

type Measured = {
  readonly all: ReadonlyMap<string, number>;
  readonly own: ReadonlyMap<string, number>;
  readonly scan: number;
};

async function measured(count: number): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-many-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'runs.sqlite');
  const store = sqliteStore(path);
  await store.migrate();
  fill(path, count);
  const server = await startServer({ store, worker: false });
  const [root, ann] = [await server.as('ann', { reach: 'all' }), await server.as('ann')];
  const zebras = await root('GET', '/api/v1/requests?search=zebra');
  expect(zebras.body.items).toHaveLength(Math.ceil(Math.max(0, count - 77) / 20_000));
  return { all: await fastest(root), own: await fastest(ann), scan: scanMs(path) };
}

/**
 * A search with few matches or none looks at every pending request, in stretches between which other work has its turn. Other pages
 * take a fraction of that.
 */
function allowedMs(path: string, scan: number): number {
  return /search=(zebra|nothing)/.test(path) ? 3 * scan : scan / 3;
}

test('pages of many requests take about as long as pages of 200', async () => {
  const few = await measured(200);
  const many = await measured(MANY);
  for (const who of ['all', 'own'] as const)
    for (const [path, ms] of many[who]) {
      const usual = few[who].get(path) ?? 0;
      expect(ms, `${path} (${who}): ${ms} ms of many, ${usual} ms of few`).toBeLessThan(
        usual * 5 + allowedMs(path, many.scan),
      );
    }
  if (process.env.SHOW_TIMES)
    console.table(
      [...many.all].map(([path, ms]) => ({
        ...{ path, ms, own: many.own.get(path), few: few.all.get(path), scan: many.scan },
      })),
    );
}, 240_000);

const DECIDED = ['approved', 'edited', 'rejected', 'answered', 'cancelled', 'expired'].map(
  (outcome) => `/api/v1/requests?outcome=${outcome}&order=newest`,
);

/** Each outcome is common. */
function settlementOf(index: number): object {
  const decision = [
    { type: 'approve' },
    { type: 'approve', edit: { to: 'bob', amount: index } },
    { type: 'reject', reason: 'no' },
    { type: 'respond', output: 'yes' },
    { type: 'cancel' },
  ][index % 5];
  const by = index % 20 === 2 ? { by: 'deadline', channel: null } : { by: 'ann', channel: 'inbox' };
  return { decision, ...by, note: null, at: index };
}

test('of many decided requests, pages by outcome take about as long as of 200', async () => {
  const times = [];
  let scan = 0;
  for (const count of [200, MANY]) {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-many-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const store = sqliteStore(join(folder, 'runs.sqlite'));
    await store.migrate();
    fill(join(folder, 'runs.sqlite'), count, settlementOf);
    const ask = await (await startServer({ store, worker: false })).as('ann', { reach: 'all' });
    times.push(await fastest(ask, DECIDED));
    scan = scanMs(join(folder, 'runs.sqlite'));
  }
  const [few, many] = times;
  for (const [path, ms] of many ?? []) {
    const usual = few?.get(path) ?? 0;
    expect(ms, `${path}: ${ms} ms of many, ${usual} ms of few`).toBeLessThan(usual * 5 + allowedMs(path, scan));
  }
}, 240_000);
