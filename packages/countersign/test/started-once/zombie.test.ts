// A process that is suspended for longer than its claim lasts, and wakes up after another has taken over its runs.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { isFullCampaign } from '../campaign-size.ts';
import { decisionOn, Ledger, type Line, openBank, openStore, type Place, truthOn } from '../crash/bank.ts';
import { inspect } from '../crash/campaign-check.ts';
import { startChild } from '../crash/children.ts';
import type { StallPlace, ZombieOptions } from '../crash/zombie-child.ts';
import { testServer } from '../stores/postgres-server.ts';

/** The lease of the suspended process. A busy machine must reach the place where it stalls within it. */
const LEASE_MS = 1_500;
const RUNS = 5;

const postgres = await testServer();
const folder = mkdtempSync(join(tmpdir(), 'countersign-zombie-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let made = 0;

type Trial = {
  readonly place: Place;
  readonly kind: 'pay' | 'trip' | 'half' | 'late' | 'team' | 'deep';
  readonly stallAt: StallPlace;
  /** Whether a person settles the doubt while the zombie still sleeps. */
  readonly decidesAtOnce: boolean;
};

/** Suspends a process at a place, lets another recover its runs, wakes the first, and checks the effects. */
async function raise({ place, kind, stallAt, decidesAtOnce }: Trial) {
  const ids = Array.from({ length: RUNS }, () => `${kind}-${String(++made).padStart(4, '0')}`);
  const path = join(folder, `happened-${made}`);
  const ledger = new Ledger<Line>(path);
  const store = openStore(place);
  await store.migrate();
  const { runs } = openBank({ store, ledger, leaseMs: 60_000 });
  const options: ZombieOptions = { place, ledger: path, leaseMs: LEASE_MS, runs: ids, stallAt };
  const zombie = startChild('zombie-child.ts', options);
  const say = async () => {
    const line = await zombie.line();
    if (line === undefined) throw new Error(`The zombie died: ${(await zombie.ended).errors}`);
    return line;
  };
  const rest = async (decidesDoubts: boolean, answersQuestions: boolean) => {
    await Promise.all(ids.map((id) => runs.drive(id)));
    await runs.settled();
    for (const id of ids)
      for (const card of (await runs.requests({ runId: id })).items) {
        const isDoubt = card.kind === 'doubt';
        if ((isDoubt && !decidesDoubts) || (card.kind === 'question' && !answersQuestions)) continue;
        await runs.decide(card.id, isDoubt ? truthOn(card, ledger.read()) : decisionOn(card), { by: 'bob' });
      }
    await runs.settled();
  };
  const statuses = async () => (await Promise.all(ids.map((id) => runs.get(id)))).map(({ status }) => status);
  try {
    expect(await say()).toBe('stalled');
    zombie.kill('SIGSTOP');
    // A process suspended before it recorded the decision leaves its runs waiting; it sleeps as long either way.
    await delay(LEASE_MS);
    await until(async () => {
      const due = new Set(await store.due(1_000));
      const waiting = await store.listRuns({ status: 'waiting', limit: 1_000 });
      return ids.every((id) => due.has(id) || waiting.items.some((run) => run.id === id));
    });
    await rest(decidesAtOnce, false);
    await rest(decidesAtOnce, false);
    const before = ledger.read().length;
    zombie.say('wake');
    zombie.kill('SIGCONT');
    expect(await say()).toBe('rested');
    await runs.settled();
    const waiting = (await Promise.all(ids.map(async (id) => (await runs.requests({ runId: id })).items))).flat();
    const settledByItself = (await statuses()).filter((status) => status === 'done').length;
    await until(async () => {
      if ((await statuses()).every((status) => status === 'done')) return true;
      await rest(true, true);
      return false;
    });
    const figures = await inspect(store, runs, ledger.read(), []);
    const mine = figures.problems.filter((problem) => ids.some((id) => problem.includes(id)));
    return {
      problems: mine,
      statuses: await statuses(),
      settledByItself,
      waiting,
      late: ledger.read().length - before,
    };
  } finally {
    zombie.kill('SIGKILL');
    await zombie.ended;
    await store.close();
  }
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const limit = performance.now() + 30_000; !(await condition()); await delay(10))
    if (performance.now() > limit) throw new Error('It took too long.');
}

const places: readonly (readonly [string, () => Promise<Place>])[] = [
  ['SQLite', async () => ({ sqlite: join(folder, 'runs.db') })],
  ...(postgres ? [['PostgreSQL', async () => ({ postgres: await postgres.freshDatabase() })] as const] : []),
];
const allDone = Array.from({ length: RUNS }, () => 'done');

/** PostgreSQL gets one place of each kind in `npm test`, and all of them in `npm run campaigns`. */
const on = <T extends StallPlace>(name: string, all: readonly T[]): readonly T[] =>
  name === 'PostgreSQL' && !isFullCampaign ? all.slice(-1) : all;

// Each trial sleeps for most of its time, so they run side by side.
describe.concurrent.each(places)('on %s', (name, open) => {
  const opening = open();

  const paysOnce = async (stallAt: StallPlace) => {
    const { problems, statuses, late } = await raise({
      place: await opening,
      kind: 'pay',
      stallAt,
      decidesAtOnce: true,
    });
    expect(problems).toEqual([]);
    expect(statuses).toEqual(allDone);
    expect(late).toBe(0);
  };

  const fenced: readonly StallPlace[] = ['model', 'before model-replied', 'before call-started', 'after call-started'];
  test.each(on(name, fenced))('stalled at %s: a call that another worker ran does not run again', paysOnce);

  test.each(on(name, [...fenced, 'effect', 'before call-settled']))(
    'stalled at %s while a sibling waits: the work of another worker stays',
    async (stallAt) => {
      const trial = await raise({ place: await opening, kind: 'half', stallAt, decidesAtOnce: true });
      expect(trial.waiting.map(({ kind }) => kind)).toEqual(Array.from({ length: RUNS }, () => 'question'));
      expect(trial.problems).toEqual([]);
      expect(trial.statuses).toEqual(allDone);
      expect(trial.late).toBe(0);
    },
  );

  test.each(on(name, ['uncommitted', 'before call-committed', 'after call-committed']))(
    'stalled at %s: the commit point refuses a call that another worker ran',
    async (stallAt) => {
      const trial = await raise({ place: await opening, kind: 'late', stallAt, decidesAtOnce: true });
      expect(trial.problems).toEqual([]);
      expect(trial.statuses).toEqual(allDone);
      expect(trial.late).toBe(0);
    },
  );

  const acted: readonly StallPlace[] = ['effect', 'before call-settled'];
  test.each(on(name, acted))(
    'stalled at %s: a person settled the doubt, and the late result does not change it',
    paysOnce,
  );

  test.each(on(name, ['body', 'effect', 'before call-settled']))(
    'stalled at %s: the late result settles an open doubt',
    async (stallAt) => {
      const trial = await raise({ place: await opening, kind: 'pay', stallAt, decidesAtOnce: false });
      expect(trial.problems).toEqual([]);
      expect(trial.statuses).toEqual(allDone);
      expect(trial.settledByItself).toBe(RUNS);
    },
  );

  test.each(on(name, ['model', 'after call-went-on', 'before call-went-on', 'effect']))(
    'stalled at %s inside a sub-agent: a call that another worker ran does not run again',
    async (stallAt) => {
      const trial = await raise({ place: await opening, kind: 'team', stallAt, decidesAtOnce: true });
      expect(trial.problems).toEqual([]);
      expect(trial.statuses).toEqual(allDone);
      expect(trial.late).toBe(0);
    },
  );

  test.each(on(name, ['effect', 'body']))(
    'stalled at %s of a payment inside a sub-agent: the late result settles an open doubt',
    async (stallAt) => {
      const trial = await raise({ place: await opening, kind: 'deep', stallAt, decidesAtOnce: false });
      expect(trial.problems).toEqual([]);
      expect(trial.statuses).toEqual(allDone);
      expect(trial.settledByItself).toBe(RUNS);
    },
  );

  test('stalled between two steps: the second step does not happen again after another worker ran it', async () => {
    const trial = await raise({ place: await opening, kind: 'trip', stallAt: 'step', decidesAtOnce: true });
    expect(trial.problems).toEqual([]);
    expect(trial.statuses).toEqual(allDone);
    expect(trial.late).toBe(0);
  });
});
