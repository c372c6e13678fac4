// Crashes around grants: a use is neither lost nor doubled, and an approval that was recorded gets its grant.
import { memoryStore, type RunRequest } from 'countersign';
import type { Store } from 'countersign/store';
import { type CrashScenario, crashEverywhere } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { changedStore } from '../changed-store.ts';
import { onMemory, onPostgres, onSqlite } from '../crash/subjects.ts';
import { testServer } from '../stores/postgres-server.ts';
import { grantIn, openPayer, payModel, slow } from './kit.ts';

const postgres = await testServer();

const acme = (amount: number) => ({ to: 'ACME', amount });

describe('a process that dies before or after every write and effect', () => {
  /** Pays under a grant, in the run itself or in a sub-agent. */
  const scenario = (isInside: boolean, isSlow: boolean): CrashScenario => ({
    open({ runId, store, clock, leaseMs, effect }) {
      const { ai, clerk } = openPayer(
        store,
        {},
        { clock, leaseMs, act: effect, ...(isSlow && { model: slow(payModel()) }) },
      );
      const boss = isInside
        ? ai.defineAgent({
            name: 'boss',
            tools: [clerk],
            model: payModel('clerk', { prompt: JSON.stringify([acme(5)]) }),
          })
        : clerk;
      return { runs: ai.runs, begin: () => boss.start(JSON.stringify([acme(5)]), { runId, by: 'ann' }) };
    },
    decide: () => {
      throw new Error('Nothing should be asked.');
    },
  });

  test.each([
    ['in memory', onMemory, false, false],
    ['on SQLite', onSqlite, false, true],
    ...(postgres
      ? ([['on PostgreSQL', async () => onPostgres(await postgres.freshDatabase()), false, true]] as const)
      : []),
    ['inside a sub-agent', onMemory, true, true],
  ] as const)('%s takes one use for each call', async (_name, makeStore, isInside, isSlow) => {
    const subject = await makeStore();
    const { ai, give } = openPayer(subject.store);
    const grant = await give({ uses: 1_000, budget: { field: 'amount', total: 5_000 }, serves: { people: ['ann'] } });
    const { problems, results } = await crashEverywhere({
      scenario: scenario(isInside, isSlow),
      makeStore: async () => ({ ...subject, close: async () => undefined }),
    });
    expect(problems).toEqual([]);
    const places = results.map(({ crashes }) => `${crashes[0]?.when} ${crashes[0]?.what}`);
    expect(places).toContain('after put note');
    const { calls } = await ai.grants.get(grant.id);
    expect(new Set(calls.map(({ runId }) => runId)).size).toBe(calls.length);
    // One for each crash, one without a crash, and one for the trial that ends before its crash.
    expect(calls).toHaveLength(results.length + 2);
    expect(calls.every(({ status, amount }) => status === 'spent' && amount === 5)).toBe(true);
    await subject.close();
  });
});

/** Stops at the first append with an event of this type, as a process that dies does. */
function dyingAt(store: Store, type: string): Store {
  return changedStore(store, {
    append: (append) =>
      append.events.some((event) => event.type === type) ? new Promise(() => undefined) : store.append(append),
  });
}

test.each(['revoked', 'expired'])('a grant that was %s after its use was reserved lets nothing run', async (how) => {
  let time = 1_800_000_000_000;
  const clock = () => time;
  const store = memoryStore({ now: clock });
  const { ai, give, paid } = openPayer(store, {}, { clock });
  const expiresAt = time + 20_000;
  const grant = await give({ expiresAt });
  const dying = openPayer(dyingAt(store, 'call-granted'), {}, { clock, model: slow(payModel()) });
  const { id } = await dying.clerk.start(JSON.stringify([acme(1)]), { by: 'ann' });
  await expect
    .poll(async () => (await store.notes.get('grants', grant.id))?.value)
    .toMatchObject({
      events: [{ type: 'made' }, { type: 'reserved' }],
    });
  if (how === 'revoked') await ai.grants.revoke(grant.id);
  time += how === 'revoked' ? 15_000 : 20_000;
  await ai.runs.drive(id);
  expect((await ai.runs.wait(id)).status).toBe('waiting');
  expect(paid).toHaveLength(1);
  expect((await ai.grants.get(grant.id)).calls).toEqual([]);
});

test('a call whose outcome is unknown keeps its share', async () => {
  let time = 1_800_000_000_000;
  const clock = () => time;
  const store = memoryStore({ now: clock });
  const { ai, give, start, questions } = openPayer(store, {}, { clock });
  const grant = await give({ uses: 1 });
  const dying = openPayer(dyingAt(store, 'call-settled'), {}, { clock, model: slow(payModel()) });
  const { id } = await dying.clerk.start(JSON.stringify([acme(1)]), { by: 'ann' });
  await expect.poll(async () => (await ai.runs.recorded(id)).at(-1)?.type).toBe('call-started');
  time += 15_000;
  await ai.runs.drive(id);
  await ai.runs.wait(id);
  const [doubt] = await questions(id);
  expect(doubt?.kind).toBe('doubt');
  expect((await ai.grants.get(grant.id)).calls).toMatchObject([{ status: 'reserved' }]);
  expect((await start([acme(1)])).status).toBe('waiting');
  await ai.runs.decide(doubt as RunRequest, { type: 'respond', output: { paid: 1 } }, { by: 'ben' });
  await ai.runs.wait(id);
  expect((await ai.grants.get(grant.id)).calls).toMatchObject([{ status: 'spent' }]);
});

test('an approval with a grant that dies at any write is repeated, and makes the grant once', async () => {
  for (let fails = 0; ; fails += 1) {
    const store = memoryStore();
    const first = openPayer(store);
    const { id } = await first.start([acme(100)]);
    const [question] = await first.questions(id);
    let writes = 0;
    const counted = <T>(work: () => Promise<T>): Promise<T> => {
      writes += 1;
      return writes > fails ? Promise.reject(new Error('Dead.')) : work();
    };
    const dying = changedStore(store, {
      append: (append) => counted(() => store.append(append)),
      notes: { ...store.notes, put: (...args) => counted(() => store.notes.put(...args)) },
    });
    const grant = await first.request();
    const decide = (on: Store) => openPayer(on).ai.runs.decide(question as RunRequest, 'approve', { by: 'ben', grant });
    const isDone = await decide(dying).then(
      () => true,
      () => false,
    );
    const again = await decide(store);
    expect((await first.ai.grants.list()).items).toMatchObject([{ id: grantIn(again)?.id, uses: 3 }]);
    if (isDone) {
      expect(fails).toBeGreaterThanOrEqual(3);
      return;
    }
  }
});
