// The store contract: lists in pages, each item once, whatever is asked for.
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import type { Json } from '../../core/json.ts';
import type {
  InterruptOutcome,
  InterruptQuery,
  InterruptRecord,
  RunQuery,
  RunRecord,
  Store,
} from '../../runs/port/store.ts';
import {
  addition,
  type Check,
  creation,
  ids,
  interrupt,
  type OpenedInterrupt,
  pagesOf,
  pass,
  pausedRun,
  refused,
} from './check.ts';

async function interrupts(store: Store, query: Partial<InterruptQuery>, limit = 3): Promise<readonly string[]> {
  const pages = await pagesOf<InterruptRecord>((after) => store.listInterrupts({ limit, ...query, ...after }));
  for (const page of pages) ok(page.length <= limit);
  return ids(pages.flat());
}

async function runs(store: Store, query: Partial<RunQuery>, limit = 3): Promise<readonly string[]> {
  return ids((await pagesOf<RunRecord>((after) => store.listRuns({ limit, ...query, ...after }))).flat());
}

const byName = (names: readonly string[]): readonly string[] => [...names].sort();

export function listContract(check: Check): void {
  check('interrupts come oldest first, newest first when asked', async ({ store }) => {
    const times: Readonly<Record<string, number>> = { d: 40, a: 10, e: 50, c: 30, b: 20 };
    for (const [id, createdAt] of Object.entries(times)) {
      await pausedRun(store, `run-${id}`, [interrupt(id, `run-${id}`, { createdAt })]);
    }
    deepStrictEqual(await interrupts(store, {}, 2), ['a', 'b', 'c', 'd', 'e']);
    deepStrictEqual(await interrupts(store, { order: 'newest' }, 2), ['e', 'd', 'c', 'b', 'a']);
    deepStrictEqual(await interrupts(store, { createdAfter: 20 }), ['c', 'd', 'e']);
    deepStrictEqual(await interrupts(store, { createdBefore: 40 }), ['a', 'b', 'c']);
    deepStrictEqual(await interrupts(store, { createdAfter: 10, createdBefore: 50, order: 'newest' }, 1), [
      'd',
      'c',
      'b',
    ]);
  });

  check('a page ends with a cursor exactly when another one follows', async ({ store }) => {
    await pausedRun(
      store,
      'run',
      ['a', 'b', 'c', 'd'].map((id) => interrupt(id, 'run')),
    );
    const lengths = async (limit: number): Promise<readonly number[]> =>
      (await pagesOf<InterruptRecord>((after) => store.listInterrupts({ limit, ...after }))).map(
        ({ length }) => length,
      );
    deepStrictEqual(await lengths(1), [1, 1, 1, 1]);
    deepStrictEqual(await lengths(2), [2, 2]);
    deepStrictEqual(await lengths(3), [3, 1]);
    deepStrictEqual(await lengths(4), [4]);
    deepStrictEqual(await lengths(100), [4]);
  });

  check('interrupts of the same millisecond are neither lost nor listed twice', async ({ store }) => {
    const names = Array.from({ length: 25 }, (_, index) => `i${(index * 7) % 25}`);
    await pausedRun(
      store,
      'run',
      names.map((id) => interrupt(id, 'run', { createdAt: 7, labels: ['all'] })),
    );
    for (const query of [{}, { order: 'newest' }, { label: 'all' }, { label: 'all', order: 'newest' }] as const) {
      for (const limit of [1, 4, 24]) {
        deepStrictEqual(byName(await interrupts(store, query, limit)), byName(names));
      }
    }
    deepStrictEqual(await interrupts(store, {}, 4), [...(await interrupts(store, { order: 'newest' }, 4))].reverse());
  });

  check('a list continues after its cursor, whatever happened to earlier items', async ({ store }) => {
    await pausedRun(
      store,
      'run',
      [10, 20, 30, 40].map((createdAt) => interrupt(`at-${createdAt}`, 'run', { createdAt })),
    );
    const { cursor } = await store.listInterrupts({ limit: 2 });
    ok(cursor !== null);
    const settled = ['at-10', 'at-20'].map((id) => ({ id, settlement: null }));
    await store.append(addition('run', 1, { settled, opened: [interrupt('late', 'run', { createdAt: 5 })] }));
    deepStrictEqual(ids((await store.listInterrupts({ limit: 9, after: cursor })).items), ['at-30', 'at-40']);
  });

  check('interrupts are found by each filter', async ({ store }) => {
    const of = (id: string, given: Partial<OpenedInterrupt>): OpenedInterrupt =>
      interrupt(id, given.runId ?? 'one', given);
    await pausedRun(store, 'one', [
      of('a', { agent: 'clerk', tool: 'pay', kind: 'approval', risk: 'high', labels: ['red', 'blue'], createdAt: 1 }),
      of('b', { agent: 'clerk', tool: 'ask', kind: 'question', risk: 'low', labels: ['blue', 'blue'], createdAt: 2 }),
    ]);
    await pausedRun(store, 'two', [
      of('c', { runId: 'two', agent: 'judge', tool: 'pay', kind: 'approval', risk: null, createdAt: 3 }),
      of('d', {
        runId: 'two',
        agent: 'judge',
        tool: 'pay',
        kind: 'question',
        risk: 'high',
        labels: ['red'],
        createdAt: 4,
      }),
    ]);
    const table: readonly (readonly [Partial<InterruptQuery>, readonly string[]])[] = [
      [{}, ['a', 'b', 'c', 'd']],
      [{ runId: 'one' }, ['a', 'b']],
      [{ runId: 'none' }, []],
      [{ agent: 'judge' }, ['c', 'd']],
      [{ tool: 'pay' }, ['a', 'c', 'd']],
      [{ kind: 'question' }, ['b', 'd']],
      [{ risk: 'high' }, ['a', 'd']],
      [{ label: 'blue' }, ['a', 'b']],
      [{ label: 'red' }, ['a', 'd']],
      [{ label: 'green' }, []],
      [{ label: 'blue', tool: 'ask', agent: 'clerk', kind: 'question', risk: 'low', runId: 'one' }, ['b']],
      [{ runId: 'two', tool: 'pay', kind: 'approval', createdAfter: 2, createdBefore: 4 }, ['c']],
      [{ settled: false, tool: 'ask' }, ['b']],
      [{ settled: true }, []],
    ];
    for (const [query, found] of table) {
      for (const limit of [1, 9]) deepStrictEqual(await interrupts(store, query, limit), found, JSON.stringify(query));
    }
    const settled = ['a', 'b'].map((id) => ({ id, settlement: null }));
    await store.append(addition('one', 1, { settled }));
    for (const [query, found] of table.slice(0, -2)) {
      const of = (names: readonly string[]) => found.filter((id) => names.includes(id));
      deepStrictEqual(await interrupts(store, query, 1), of(['c', 'd']), JSON.stringify(query));
      deepStrictEqual(await interrupts(store, { ...query, settled: true }, 1), of(['a', 'b']), JSON.stringify(query));
    }
  });

  check('settled interrupts are found by what became of them', async ({ store }) => {
    const by = (decision: Json, given: object = {}): Json => ({
      ...{ decision, by: 'ann', channel: 'inbox', note: null, at: 1, ...given },
    });
    const strange = '\u0000 \ud800 \\u0000 "edit": 1 deadline';
    const late = { by: 'deadline', channel: null, note: strange };
    const settlements: Readonly<Record<string, Json>> = {
      approved: by({ type: 'approve' }, { note: strange }),
      restarted: by({ type: 'restart', resumed: { edit: strange } }),
      edited: by({ type: 'approve', edit: { a: strange } }),
      editedToNull: by({ type: 'approve', edit: null }),
      replaced: by({ type: 'restart', resumed: true, replaceInput: false }),
      rejected: by({ type: 'reject', reason: strange }),
      answered: by({ type: 'respond', output: { type: 'reject', edit: strange } }),
      cancelled: by({ type: 'cancel' }),
      withdrawn: { withdrawn: true, by: 'deadline', at: 1, note: strange },
      unsaid: null,
      late: by({ type: 'reject' }, late),
      lateApproved: by({ type: 'approve' }, late),
      namesake: by({ type: 'reject' }, { by: 'deadline' }),
    };
    const names = Object.keys(settlements);
    const opened = names.map((id, createdAt) => interrupt(id, 'run', { createdAt, labels: ['all'] }));
    await pausedRun(store, 'run', [...opened, interrupt('waits', 'run', { createdAt: 99, labels: ['all'] })]);
    const settled = names.map((id) => ({ id, settlement: settlements[id] ?? null }));
    await store.append(addition('run', 1, { settled }));
    const outcomes: Readonly<Record<InterruptOutcome, readonly string[]>> = {
      approved: ['approved', 'restarted', 'edited', 'editedToNull', 'replaced', 'lateApproved'],
      edited: ['edited', 'editedToNull', 'replaced'],
      rejected: ['rejected', 'late', 'namesake'],
      answered: ['answered'],
      cancelled: ['cancelled', 'withdrawn', 'unsaid'],
      expired: ['late', 'lateApproved'],
    };
    const queries = [{}, { label: 'all' }, { runId: 'run' }, { search: 'tool' }, { tool: 'none' }] as const;
    for (const [outcome, found] of Object.entries(outcomes) as [InterruptOutcome, readonly string[]][]) {
      for (const query of queries) {
        const expected = 'tool' in query ? [] : found;
        const asked = { ...query, outcome };
        deepStrictEqual(await interrupts(store, { ...asked, settled: true }, 2), expected, JSON.stringify(asked));
        deepStrictEqual(await interrupts(store, asked), [], `pending: ${JSON.stringify(asked)}`);
      }
      const newest = await interrupts(store, { outcome, settled: true, order: 'newest' }, 1);
      deepStrictEqual(newest, [...found].reverse());
    }
  });

  check('runs come newest first, oldest first when asked, each once', async (subject) => {
    const { store } = subject;
    const names: string[] = [];
    for (const status of ['running', 'waiting', 'done', 'failed', 'cancelled', 'done', 'running'] as const) {
      const id = `run-${names.push('')}`;
      names[names.length - 1] = id;
      const create = { id, agent: `agent-${names.length % 2}`, startedBy: names.length > 3 ? 'ann' : null };
      await store.append(creation(id, { create, status }));
      if (names.length % 3 !== 0) await pass(subject, 2);
    }
    const newest = await runs(store, {}, 2);
    deepStrictEqual(byName(newest), byName(names));
    deepStrictEqual(await runs(store, { order: 'oldest' }, 2), [...newest].reverse());
    strictEqual(newest.at(-1), 'run-1');
    deepStrictEqual(byName(await runs(store, { status: 'done' }, 1)), ['run-3', 'run-6']);
    deepStrictEqual(byName(await runs(store, { agent: 'agent-1' }, 1)), ['run-1', 'run-3', 'run-5', 'run-7']);
    deepStrictEqual(byName(await runs(store, { startedBy: 'ann', status: 'running' }, 1)), ['run-7']);
    deepStrictEqual(await runs(store, { startedBy: 'bob' }), []);
    await store.append(addition('run-1', 1, { status: 'failed' }));
    deepStrictEqual(byName(await runs(store, { status: 'failed' }, 1)), ['run-1', 'run-4']);
    deepStrictEqual((await store.listRuns({ status: 'failed', order: 'oldest', limit: 1 })).items, [
      (await store.read('run-1'))?.run,
    ]);
  });

  check('a page of no items, or after an unknown cursor, is refused', async ({ store }) => {
    for (const limit of [0, -1, 1.5, Number.NaN]) {
      await refused(store.listRuns({ limit }), 'invalid-options');
      await refused(store.listInterrupts({ limit }), 'invalid-options');
    }
    for (const after of ['', 'nonsense', Buffer.from('["a",1]').toString('base64url')]) {
      await refused(store.listRuns({ limit: 1, after }), 'invalid-options');
      await refused(store.listInterrupts({ limit: 1, after }), 'invalid-options');
    }
  });
}
