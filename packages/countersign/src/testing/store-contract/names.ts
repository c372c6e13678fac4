// The store contract: names are compared byte by byte, even if a database would treat two as equal.
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import {
  addition,
  type Check,
  claim,
  creation,
  ids,
  interrupt,
  LONG_MS,
  listed,
  load,
  refused,
  settling,
} from './check.ts';

/** They differ in case, in spaces, or in the form or width of a letter. The last has characters that databases escape. */
const NAMES = [
  ...['name', 'Name', 'NAME', 'name ', ' name', 'namé', 'name\u0301', 'nam\u212f', 'ｎame', ''],
  'é 汉字 👩‍👩‍👧 "quoted" \\ \' $1 \n%',
];

export function namesContract(check: Check): void {
  check('runs and interrupts with nearly the same names are kept apart', async ({ store }) => {
    for (const name of NAMES) {
      const runId = `run ${name}`;
      strictEqual(await store.read(runId), undefined, runId);
      strictEqual(await store.interrupt(`q ${name}`), undefined, runId);
      await refused(store.append(addition(runId, 1)), 'stale-version');
      const fields = { agent: name, tool: name, kind: name, labels: [name], digest: name };
      const create = { id: runId, agent: name, startedBy: name };
      await store.append(creation(runId, { create, hash: name, opened: [interrupt(`q ${name}`, runId, fields)] }));
    }
    for (const name of NAMES) {
      const runId = `run ${name}`;
      const { run, events } = await load(store, runId);
      deepStrictEqual([run.id, run.agent, run.startedBy, run.hash, events.length], [runId, name, name, name, 1]);
      const kept = await store.interrupt(`q ${name}`);
      deepStrictEqual([kept?.runId, kept?.agent, kept?.tool], [runId, name, name]);
      deepStrictEqual([kept?.kind, kept?.labels, kept?.startedBy, kept?.digest], [name, [name], name, name]);
      for (const query of [{ agent: name }, { startedBy: name }]) {
        deepStrictEqual(ids((await store.listRuns({ ...query, limit: 20 })).items), [runId], JSON.stringify(query));
      }
      const queries = [...[{ agent: name }, { startedBy: name }, { tool: name }], { kind: name }, { label: name }];
      for (const query of [...queries, { runId }]) {
        deepStrictEqual(await listed(store, query, 20), [`q ${name}`], JSON.stringify(query));
      }
    }
    await store.append(addition('run name', 1, settling('so', 'q name')));
    deepStrictEqual(await listed(store, { settled: true }, 20), ['q name']);
  });

  check('a claim is held by one token, not by similar ones', async ({ store }) => {
    const [mine = '', ...others] = NAMES;
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
    const names = NAMES.filter((name) => name !== '');
    for (const name of names) {
      strictEqual(await notes.put(name, 'key', name, { version: 0 }), true, name);
      strictEqual(await notes.put('all', name, name, { version: 0 }), true, name);
    }
    for (const name of names) {
      strictEqual((await notes.get(name, 'key'))?.value, name);
      strictEqual((await notes.get('all', name))?.value, name);
      strictEqual((await notes.list(name, { limit: 20 })).items.length, 1);
    }
    const found = await notes.getMany('all', names);
    deepStrictEqual(new Map(found.map(({ key, value }) => [key, value])), new Map(names.map((name) => [name, name])));
  });
}
