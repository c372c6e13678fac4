// The store contract: a reminder that has come is taken by one, and given again until it is struck off.
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import type { Store } from '../../runs/port/store.ts';
import { addition, type Check, creation, interrupt, LONG_MS, pass, pausedRun } from './check.ts';

/** After this a lease of 1 ms has lapsed, also when it was taken often. */
const LAPSE_MS = 80;

async function take(store: Store, leaseMs = LONG_MS, limit = 10): Promise<readonly (readonly [string, number])[]> {
  const taken = await store.takeReminders(limit, leaseMs);
  return taken.map(({ interrupt: { id }, attempt }) => [id, attempt] as const);
}

export function remindersContract(check: Check): void {
  check('a reminder is taken when it is due, the longest due first', async (subject) => {
    const { store } = subject;
    const now = await store.now();
    await pausedRun(store, 'run', [
      interrupt('late', 'run', { remindAt: now - 5 }),
      interrupt('never', 'run'),
      interrupt('later', 'run', { remindAt: now + LONG_MS }),
      interrupt('soon', 'run', { remindAt: now + 200 }),
      interrupt('latest', 'run', { remindAt: now - 9 }),
      interrupt('early', 'run', { remindAt: now - 2 }),
    ]);
    deepStrictEqual(await take(store, LONG_MS, 2), [
      ['latest', 1],
      ['late', 1],
    ]);
    deepStrictEqual((await take(store))[0], ['early', 1]);
    await pass(subject, 200);
    const rest = await take(store);
    ok(rest.length <= 1 && rest.every(([id]) => id === 'soon'), JSON.stringify(rest));
    deepStrictEqual(await take(store), []);
  });

  check('taking a reminder returns the interrupt and does not change it', async ({ store }) => {
    const shown = { tool: 'pay', risk: 'high', labels: ['b', 'a'], remindAt: 7, card: { to: ['ann'] } } as const;
    const create = { id: 'run', agent: 'agent', startedBy: 'ann' };
    await store.append(creation('run', { create, status: 'waiting', opened: [interrupt('question', 'run', shown)] }));
    const before = await store.interrupt('question');
    ok(before !== undefined);
    deepStrictEqual(await store.takeReminders(1, LONG_MS), [{ interrupt: before, attempt: 1 }]);
    deepStrictEqual(await store.interrupt('question'), before);
    await store.reminded('question');
    deepStrictEqual(await store.interrupt('question'), before);
    deepStrictEqual((await store.listInterrupts({ limit: 5 })).items, [before]);
    await store.append(addition('run', 1, { settled: [{ id: 'question', settlement: 'so' }] }));
    const { settledAt, ...settled } = (await store.interrupt('question')) ?? { settledAt: null };
    ok(settledAt !== null);
    deepStrictEqual({ ...settled, settledAt: null }, { ...before, settlement: 'so' });
  });

  check('settled and expired interrupts have no reminders', async (subject) => {
    const { store } = subject;
    const now = await store.now();
    await pausedRun(store, 'run', [
      interrupt('decided', 'run', { remindAt: 7 }),
      interrupt('expired', 'run', { remindAt: 7, expiresAt: now }),
      interrupt('waits', 'run', { remindAt: 7, expiresAt: now + LONG_MS }),
      interrupt('decided later', 'run', { remindAt: 6 }),
    ]);
    await store.append(addition('run', 1, { settled: [{ id: 'decided', settlement: 'so' }], status: 'waiting' }));
    deepStrictEqual(await take(store, 1), [
      ['decided later', 1],
      ['waits', 1],
    ]);
    await store.append(addition('run', 2, { settled: [{ id: 'decided later', settlement: 'so' }] }));
    await pass(subject, LAPSE_MS);
    deepStrictEqual(await take(store), [['waits', 2]]);
  });

  check('an unconfirmed reminder comes again, after longer and longer pauses', async (subject) => {
    const { store } = subject;
    await pausedRun(store, 'run', [interrupt('question', 'run', { remindAt: 7 })]);
    for (let attempt = 1; attempt <= 10; attempt += 1) {
      deepStrictEqual(await take(store, 1), [['question', attempt]]);
      await pass(subject, LAPSE_MS);
    }
    // Sixty-four times as long, and no longer than that.
    deepStrictEqual(await take(store, 500), [['question', 11]]);
    await pass(subject, 600);
    deepStrictEqual(await take(store, 1), []);
    if (subject.advance === undefined) return;
    await pass(subject, 32_000 - 600);
    deepStrictEqual(await take(store, 1), [['question', 12]]);
  });

  check('the first pauses are the shortest', async (subject) => {
    const { store, advance } = subject;
    await pausedRun(store, 'run', [interrupt('question', 'run', { remindAt: 7 })]);
    for (const [attempt, pauseMs] of [100, 200, 400].entries()) {
      deepStrictEqual(await take(store, 100), [['question', attempt + 1]]);
      if (advance === undefined) {
        await pass(subject, pauseMs);
        continue;
      }
      await advance(pauseMs - 1);
      deepStrictEqual(await take(store, 100), []);
      await advance(1);
    }
    deepStrictEqual(await take(store, 100), [['question', 4]]);
  });

  check('a confirmed reminder does not come again, even if it was late', async (subject) => {
    const { store } = subject;
    await pausedRun(store, 'run', [
      interrupt('one', 'run', { remindAt: 7 }),
      interrupt('two', 'run', { remindAt: 8 }),
      interrupt('none', 'run'),
    ]);
    strictEqual((await take(store, 1)).length, 2);
    await pass(subject, LAPSE_MS);
    await store.reminded('one');
    await store.reminded('one');
    for (const id of ['none', 'not there']) await store.reminded(id);
    deepStrictEqual(await take(store, 1), [['two', 2]]);
    await store.append(addition('run', 1, { settled: [{ id: 'two', settlement: 'so' }] }));
    await store.reminded('two');
    strictEqual((await store.interrupt('two'))?.settlement, 'so');
    await pass(subject, LAPSE_MS);
    deepStrictEqual(await take(store), []);
  });

  check('with many concurrent callers each reminder goes to one', async ({ store, another }) => {
    const other = (await another?.()) ?? store;
    const all = Array.from({ length: 40 }, (_, index) => `question-${index}`);
    await pausedRun(
      store,
      'run',
      all.map((id, index) => interrupt(id, 'run', { remindAt: index })),
    );
    const takers = Array.from({ length: 20 }, (_, index) => take(index % 2 === 0 ? store : other, LONG_MS, 3));
    const taken = (await Promise.all(takers)).flat();
    for (let more = await take(store); more.length > 0 && taken.length <= all.length; more = await take(store))
      taken.push(...more);
    deepStrictEqual(
      taken.toSorted(([a], [b]) => all.indexOf(a) - all.indexOf(b)),
      all.map((id) => [id, 1]),
    );
  });

  check('taking, confirming and deciding at the same time do not disturb each other', async (subject) => {
    const { store, another } = subject;
    const other = (await another?.()) ?? store;
    const all = Array.from({ length: 30 }, (_, index) => `run-${index}`);
    await Promise.all(
      all.map((runId) => pausedRun(store, runId, [interrupt(`${runId}-a`, runId, { remindAt: 7, labels: ['red'] })])),
    );
    const settle = async (runId: string): Promise<void> => {
      await store.append(addition(runId, 1, { settled: [{ id: `${runId}-a`, settlement: runId }], status: 'done' }));
    };
    const remind = async (): Promise<void> => {
      for (const [id] of await take(other, 1, 5)) if (id.endsWith('0-a')) await other.reminded(id);
    };
    await Promise.all(all.flatMap((runId) => [remind(), settle(runId), remind()]));
    for (const runId of all) strictEqual((await store.interrupt(`${runId}-a`))?.settlement, runId);
    strictEqual((await store.listInterrupts({ label: 'red', settled: true, limit: 50 })).items.length, 30);
    deepStrictEqual((await store.listInterrupts({ label: 'red', limit: 50 })).items, []);
    await pass(subject, LAPSE_MS);
    deepStrictEqual(await take(store), []);
  });
}
