// The index of searches on SQLite: what it finds is what looking at every request finds, whatever it lacks.

import { DatabaseSync } from 'node:sqlite';
import { memoryStore } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import type { Append, Store } from 'countersign/store';
import { expect, onTestFinished, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { temporaryFolder } from './folder.ts';

const WORDS = [
  'Äpfel',
  'order',
  'a-0001',
  'a-0002',
  'ünïcode',
  '日本語',
  '👩‍👩‍👧',
  'say "so"',
  "it's",
  'a',
  'xy',
  '*',
  'AND',
  '%_',
  'x'.repeat(300),
];

const openedBy = (number: number, text: string): Append => ({
  ...{ runId: `run-${number}`, expectedVersion: 0, create: { id: `run-${number}`, agent: 'clerk', startedBy: null } },
  ...{ events: [{ v: 1, type: 'step-done', callId: 'c', step: 's', output: null, at: 1 }], hash: 'h', status: 'done' },
  ...{ wakeAt: null, outcome: null, settled: [] },
  opened: [
    {
      ...{ id: `run-${number}:q`, runId: `run-${number}`, agent: 'clerk', tool: 'pay', kind: 'approval', risk: null },
      ...{ labels: [], createdAt: number, expiresAt: null, deciders: null, digest: 'd' },
      card: { part: { toolRequest: { name: 'pay', ref: 'c', input: { text } } } },
    },
  ],
});

function opened() {
  const folder = temporaryFolder();
  const path = `${folder.path}/runs.sqlite`;
  const store = sqliteStore(path);
  onTestFinished(async () => {
    await store.close();
    folder.remove();
  });
  /** Resolves once the index has every request. */
  const caughtUp = () =>
    eventually(() => {
      const database = new DatabaseSync(path, { readOnly: true });
      try {
        const last = database.prepare('SELECT max(seq) AS seq FROM countersign_request').get()?.seq;
        expect(database.prepare('SELECT up_to FROM countersign_searched').get()?.up_to).toBe(last);
      } finally {
        database.close();
      }
    });
  return { store, path, caughtUp };
}

const idsOf = async (store: Store, search: string) =>
  (await store.listRequests({ search, limit: 1_000 })).items.map(({ id }) => id);

test('an index that is missing, behind or complete finds what looking at every request finds', async () => {
  const { store, caughtUp } = opened();
  const plain = memoryStore();
  const add = async (from: number, count: number) => {
    for (let number = from; number < from + count; number += 1) {
      const text = [0, 1, 2]
        .map((word) => WORDS[(number * 7 + word * number) % WORDS.length])
        .join(number % 2 ? ' ' : '');
      for (const one of [store, plain]) await one.append(openedBy(number, text));
    }
  };
  const same = async () => {
    for (const word of [...WORDS, 'xx', 'ord 000', 'pfel', '"so', 'aaaa', '本語', 'r"', 'nothing like it'])
      expect([word, await idsOf(store, word)]).toEqual([word, await idsOf(plain, word)]);
  };
  await add(1, 300);
  await same();
  await caughtUp();
  await same();
  await add(301, 40);
  await same();
  await caughtUp();
  await same();
});

test('a number that is used again after a deletion is found by its new text only', async () => {
  const { store, caughtUp } = opened();
  for (let number = 1; number <= 4; number += 1) await store.append(openedBy(number, `text${number}`));
  await idsOf(store, 'text4');
  await caughtUp();
  for (const number of [3, 4]) expect(await store.delete(`run-${number}`)).toBe(true);
  await store.append(openedBy(5, 'another'));
  expect([await idsOf(store, 'another'), await idsOf(store, 'text4')]).toEqual([['run-5:q'], []]);
  await caughtUp();
  expect([await idsOf(store, 'another'), await idsOf(store, 'text4')]).toEqual([['run-5:q'], []]);
});

test('searches work without the index', async () => {
  const { store, path, caughtUp } = opened();
  await store.append(openedBy(1, 'invoice'));
  await idsOf(store, 'invoice');
  await caughtUp();
  const database = new DatabaseSync(path);
  database.exec('DROP TABLE countersign_search');
  database.close();
  expect(await idsOf(store, 'invoice')).toEqual(['run-1:q']);
  await store.append(openedBy(2, 'invoices'));
  expect(await idsOf(store, 'invoice')).toEqual(['run-1:q', 'run-2:q']);
});

test('a store that nobody searches has no index', async () => {
  const { store, path } = opened();
  await store.append(openedBy(1, 'invoice'));
  await store.listRequests({ limit: 5 });
  const database = new DatabaseSync(path, { readOnly: true });
  expect(database.prepare("SELECT 1 FROM sqlite_schema WHERE name LIKE 'countersign_search%'").get()).toBeUndefined();
  database.close();
});
