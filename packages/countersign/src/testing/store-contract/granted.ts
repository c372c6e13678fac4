// The store contract: a call that a grant let run is a request that is settled from the start, in one append.
import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import type { Json } from '../../core/json.ts';
import { addition, type Check, creation, LONG_MS, leavesNothing, listed, pausedRun, request } from './check.ts';

const settlement: Json = { granted: { id: 'grant_1', amount: 5 }, by: 'ben', at: 1 };
const create = { id: 'run', agent: 'agent', startedBy: 'ann' };

export function grantedContract(check: Check): void {
  check('a request can be opened settled, beside pending ones', async ({ store }) => {
    const deciders = { people: ['ben'], roles: ['finance'] };
    const outcome = { state: 'done', at: 1, text: null };
    const opened = [
      request('asked', 'run'),
      request('granted', 'run', { settlement, deciders, createdAt: 2_000 }),
      request('over', 'run', { settlement, outcome, createdAt: 3_000 }),
    ];
    await store.append(creation('run', { create, status: 'waiting', opened, at: 5_000 }));
    deepStrictEqual(await store.request('granted'), {
      ...opened[1],
      ...{ startedBy: 'ann', settledAt: 5_000, outcome: null, progress: null },
    });
    deepStrictEqual((await store.request('over'))?.outcome, outcome);
    strictEqual((await store.request('asked'))?.settledAt, null);
    deepStrictEqual(await listed(store, {}), ['asked']);
    deepStrictEqual(await listed(store, { settled: true }), ['granted', 'over']);
    for (const people of [['ben'], ['dora']])
      deepStrictEqual(
        await listed(store, { settled: true, deciders: { people, roles: [] } }),
        people[0] === 'ben' ? ['granted', 'over'] : ['over'],
      );
    deepStrictEqual(await listed(store, { settled: true, settledSince: 5_000 }), ['granted', 'over']);
    deepStrictEqual(await listed(store, { settled: true, runId: 'run', outcome: 'done' }), ['over']);
  });

  check('several runs open settled requests at the same moment', async ({ store }) => {
    const runs = ['a', 'b', 'c', 'd'];
    const opened = (id: string) => [request(id, `run-${id}`, id === 'b' ? {} : { settlement })];
    await Promise.all(runs.map((id) => store.append(creation(`run-${id}`, { opened: opened(id) }))));
    deepStrictEqual([...(await listed(store, { settled: true }))].sort(), ['a', 'c', 'd']);
    deepStrictEqual(await listed(store, {}), ['b']);
  });

  check('it is settled once: it cannot be settled or opened again', async ({ store }) => {
    await store.append(creation('run', { opened: [request('granted', 'run', { settlement })] }));
    const settled = [{ id: 'granted', settlement: { decision: { type: 'reject' } } }];
    await leavesNothing(store, addition('run', 1, { settled }), 'invariant', ['granted']);
    await leavesNothing(
      store,
      addition('run', 1, { opened: [request('granted', 'run', { settlement })] }),
      'invariant',
    );
  });

  check('its call gets an outcome, and nobody is told of either', async ({ store }) => {
    await store.append(creation('run', { opened: [request('granted', 'run', { settlement })] }));
    const outcome = { state: 'failed', at: 2, text: 'no', mayHaveActed: false };
    await store.append(addition('run', 1, { ended: [{ id: 'granted', outcome }] }));
    deepStrictEqual((await store.request('granted'))?.outcome, outcome);
    deepStrictEqual(await listed(store, { settled: true, outcome: 'failed' }), ['granted']);
    if (store.takeUntold) deepStrictEqual(await store.takeUntold(5, LONG_MS), []);
  });

  check('no statistics count it, pending or decided', async ({ store }) => {
    await store.append(creation('run', { create, opened: [request('granted', 'run', { settlement })] }));
    await pausedRun(store, 'other', [request('asked', 'other')]);
    for (const query of [{ since: 0 }, { since: 0, startedBy: 'ann' }]) {
      const { waiting, decided, medianMs, tools } = await store.stats(query);
      deepStrictEqual([decided, medianMs], [0, null]);
      strictEqual(waiting, query.startedBy ? 0 : 1);
      strictEqual(tools.length, query.startedBy ? 0 : 1);
    }
  });

  check('it is deleted with its run', async ({ store }) => {
    await store.append(creation('run', { status: 'done', opened: [request('granted', 'run', { settlement })] }));
    strictEqual(await store.delete('run'), true);
    deepStrictEqual(await listed(store, { settled: true }), []);
    deepStrictEqual(await listed(store, { settled: true, deciders: { people: [], roles: [] } }), []);
  });
}
