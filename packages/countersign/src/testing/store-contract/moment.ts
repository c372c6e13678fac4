// The store contract: a read returns a consistent snapshot, even while other callers write.
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { readOn } from '../../runs/port/read-run.ts';
import type { LoadedRun, Store } from '../../runs/port/store.ts';
import { addition, type Check, claim, creation, LONG_MS, load, stepDone } from './check.ts';

const APPENDS = 25;

export function momentContract(check: Check): void {
  check('a run and its events are read at one moment', async ({ store, another }) => {
    const elsewhere = (await another?.()) ?? store;
    await store.append(creation('run'));
    await whileAppending(store, async () => {
      isConsistent(await elsewhere.read('run'));
      isConsistent(await elsewhere.read('run', { after: 1 }), 1);
      isConsistent(await elsewhere.read('run', { limit: 5 }), 0, 5);
      const claimed = await elsewhere.claim('run', 'me', LONG_MS);
      isConsistent(claimed && (await readOn(elsewhere, claimed)));
    });
    const steps = Array.from({ length: APPENDS + 1 }, (_, version) => stepDone(`run-${version}`));
    deepStrictEqual((await load(store, 'run')).events, steps);
  });

  check('a claim has read everything that was written before it', async ({ store, another }) => {
    const elsewhere = (await another?.()) ?? store;
    for (let round = 0; round < 5; round += 1) {
      const runId = `run-${round}`;
      await store.append(creation(runId));
      // These appends are refused once the run is claimed, so the claim must have read the last one.
      const passing = (async () => {
        for (let version = 1; version < 200; version += 1)
          await store.append(addition(runId, version, claim('pass', 'other')));
      })().catch((error: { readonly code?: unknown }) => strictEqual(error.code, 'claim-lost'));
      const loaded = await elsewhere.claim(runId, 'me', LONG_MS);
      await elsewhere.append(addition(runId, loaded?.run.version ?? 0, claim('hold', 'me')));
      await passing;
    }
  });
}

/** Appends one event after the other while `look` runs repeatedly. */
async function whileAppending(store: Store, look: () => Promise<void>): Promise<void> {
  let isOver = false;
  const looking = (async () => {
    for (; !isOver; await new Promise(setImmediate)) await look();
  })();
  const appending = (async () => {
    for (let version = 1; version <= APPENDS; version += 1) await store.append(addition('run', version));
  })();
  await Promise.all([appending.finally(() => (isOver = true)), looking]);
}

function isConsistent(loaded: LoadedRun | undefined, after = 0, limit = Number.POSITIVE_INFINITY): void {
  ok(loaded !== undefined);
  const { run, events } = loaded;
  const expected = Math.min(limit, Math.max(0, run.version - after));
  strictEqual(events.length, expected, 'The version of the run does not match its events.');
}
