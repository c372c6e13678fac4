// The store contract: an append that starts a call is refused once the note of what is frozen has changed.
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { FREEZES, type Store, type StoredEvent } from '../../runs/port/store.ts';
import {
  addition,
  type Check,
  codesOf,
  countDone,
  creation,
  ids,
  leavesNothing,
  load,
  refused,
  request,
} from './check.ts';

const STARTS = 400;

const started = (callId = 'call'): StoredEvent => ({ v: 1, type: 'call-started', callId, at: 1_000 });

export async function freezesVersion(store: Store): Promise<number> {
  return (await store.notes.get(...FREEZES))?.version ?? 0;
}

export function freezesContract(check: Check): void {
  check('a start is recorded only under the freezes that it was judged by', async ({ store, another }) => {
    const elsewhere = (await another?.()) ?? store;
    const before = await freezesVersion(store);
    await store.append(creation('run', { events: [started()], freezes: before }));
    await elsewhere.append(addition('run', 1, { events: [started()], freezes: before }));
    ok(await elsewhere.notes.put(...FREEZES, 'frozen'));
    const after = await freezesVersion(store);
    ok(after !== before, 'a freeze has a version of its own');
    const opened = [request('question', 'run')];
    await leavesNothing(store, addition('run', 2, { freezes: before, opened }), 'freezes-changed', ['question']);
    await leavesNothing(store, creation('new', { freezes: before }), 'freezes-changed');
    await refused(store.append(addition('run', 2, { freezes: 0 })), 'freezes-changed');
    await store.append(addition('run', 2, { freezes: after, opened }));
    await store.append(creation('new', { freezes: after }));
    ok(await store.notes.put(...FREEZES, 'thawed', { version: after }));
    await refused(elsewhere.append(addition('run', 3, { freezes: after })), 'freezes-changed');
    strictEqual((await load(store, 'run')).run.version, 3);
  });

  check('an append without a start asks nothing about freezes, and other refusals come first', async ({ store }) => {
    const before = await freezesVersion(store);
    await store.notes.put(...FREEZES, 'frozen');
    await store.append(creation('run'));
    await store.append(addition('run', 1));
    await refused(store.append(creation('run', { freezes: before })), 'run-exists');
    await refused(store.append(addition('run', 1, { freezes: before })), 'stale-version');
    const claimed = { claim: { how: 'hold', token: 'other', leaseMs: 1_000 } } as const;
    await refused(store.append(addition('run', 2, { freezes: before, ...claimed })), 'claim-lost');
  });

  check('appends with and without a start can happen at the same moment', async ({ store }) => {
    const freezes = await freezesVersion(store);
    const many = Array.from({ length: 40 }, (_, index) => `run-${index}`);
    const start = (index: number) => (index % 3 === 0 ? { freezes } : index % 3 === 1 ? { freezes: freezes + 1 } : {});
    const codes = await codesOf(many.map((id, index) => store.append(creation(id, start(index)))));
    deepStrictEqual(
      codes,
      many.map((_, index) => (index % 3 === 1 ? 'freezes-changed' : 'done')),
    );
    const listed = (await store.listRuns({ limit: 100 })).items;
    strictEqual(ids(listed).length, codes.filter((code) => code === 'done').length);
  });

  check('no start that was judged before a freeze is recorded after it', async ({ store, another }) => {
    const freezes = await freezesVersion(store);
    const stores = [store, (await another?.()) ?? store];
    let isFrozen = false;
    const late: string[] = [];
    const starting = Array.from({ length: STARTS }, async (_, index) => {
      const id = `run-${index}`;
      // Some are under way when the freeze comes, and some come later.
      for (let turn = 0; turn < index % 20; turn += 1) await new Promise(setImmediate);
      const begunAfter = isFrozen;
      await (stores[index % 2] as Store).append(creation(id, { events: [started()], freezes }));
      if (begunAfter) late.push(id);
    });
    const counting = countDone(starting, 'freezes-changed');
    await new Promise(setImmediate);
    ok(await (stores[1] as Store).notes.put(...FREEZES, 'frozen'));
    isFrozen = true;
    const recorded = ids((await store.listRuns({ limit: STARTS })).items);
    const done = await counting;
    deepStrictEqual(late, []);
    const after = ids((await store.listRuns({ limit: STARTS })).items);
    deepStrictEqual([after.length, after], [done, recorded], 'nothing came after the freeze was acknowledged');
  });
}
