// Creates missing fixtures: for each scenario the paused run, and the run whose process dies in the first effect after
// the decisions. Existing fixtures are never changed, because they represent released versions.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { CrashEffect, CrashScenario } from 'countersign/testing';
import type { Append, Store } from '../../src/runs/port/store.ts';
import { memoryStore } from '../../src/stores/memory/memory.ts';
import { type Fixture, finish, fixturePath, personOf, processOn } from './fixture.ts';

const START = Date.UTC(2026, 0, 1);
const RUN_ID = 'fixture';

export async function makeFixtures(scenarios: ReadonlyMap<string, CrashScenario>): Promise<readonly string[]> {
  const made: string[] = [];
  for (const [name, scenario] of scenarios) {
    for (const stop of ['paused', 'in doubt'] as const) {
      const path = fixturePath(`${name} ${stop}`);
      if (existsSync(path)) continue;
      const fixture = (await record(name, scenario, stop, true)) ?? (await record(name, scenario, stop, false));
      if (fixture === undefined) continue;
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, `${JSON.stringify(fixture, null, 2)}\n`);
      made.push(path);
    }
  }
  return made;
}

/** Returns undefined if the scenario has no such place. */
async function record(
  name: string,
  scenario: CrashScenario,
  stop: 'paused' | 'in doubt',
  letsRepeatable: boolean,
): Promise<Fixture | undefined> {
  const appends: Omit<Append, 'claim'>[] = [];
  let now = START;
  const store = recording(memoryStore({ now: () => now }), appends);
  const effects: CrashEffect[] = [];
  const inEffect = Promise.withResolvers<'in doubt'>();
  const process = processOn(store, RUN_ID, () => now, effects);
  const { runs, begin } = scenario.open({
    ...process,
    effect: async (...given) => {
      const [name, , , options] = given;
      // Idempotent effects and steps before the question leave no doubt, so they run normally.
      if (stop === 'paused' || name === 'reserve' || (letsRepeatable && options?.repeatable))
        return process.effect(...given);
      inEffect.resolve('in doubt');
      return new Promise<never>(() => undefined);
    },
  });
  await begin();
  const paused = async () => {
    await runs.settled();
    return 'paused' as const;
  };
  let reached: 'paused' | 'in doubt' = await Promise.race([paused(), inEffect.promise]);
  if (stop === 'in doubt' && reached === 'paused') {
    const finishing = finish(
      runs,
      RUN_ID,
      personOf(scenario, effects),
      ({ expiresAt }) => {
        now = (expiresAt ?? 0) + 1;
      },
      scenario,
    ).then(() => 'paused' as const);
    reached = await Promise.race([finishing, inEffect.promise]);
  }
  const isOver = (await runs.get(RUN_ID)).status === 'done';
  if (reached !== stop || isOver) return undefined;
  const kept = structuredClone(appends);
  const happened = structuredClone(effects);
  const { text } = await undisturbed(scenario);
  return { v: 1, scenario: name, runId: RUN_ID, appends: kept, effects: happened, text };
}

async function undisturbed(scenario: CrashScenario): Promise<{ readonly text: string }> {
  let now = START;
  const effects: CrashEffect[] = [];
  const store = memoryStore({ now: () => now });
  const { runs, begin } = scenario.open(processOn(store, RUN_ID, () => now, effects));
  await begin();
  await runs.settled();
  return finish(
    runs,
    RUN_ID,
    personOf(scenario, effects),
    ({ expiresAt }) => {
      now = (expiresAt ?? 0) + 1;
    },
    scenario,
  );
}

function recording(store: Store, appends: Omit<Append, 'claim'>[]): Store {
  return {
    append: async (append) => {
      const appended = await store.append(append);
      const { claim: _claim, ...kept } = append;
      appends.push(structuredClone(kept));
      return appended;
    },
    read: (...given) => store.read(...given),
    claim: (...given) => store.claim(...given),
    renew: (...given) => store.renew(...given),
    delete: (runId) => store.delete(runId),
    release: (...given) => store.release(...given),
    due: (limit, agents) => store.due(limit, agents),
    listRuns: (query) => store.listRuns(query),
    listRequests: (query) => store.listRequests(query),
    request: (id) => store.request(id),
    queue: () => store.queue(),
    countRuns: () => store.countRuns(),
    stats: (query) => store.stats(query),
    notes: store.notes,
    now: () => store.now(),
    watch: (changed) => store.watch(changed),
    migrate: () => store.migrate(),
    close: () => store.close(),
  };
}
