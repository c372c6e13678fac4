// A process that is stopped for longer than its claim lasts, and wakes up after another has taken its runs over.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { decisionOn, Ledger, type Line, openBank, openStore, type Place, truthOn } from '../crash/bank.ts';
import { inspect } from '../crash/campaign-check.ts';
import { startChild } from '../crash/children.ts';
import type { StallPlace, ZombieOptions } from '../crash/zombie-child.ts';
import { testServer } from '../stores/postgres-server.ts';

/** Of the process that is stopped: long enough for a busy machine to come to where that happens. */
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
  /** Whether the person says how it ended while the zombie still sleeps. */
  readonly decidesAtOnce: boolean;
};

/** Stops a process at a place, lets another recover, wakes the first, and looks at what happened. */
async function raise({ place, kind, stallAt, decidesAtOnce }: Trial) {
  const ids = Array.from({ length: RUNS }, () => `${kind}-${++made}`);
  const path = join(folder, `happened-${made}`);
  const ledger = new Ledger<Line>(path);
  const store = openStore(place);
  await store.migrate();
  const { runs } = openBank({ store, ledger, leaseMs: 60_000 });
  const options: ZombieOptions = { place, ledger: path, leaseMs: LEASE_MS, runs: ids, stallAt };
  const zombie = startChild('zombie-child.ts', options, join(folder, 'cache'));
  const say = async () => {
    const line = await zombie.line();
    if (line === undefined) throw new Error(`The zombie died: ${(await zombie.ended).errors}`);
    return line;
  };
  const rest = async (decidesDoubts: boolean, answersQuestions: boolean) => {
    await Promise.all(ids.map((id) => runs.drive(id)));
    await runs.settled();
    for (const id of ids)
      for (const card of (await runs.interrupts({ runId: id })).items) {
        const isDoubt = card.kind === 'unknown-outcome';
        if ((isDoubt && !decidesDoubts) || (card.kind === 'question' && !answersQuestions)) continue;
        await runs.decide(card.id, isDoubt ? truthOn(card, ledger.read()) : decisionOn(card), { by: 'bob' });
      }
    await runs.settled();
  };
  const statuses = async () => (await Promise.all(ids.map((id) => runs.get(id)))).map(({ status }) => status);
  try {
    expect(await say()).toBe('stalled');
    zombie.kill('SIGSTOP');
    // Stopped before the decision was on record, the runs still wait for one; it sleeps as long in any case.
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
    const waiting = (await Promise.all(ids.map(async (id) => (await runs.interrupts({ runId: id })).items))).flat();
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

describe.each(places)('on %s', (_name, open) => {
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
  test.each(fenced)('stopped at %s: what is run elsewhere does not run again here', paysOnce);

  test.each([...fenced, 'effect', 'before call-settled'] as const)(
    'stopped at %s, with another question of the turn still open: nothing of what is done elsewhere is undone',
    async (stallAt) => {
      const trial = await raise({ place: await opening, kind: 'half', stallAt, decidesAtOnce: true });
      expect(trial.waiting.map(({ kind }) => kind)).toEqual(Array.from({ length: RUNS }, () => 'question'));
      expect(trial.problems).toEqual([]);
      expect(trial.statuses).toEqual(allDone);
      expect(trial.late).toBe(0);
    },
  );

  test.each(['uncommitted', 'before call-committed', 'after call-committed'] as const)(
    'stopped at %s: a commit point is not passed here after the call was run elsewhere',
    async (stallAt) => {
      const trial = await raise({ place: await opening, kind: 'late', stallAt, decidesAtOnce: true });
      expect(trial.problems).toEqual([]);
      expect(trial.statuses).toEqual(allDone);
      expect(trial.late).toBe(0);
    },
  );

  const acted: readonly StallPlace[] = ['effect', 'before call-settled'];
  test.each(acted)('stopped at %s, and a person says how it ended: nothing changes it any more', paysOnce);

  test.each(['body', 'effect', 'before call-settled'] as const)(
    'stopped at %s, and nobody says how it ended: the late result does',
    async (stallAt) => {
      const trial = await raise({ place: await opening, kind: 'pay', stallAt, decidesAtOnce: false });
      expect(trial.problems).toEqual([]);
      expect(trial.statuses).toEqual(allDone);
      expect(trial.settledByItself).toBe(RUNS);
    },
  );

  test.each(['model', 'after call-went-on', 'before call-went-on', 'effect'] as const)(
    'stopped at %s, inside a sub-agent: what is done elsewhere is not done again here',
    async (stallAt) => {
      const trial = await raise({ place: await opening, kind: 'team', stallAt, decidesAtOnce: true });
      expect(trial.problems).toEqual([]);
      expect(trial.statuses).toEqual(allDone);
      expect(trial.late).toBe(0);
    },
  );

  test.each(['effect', 'body'] as const)(
    'stopped at %s of a payment inside a sub-agent, and nobody says how it ended: the late result does',
    async (stallAt) => {
      const trial = await raise({ place: await opening, kind: 'deep', stallAt, decidesAtOnce: false });
      expect(trial.problems).toEqual([]);
      expect(trial.statuses).toEqual(allDone);
      expect(trial.settledByItself).toBe(RUNS);
    },
  );

  test('stopped between two steps, and run again elsewhere: the second step does not happen here too', async () => {
    const trial = await raise({ place: await opening, kind: 'trip', stallAt: 'step', decidesAtOnce: true });
    expect(trial.problems).toEqual([]);
    expect(trial.statuses).toEqual(allDone);
    expect(trial.late).toBe(0);
  });
});
