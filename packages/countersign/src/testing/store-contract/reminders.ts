// The store contract: a due reminder goes to one caller, and comes again until it is confirmed.
import { deepStrictEqual } from 'node:assert/strict';
import type { Store } from '../../runs/port/store.ts';
import { addition, type Check, creation, interrupt, LONG_MS, pass, pausedRun, refused, settling } from './check.ts';

/** After this a lease of 1 ms has lapsed, even after many attempts. */
const LAPSE_MS = 80;

/** Takes reminders, and returns each id with its attempt. */
async function take(store: Store, leaseMs = LONG_MS, limit = 10): Promise<readonly string[]> {
  const taken = await store.takeReminders(limit, leaseMs);
  return taken.map(({ interrupt: { id }, attempt }) => `${id} ${attempt}`);
}

export function remindersContract(check: Check): void {
  check('a reminder is taken when it is due, the longest due first', async (subject) => {
    const { store } = subject;
    const now = await store.now();
    const times = { late: now - 5, never: null, later: now + LONG_MS, soon: now + 200, latest: now - 9 };
    const opened = Object.entries(times).map(([id, remindAt]) => interrupt(id, 'run', { remindAt }));
    await pausedRun(store, 'run', opened);
    deepStrictEqual(await take(store, LONG_MS, 1), ['latest 1']);
    const next = await take(store);
    await pass(subject, 200);
    // On a slow machine, `soon` was due already.
    deepStrictEqual([...next, ...(await take(store))], ['late 1', 'soon 1']);
    deepStrictEqual(await take(store), []);
  });

  check('taking a reminder returns the interrupt and does not change it', async ({ store }) => {
    const shown = { tool: 'pay', risk: 'high', labels: ['b', 'a'], remindAt: 7, card: { to: ['ann'] } } as const;
    const create = { id: 'run', agent: 'agent', startedBy: 'ann' };
    await store.append(creation('run', { create, status: 'waiting', opened: [interrupt('question', 'run', shown)] }));
    const before = await store.interrupt('question');
    deepStrictEqual(await store.takeReminders(1, LONG_MS), [{ interrupt: before, attempt: 1 }]);
    await store.reminded('question');
    deepStrictEqual(await store.interrupt('question'), before);
  });

  check('settled and expired interrupts have no reminders', async (subject) => {
    const { store } = subject;
    const now = await store.now();
    await pausedRun(store, 'run', [
      interrupt('decided', 'run', { remindAt: 7 }),
      interrupt('expired', 'run', { remindAt: 7, expiresAt: now }),
      interrupt('waits', 'run', { remindAt: 7, expiresAt: now + LONG_MS }),
      interrupt('decided-later', 'run', { remindAt: 6 }),
    ]);
    await store.append(addition('run', 1, { ...settling('so', 'decided'), status: 'waiting' }));
    deepStrictEqual(await take(store, 1), ['decided-later 1', 'waits 1']);
    await store.append(addition('run', 2, settling('so', 'decided-later')));
    await pass(subject, LAPSE_MS);
    deepStrictEqual(await take(store), ['waits 2']);
  });

  check('an unconfirmed reminder comes again, after longer and longer pauses', async (subject) => {
    const { store, advance } = subject;
    const opened = ['first', 'often'].map((id) => interrupt(id, 'run', { remindAt: 7 }));
    await pausedRun(store, 'run', opened.slice(0, 1));
    for (const [attempt, pauseMs] of [100, 200, 400].entries()) {
      deepStrictEqual(await take(store, 100), [`first ${attempt + 1}`]);
      if (advance !== undefined) {
        await advance(pauseMs - 1);
        deepStrictEqual(await take(store, 100), []);
      }
      await pass(subject, advance === undefined ? pauseMs : 1);
    }
    await store.append(addition('run', 1, { ...settling('so', 'first'), opened: opened.slice(1), status: 'waiting' }));
    for (let attempt = 1; attempt <= 10; attempt += 1) {
      deepStrictEqual(await take(store, 1), [`often ${attempt}`]);
      await pass(subject, LAPSE_MS);
    }
    // The longest pause is 64 times the lease.
    deepStrictEqual(await take(store, 500), ['often 11']);
    await pass(subject, 600);
    deepStrictEqual(await take(store, 1), []);
    if (subject.advance === undefined) return;
    await subject.advance(32_000 - 600);
    deepStrictEqual(await take(store, 1), ['often 12']);
  });

  check('a confirmed reminder does not come again, even if it was late', async (subject) => {
    const { store } = subject;
    const opened = Object.entries({ one: 7, two: 8, none: null });
    await pausedRun(
      store,
      'run',
      opened.map(([id, remindAt]) => interrupt(id, 'run', { remindAt })),
    );
    deepStrictEqual(await take(store, 1), ['one 1', 'two 1']);
    await pass(subject, LAPSE_MS);
    for (const id of ['one', 'one', 'none', 'not there']) await store.reminded(id);
    deepStrictEqual(await take(store, 1), ['two 2']);
  });

  check('a confirmed reminder comes again at the next time, as a first attempt', async (subject) => {
    const { store } = subject;
    await pausedRun(store, 'run', [interrupt('often', 'run', { remindAt: 7 }), interrupt('none', 'run')]);
    deepStrictEqual(await take(store, 1), ['often 1']);
    const now = await store.now();
    for (const id of ['often', 'none', 'not there']) await store.reminded(id, now + LONG_MS);
    await pass(subject, LAPSE_MS);
    deepStrictEqual(await take(store, 1), []);
    await store.reminded('often', now - 1, 7);
    deepStrictEqual(await take(store, 1), [], 'another reminder was delivered');
    await store.reminded('often', now - 1, now + LONG_MS);
    const [taken] = await store.takeReminders(10, 1);
    deepStrictEqual([taken?.interrupt.remindAt, taken?.attempt], [now - 1, 1]);
    await store.reminded('often', null);
    await store.reminded('often', now - 1);
    await pass(subject, LAPSE_MS);
    deepStrictEqual(await take(store, 1), []);
    await refused(store.reminded('often', 0.5), 'invalid-options');
  });

  check('an append can set the next reminder, even after the last one', async (subject) => {
    const { store } = subject;
    await pausedRun(store, 'run', [interrupt('late', 'run', { remindAt: 7 }), interrupt('none', 'run')]);
    deepStrictEqual(await take(store, 1), ['late 1']);
    await store.reminded('late');
    const both = ['late', 'none'].map((id) => ({ id, progress: null, remindAt: 9 }));
    await store.append(addition('run', 1, { status: 'waiting', progressed: both }));
    deepStrictEqual([...(await take(store, 1))].sort(), ['late 1', 'none 1']);
    await store.reminded('late', null, 7);
    await store.reminded('none', null, 9);
    await pass(subject, LAPSE_MS);
    deepStrictEqual(await take(store, 1), ['late 2'], 'only the reminder that was delivered is marked');
    await store.append(addition('run', 2, { status: 'waiting', progressed: [{ id: 'none', progress: 1 }] }));
    await pass(subject, LAPSE_MS);
    deepStrictEqual(await take(store, 1), ['late 3']);
  });

  check('with many concurrent callers each reminder goes to one', async ({ store, another }) => {
    const other = (await another?.()) ?? store;
    const all = Array.from({ length: 40 }, (_, index) => interrupt(`q${index}`, 'run', { remindAt: index }));
    await pausedRun(store, 'run', all);
    const takers = Array.from({ length: 20 }, (_, index) => take(index % 2 === 0 ? store : other, LONG_MS, 3));
    const taken = (await Promise.all(takers)).flat();
    for (let more = await take(store); more.length > 0 && taken.length <= all.length; more = await take(store))
      taken.push(...more);
    deepStrictEqual(taken.sort(), all.map(({ id }) => `${id} 1`).sort());
  });
}
