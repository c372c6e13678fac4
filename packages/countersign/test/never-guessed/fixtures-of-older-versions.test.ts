// Runs that older versions left paused or in doubt load and resume. Existing fixtures never change;
// `MAKE_FIXTURES=1` adds fixtures for new scenarios.
import { describe, expect, test } from 'vitest';
import { finish, personOf, processOn, readFixtures, writeInto } from '../crash/fixture.ts';
import { makeFixtures } from '../crash/make-fixtures.ts';
import { scenarios } from '../crash/scenarios.ts';
import { onMemory, onPostgres, onSqlite } from '../crash/subjects.ts';
import { testServer } from '../stores/postgres-server.ts';

if (process.env.MAKE_FIXTURES) console.log((await makeFixtures(scenarios)).join('\n'));
const fixtures = readFixtures();
const postgres = await testServer();

const subjects = [
  ['memory', onMemory],
  ['SQLite', onSqlite],
  ...(postgres ? ([['PostgreSQL', async () => onPostgres(await postgres.freshDatabase())]] as const) : []),
] as const;

test('every scenario has a fixture', () => {
  const known = new Set(fixtures.map(([, { scenario }]) => scenario));
  expect([...scenarios.keys()].filter((name) => !known.has(name))).toEqual([]);
});

describe.each(subjects)('on %s', (_name, open) => {
  test.each(fixtures)('%s resumes and ends as expected', async (_file, fixture) => {
    const scenario = scenarios.get(fixture.scenario);
    if (!scenario) throw new Error(`Unknown scenario ${fixture.scenario}.`);
    const { store, close } = await open();
    try {
      await writeInto(store, fixture);
      const effects = [...fixture.effects];
      // A month later, by the store's clock too.
      let now = Math.max(...fixture.appends.flatMap(({ events }) => events.map(({ at }) => at))) + 30 * 86_400_000;
      const waiting = fixture.appends.flatMap(({ opened }) => opened).some(({ expiresAt }) => expiresAt !== null);
      const { runs } = scenario.open(processOn(store, fixture.runId, () => now, effects));
      const ended = await finish(
        runs,
        fixture.runId,
        personOf(scenario, effects),
        ({ expiresAt }) => {
          now = (expiresAt ?? 0) + 1;
        },
        scenario,
      );
      expect(ended.status).toBe('done');
      if (!waiting) expect(ended.text).toBe(fixture.text);
      expect(await runs.verify(fixture.runId)).toMatchObject({ ok: true });
      const names = effects.filter(({ repeatable }) => !repeatable).map(({ name }) => name);
      expect(new Set(names).size).toBe(names.length);
    } finally {
      await close();
    }
  });
});
