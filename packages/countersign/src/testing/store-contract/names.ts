// The store contract: names are compared byte by byte, even if a database would treat two as equal.
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { addition, type Check, creation, ids, interrupt, LONG_MS, load, pausedRun, refused } from './check.ts';

/** They differ in case, in spaces, in the form of a letter, or in its width. */
const ALIKE: readonly string[] = [
  'name',
  'Name',
  'NAME',
  'name ',
  ' name',
  'namé',
  'name\u0301',
  'nam\u212f',
  'ｎame',
  '',
];

export function namesContract(check: Check): void {
  check('runs and interrupts with nearly the same names are kept apart', async ({ store }) => {
    const runIds = ALIKE.map((name) => `run ${name}`);
    for (const [index, name] of ALIKE.entries()) {
      const runId = runIds[index] ?? '';
      const given = { agent: name, tool: name, kind: name, labels: [name], digest: name };
      const create = { id: runId, agent: name, startedBy: name };
      await store.append(creation(runId, { create, hash: name, opened: [interrupt(`q ${name}`, runId, given)] }));
    }
    for (const [index, name] of ALIKE.entries()) {
      const runId = runIds[index] ?? '';
      const { run, events } = await load(store, runId);
      deepStrictEqual([run.id, run.agent, run.startedBy, run.hash], [runId, name, name, name]);
      strictEqual(events.length, 1);
      const kept = await store.interrupt(`q ${name}`);
      deepStrictEqual(
        [kept?.runId, kept?.tool, kept?.kind, kept?.startedBy, kept?.digest],
        [runId, name, name, name, name],
      );
      for (const query of [{ agent: name }, { startedBy: name }]) {
        deepStrictEqual(ids((await store.listRuns({ ...query, limit: 20 })).items), [runId], JSON.stringify(query));
      }
      for (const query of [
        { agent: name },
        { startedBy: name },
        { tool: name },
        { kind: name },
        { label: name },
        { runId },
      ]) {
        const { items } = await store.listInterrupts({ ...query, limit: 20 });
        deepStrictEqual(ids(items), [`q ${name}`], JSON.stringify(query));
      }
    }
  });

  check('an append to one of them does not change the others', async ({ store }) => {
    const [first = '', ...others] = ALIKE.map((name) => `run ${name}`);
    await pausedRun(store, first, [interrupt(`${first}?`, first)]);
    for (const runId of others) {
      strictEqual(await store.read(runId), undefined, runId);
      strictEqual(await store.interrupt(`${runId}?`), undefined, runId);
      await refused(store.append(addition(runId, 1)), 'stale-version');
      const settled = [{ id: `${runId}?`, settlement: 'theirs' }];
      await refused(store.append(addition(first, 1, { settled })), 'invariant');
    }
    strictEqual((await store.interrupt(`${first}?`))?.settledAt, null);
  });

  check('a claim is held by one token, not by similar ones', async ({ store }) => {
    const [mine = '', ...others] = ALIKE;
    await store.append(creation('run', { claim: { how: 'take', token: mine, leaseMs: LONG_MS } }));
    for (const token of others) {
      strictEqual(await store.claim('run', token, LONG_MS), undefined, token);
      strictEqual(await store.renew('run', token, LONG_MS), false, token);
      await store.release('run', token);
      await refused(
        store.append(addition('run', 1, { claim: { how: 'hold', token, leaseMs: LONG_MS } })),
        'claim-lost',
      );
    }
    ok(await store.renew('run', mine, LONG_MS));
  });

  check('notes with nearly the same collection or key are different notes', async ({ store: { notes } }) => {
    const names = ALIKE.filter((name) => name !== '');
    for (const name of names) strictEqual(await notes.put(name, 'key', name, { version: 0 }), true, name);
    for (const name of names) strictEqual(await notes.put('all', name, name, { version: 0 }), true, name);
    for (const name of names) {
      strictEqual((await notes.get(name, 'key'))?.value, name);
      strictEqual((await notes.get('all', name))?.value, name);
      strictEqual((await notes.list(name, { limit: 20 })).items.length, 1);
    }
    const found = await notes.getMany('all', names);
    deepStrictEqual(
      found.map(({ key }) => key),
      names,
    );
  });
}
