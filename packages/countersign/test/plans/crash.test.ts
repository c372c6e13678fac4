// Plans through crashes: an approved step runs at most once, its plan says what came of it, and nothing else runs.
import { type CrashScenario, crashEverywhere, type StoreUnderTest } from 'countersign/testing';
import { expect, test } from 'vitest';
import { campaignSize } from '../campaign-size.ts';
import { onMemory, onPostgres, onSqlite } from '../crash/subjects.ts';
import { testServer } from '../stores/postgres-server.ts';
import { openPlanner, pays, plans, step } from './kit.ts';

const postgres = await testServer();

const LIMITED = step(5, { where: [{ field: 'amount', atMost: 5 }], uses: 2 });
const TURNS = [[plans(step(10), step(20), LIMITED)], [pays(10)], [pays(20), pays(3)], [pays(4)]];

/** People approve the plan, and nobody is asked about a step. */
const scenario: CrashScenario = {
  open({ runId, store, clock, leaseMs, effect }) {
    const { ai, clerk } = openPlanner(TURNS, { store, clock, leaseMs, act: effect });
    return { runs: ai.runs, begin: () => clerk.start('Go.', { runId, by: 'ann' }) };
  },
  decide({ tool }) {
    expect(tool).toBe('plan');
    return 'approve';
  },
};

type Places = readonly (readonly [string, () => Promise<StoreUnderTest>])[];

const EVERYWHERE: Places = [
  ['on SQLite', onSqlite],
  ['in memory', onMemory],
  ...(postgres ? [['on PostgreSQL', async () => onPostgres(await postgres.freshDatabase())] as const] : []),
];

test.each(campaignSize(EVERYWHERE.slice(0, 1), EVERYWHERE))(
  '%s, each step runs once after a crash at any write',
  { timeout: 180_000 },
  async (_name, makeStore) => {
    const subject = await makeStore();
    const { problems, results } = await crashEverywhere({
      scenario,
      makeStore: async () => ({ ...subject, close: async () => undefined }),
    });
    expect(problems).toEqual([]);
    const { ai } = openPlanner([], { store: subject.store });
    const died = new Set<string>();
    for (const { run, crashes, effects, decisions } of results) {
      for (const { when, what } of crashes) died.add(`${when} ${what}`);
      expect(effects.map(({ name }) => name).sort()).toEqual(['pay 10', 'pay 20', 'pay 3', 'pay 4']);
      const plan = decisions.find(({ card }) => card.tool === 'plan')?.card.id ?? '';
      const ran = { runId: run.id, outcome: { state: 'done' } };
      const over = { status: 'used-up', left: 0 };
      expect((await ai.grants.plan(plan))?.steps).toMatchObject([
        { ...over, calls: [ran] },
        { ...over, calls: [ran] },
        { ...over, calls: [ran, ran] },
      ]);
      expect((await ai.runs.verify(run.id)).ok).toBe(true);
    }
    // Grants are notes of the store: some processes died while they gave them, or took a use.
    expect([...died]).toEqual(
      expect.arrayContaining(['before put note', 'after put note', 'before append call-granted']),
    );
    await subject.close();
  },
);
