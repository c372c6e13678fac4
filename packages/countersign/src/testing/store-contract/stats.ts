// The store contract: statistics are counted from the settlements.
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import type { Json } from '../../core/json.ts';
import { drillAgent } from '../../core/run/drill.ts';
import type { SettledCounts } from '../../runs/port/stats.ts';
import type { Store } from '../../runs/port/store.ts';
import { addition, type Check, creation, pass, refused, request } from './check.ts';

const NOTHING: SettledCounts = { approved: 0, rejected: 0, answered: 0, cancelled: 0 };

const PROGRESSED = { id: 'b', progress: 1, deciders: { people: ['cara'], roles: [] } };

/** An request, and how long it took to be settled. */
type Question = { readonly tool: string; readonly tookMs: number; readonly settlement: Json };

export function statsContract(check: Check): void {
  check('runs are counted by their current status', async ({ store }) => {
    const none = { running: 0, waiting: 0, done: 0, failed: 0, cancelled: 0 };
    deepStrictEqual(await store.countRuns(), none);
    for (const runId of ['a', 'b', 'c', 'd']) await store.append(creation(runId));
    deepStrictEqual(await store.countRuns(), { ...none, running: 4 });
    for (const [runId, status] of Object.entries({ a: 'waiting', b: 'done', c: 'failed', d: 'done' } as const)) {
      await store.append(addition(runId, 1, { status }));
    }
    await store.append(addition('d', 2, { status: 'running' }));
    await refused(store.append(creation('d', { status: 'cancelled' })), 'run-exists');
    deepStrictEqual(await store.countRuns(), { ...none, running: 1, waiting: 1, done: 1, failed: 1 });
  });

  check('pending requests are counted by tool, with the oldest', async ({ store }) => {
    const opened = [
      request('a', 'run', { tool: 'pay', createdAt: 5_000 }),
      request('b', 'run', { tool: 'ask', createdAt: 3_000 }),
      request('c', 'run', { tool: 'pay', createdAt: 4_000 }),
    ];
    await store.append(creation('run', { status: 'waiting', opened }));
    const { waiting, oldestWaitingAt, tools } = await store.stats({ since: 0 });
    deepStrictEqual([waiting, oldestWaitingAt], [3, 3_000]);
    deepStrictEqual(tools, [
      { tool: 'ask', waiting: 1, ...NOTHING, medianMs: null },
      { tool: 'pay', waiting: 2, ...NOTHING, medianMs: null },
    ]);
  });

  check(
    'a request is counted as pending until it is settled, and as settled until its run is deleted',
    async ({ store }) => {
      const opened = [request('a', 'run', { tool: 'pay' }), request('b', 'run', { tool: 'pay' }), request('c', 'run')];
      const create = { id: 'run', agent: 'agent', startedBy: 'ann' };
      await store.append(creation('run', { create, status: 'waiting', opened }));
      const counts = async (query = {}): Promise<readonly number[]> => {
        const { waiting, decided, tools } = await store.stats({ since: 0, ...query });
        return [waiting, decided, tools.length];
      };
      const settlement = { decision: { type: 'approve' }, by: 'ben', at: 1 };
      const settle = (...ids: readonly string[]) => ids.map((id) => ({ id, settlement }));
      deepStrictEqual(await counts(), [3, 0, 2]);
      await store.append(addition('run', 1, { status: 'waiting', settled: settle('a'), progressed: [PROGRESSED] }));
      for (const query of [{}, { startedBy: 'ann' }]) deepStrictEqual(await counts(query), [2, 1, 2]);
      deepStrictEqual(await counts({ startedBy: 'ben' }), [0, 0, 0]);
      await store.append(addition('run', 2, { status: 'done', settled: settle('b', 'c') }));
      for (const query of [{}, { startedBy: 'ann' }]) deepStrictEqual(await counts(query), [0, 3, 2]);
      strictEqual(await store.delete('run'), true);
      for (const query of [{}, { startedBy: 'ann' }]) deepStrictEqual(await counts(query), [0, 0, 0]);
    },
  );

  check(
    'a drill is counted while it waits, not when it is settled, and no search finds it as one',
    async ({ store }) => {
      const [runId, agent] = ['run', drillAgent('clerk')];
      const opened = [request('a', runId, { tool: 'pay', agent })];
      await store.append(creation(runId, { status: 'waiting', opened, create: { id: runId, agent, startedBy: null } }));
      strictEqual((await store.stats({ since: 0 })).waiting, 1);
      const found = async (search: string) => (await store.listRequests({ search, limit: 5 })).items.length;
      deepStrictEqual([await found('clerk'), await found('drill')], [1, 0]);
      const settled = [{ id: 'a', settlement: { decision: { type: 'reject' }, by: 'ann', at: 1 } }];
      await store.append(addition(runId, 1, { status: 'done', settled }));
      const { waiting, decided, tools } = await store.stats({ since: 0 });
      deepStrictEqual([waiting, decided, tools], [0, 0, []]);
    },
  );

  check('settled requests are counted by outcome, by tool and by day', async ({ store }) => {
    const decision = (type: string): Json => ({ decision: { type }, by: 'ann', at: 1 });
    await settle(store, [
      { tool: 'pay', tookMs: 1_000, settlement: decision('approve') },
      { tool: 'pay', tookMs: 9_000, settlement: decision('restart') },
      { tool: 'pay', tookMs: 3_000, settlement: decision('reject') },
      { tool: 'pay', tookMs: 99_000, settlement: { withdrawn: true, at: 1 } },
      { tool: 'ask', tookMs: 2_000, settlement: decision('respond') },
      { tool: 'ask', tookMs: 4_000, settlement: decision('cancel') },
      { tool: 'old', tookMs: 5_000, settlement: null },
    ]);
    const now = await store.now();
    const { waiting, oldestWaitingAt, decided, medianMs, p95Ms, tools, days } = await store.stats({ since: 0, now });
    deepStrictEqual([waiting, oldestWaitingAt, decided], [0, null, 5]);
    near(medianMs, 3_000);
    near(p95Ms, 9_000);
    const counted = tools.map(({ medianMs: _, ...tool }) => tool);
    deepStrictEqual(counted, [
      { tool: 'ask', waiting: 0, approved: 0, rejected: 0, answered: 1, cancelled: 1 },
      { tool: 'old', waiting: 0, approved: 0, rejected: 0, answered: 0, cancelled: 1 },
      { tool: 'pay', waiting: 0, approved: 2, rejected: 1, answered: 0, cancelled: 1 },
    ]);
    near(tools[0]?.medianMs ?? null, 2_000);
    strictEqual(tools[1]?.medianMs, null);
    near(tools[2]?.medianMs ?? null, 3_000);
    const settled = days.filter(({ approved }) => approved > 0);
    ok(settled.length === 1);
    deepStrictEqual(settled, [{ day: settled[0]?.day, approved: 2, rejected: 1, answered: 1, cancelled: 3 }]);
  });

  check('only requests settled in the period, in runs of the given starter, are counted', async (subject) => {
    const { store } = subject;
    const approved = [{ tool: 'pay', tookMs: 10, settlement: { decision: { type: 'approve' } } }];
    await settle(store, approved, 'ann');
    const between = (await store.now()) + 1;
    await pass(subject, 10);
    await settle(store, approved, 'bob');
    await settle(store, approved);
    const now = await store.now();
    const decided = async (query: object): Promise<number> => (await store.stats({ since: 0, now, ...query })).decided;
    const [ann, later] = [{ startedBy: 'ann' }, { since: between }];
    const counts = await Promise.all(
      [{}, later, { now: between }, ann, { ...ann, ...later }, { startedBy: 'carl' }].map(decided),
    );
    deepStrictEqual(counts, [3, 2, 1, 1, 0, 0]);
    const create = { id: 'waits', agent: 'agent', startedBy: 'bob' };
    await store.append(creation('waits', { create, opened: [request('w', 'waits')] }));
    strictEqual((await store.stats({ since: now, startedBy: 'bob' })).waiting, 1);
    strictEqual((await store.stats({ since: now, startedBy: 'ann' })).waiting, 0);
  });

  check('every day is listed, even without requests', async ({ store }) => {
    const now = Date.UTC(2026, 2, 1, 12);
    const { days, ...counts } = await store.stats({ since: Date.UTC(2026, 1, 27, 23, 59), now });
    const listed = ['2026-02-27', '2026-02-28', '2026-03-01'];
    deepStrictEqual(
      days,
      listed.map((day) => ({ day, ...NOTHING })),
    );
    deepStrictEqual(counts, { waiting: 0, oldestWaitingAt: null, decided: 0, medianMs: null, p95Ms: null, tools: [] });
    for (const since of [now + 1, -1, 0.5, Number.NaN]) await refused(store.stats({ since, now }), 'invalid-options');
  });
}

let runs = 0;

/** Creates a run for each request, and settles it now. */
async function settle(store: Store, questions: readonly Question[], startedBy: string | null = null): Promise<void> {
  for (const { tool, tookMs, settlement } of questions) {
    runs += 1;
    const id = `settled-${runs}`;
    const createdAt = (await store.now()) - tookMs;
    const create = { id, agent: 'agent', startedBy };
    await store.append(creation(id, { create, opened: [request(`${id}-question`, id, { tool, createdAt })] }));
    await store.append(addition(id, 1, { settled: [{ id: `${id}-question`, settlement }] }));
  }
}

/** Allows for a clock that cannot be set. */
function near(took: number | null, expectedMs: number): void {
  ok(took !== null && took >= expectedMs && took < expectedMs + 900, `Expected about ${expectedMs} ms, got ${took}.`);
}
