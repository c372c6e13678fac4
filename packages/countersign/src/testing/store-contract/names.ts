// The store contract: names are compared byte by byte, even if a database would treat two as equal.
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import {
  addition,
  type Check,
  claim,
  creation,
  ids,
  LONG_MS,
  listed,
  load,
  refused,
  request,
  settling,
} from './check.ts';

/** They differ in case, in spaces, or in the form or width of a letter. */
const SIMILAR = ['name', 'Name', 'NAME', 'name ', ' name', 'namé', 'name\u0301', 'nam\u212f', 'ｎame'];

/** A store could misread these. */
const ODD = [
  ...`NULL null {} {"a","b"} " "" \\ \\" ' $1 , ä€😀 \\n \u2028 %s ? -- [null] \u007f`.split(' '),
  ...['', 'a\nb', '\n', '\r\n', '\t', ' ', 'x'.repeat(3_000)],
];

export function namesContract(check: Check): void {
  check('runs and requests with odd or nearly the same names are kept apart, even at once', async ({ store }) => {
    const creations = [...SIMILAR, ...ODD].map((name, index) => {
      const runId = `run ${name}`;
      // Each run has one or two requests, and every second one has labels.
      const asked = [`q ${name}`, `more ${name}`].slice(index % 2);
      const labels = index % 2 === 0 ? [name, 'all', name] : [];
      const times = { createdAt: index, expiresAt: index % 2 === 0 ? null : index };
      const fields = { agent: name, tool: name, kind: name, risk: 'high', digest: name, labels, ...times } as const;
      return creation(runId, {
        ...{ create: { id: runId, agent: name, startedBy: index % 3 === 0 ? null : name }, hash: name, outcome: name },
        opened: asked.map((id) => request(id, runId, { ...fields, card: { name } })),
      });
    });
    await Promise.all(creations.map((append) => store.append(append)));
    for (const { runId, create, hash, events, opened } of creations) {
      const { run, events: stored } = await load(store, runId);
      deepStrictEqual([run.agent, run.startedBy, run.hash, run.outcome], [hash, create?.startedBy, hash, hash]);
      deepStrictEqual(stored, events);
      for (const asked of opened) {
        const pending = {
          ...asked,
          startedBy: create?.startedBy,
          progress: null,
          settledAt: null,
          settlement: null,
          outcome: null,
        };
        deepStrictEqual(await store.request(asked.id), pending);
      }
      deepStrictEqual(ids((await store.listRuns({ agent: hash, limit: 9 })).items), [runId]);
      for (const query of [{ agent: hash }, { tool: hash }, { kind: hash }, { runId }]) {
        deepStrictEqual(await listed(store, query), ids(opened), JSON.stringify(query));
      }
      const labelled = opened.filter(({ labels }) => labels.length > 0);
      deepStrictEqual(await listed(store, { label: hash }), ids(labelled), hash);
    }
    const before = await store.now();
    const additions = creations.map(({ runId, hash, opened }) =>
      addition(runId, 1, settling({ name: hash }, ...ids(opened))),
    );
    await Promise.all(additions.map((append) => store.append(append)));
    for (const { id, card } of creations.flatMap(({ opened }) => opened)) {
      const { settlement, settledAt } = (await store.request(id)) ?? {};
      deepStrictEqual(settlement, card);
      ok((settledAt ?? -1) >= before);
    }
    deepStrictEqual(await listed(store, { label: 'all' }), []);
  });

  check('a claim is held by one token, not by similar ones', async ({ store }) => {
    const [mine = '', ...others] = SIMILAR;
    await store.append(creation('run', claim('take', mine)));
    for (const token of others) {
      strictEqual(await store.claim('run', token, LONG_MS), undefined, token);
      strictEqual(await store.renew('run', token, LONG_MS), false, token);
      await store.release('run', token);
      await refused(store.append(addition('run', 1, claim('hold', token))), 'claim-lost');
    }
    ok(await store.renew('run', mine, LONG_MS));
  });

  check('notes with nearly the same collection or key are different notes', async ({ store: { notes } }) => {
    for (const name of SIMILAR) {
      strictEqual(await notes.put(name, 'key', name, { version: 0 }), true, name);
      strictEqual(await notes.put('all', name, name, { version: 0 }), true, name);
    }
    for (const name of SIMILAR) strictEqual((await notes.get(name, 'key'))?.value, name);
    for (const { key, value } of await notes.getMany('all', SIMILAR)) strictEqual(value, key);
  });
}
