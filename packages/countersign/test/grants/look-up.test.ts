// Looking for grants costs next to nothing while no grant is open, and misses none that this process gave or took over.
import { memoryStore, type RunRequest } from 'countersign';
import type { Notes, Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import { changedStore } from '../changed-store.ts';
import { openPayer } from './kit.ts';

/** A store of its own for each process, on the same data. */
function processOn(store: Store): { readonly store: Store; readonly looks: string[] } {
  const looks: string[] = [];
  const { notes } = store;
  const counted: Notes = {
    ...notes,
    list: (collection, query) => {
      looks.push(collection);
      return notes.list(collection, query);
    },
  };
  return { store: changedStore(store, { notes: counted }), looks };
}

const acme = [{ to: 'ACME', amount: 100 }];

test('calls that ask at the same time look once for grants while none is open', async () => {
  const { store, looks } = processOn(memoryStore());
  const { start } = openPayer(store);
  const runs = await Promise.all(Array.from({ length: 32 }, () => start(acme)));
  expect(new Set(runs.map(({ status }) => status))).toEqual(new Set(['waiting']));
  expect(looks).toHaveLength(1);
});

test('a grant counts at once in the process that gave it', async () => {
  const { store } = processOn(memoryStore());
  const { give, start } = openPayer(store);
  expect((await start(acme)).status).toBe('waiting');
  await give();
  expect((await start(acme)).status).toBe('done');
});

test('a grant that came with a decision elsewhere counts when this process takes the run over', async () => {
  const kept = memoryStore();
  const model = scriptedModel(({ messages }) =>
    messages.length > 4 ? 'Done.' : { calls: [{ name: 'pay', input: { to: 'ACME', amount: messages.length } }] },
  );
  const deciding = openPayer(processOn(kept).store, {}, { model });
  const { ai, start } = openPayer(processOn(kept).store, {}, { model });
  const { id } = await deciding.start(acme);
  const [question] = await deciding.questions(id);
  // This process has just looked, and found none.
  expect((await start(acme)).status).toBe('waiting');
  const grant = await deciding.request();
  await deciding.ai.runs.decide(question as RunRequest, 'approve', { by: 'ben', grant, drive: false });
  const worker = ai.runs.work();
  expect(await ai.runs.wait(id, { until: 'end' })).toMatchObject({ status: 'done', messages: { length: 6 } });
  await worker.stop();
});
