// The store contract: a read is a consistent snapshot, however much is written meanwhile.
import { ok, strictEqual } from 'node:assert/strict';
import type { Append, LoadedRun, Store } from '../../runs/port/store.ts';
import { addition, type Check, creation, LONG_MS, load } from './check.ts';

const APPENDS = 25;

/** Appends one event after the other while `look` runs again and again. */
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

function isOfOneMoment(loaded: LoadedRun | undefined, after = 0, limit = Number.POSITIVE_INFINITY): void {
  ok(loaded !== undefined);
  const { run, events } = loaded;
  strictEqual(events.length, Math.min(limit, Math.max(0, run.version - after)), 'The run and its events do not fit.');
}

export function momentContract(check: Check): void {
  check('a run and its events are read at one moment', async ({ store, another }) => {
    const elsewhere = (await another?.()) ?? store;
    await store.append(creation('run'));
    await whileAppending(store, async () => {
      isOfOneMoment(await elsewhere.read('run'));
      isOfOneMoment(await elsewhere.read('run', { after: 1 }), 1);
      isOfOneMoment(await elsewhere.read('run', { limit: 5 }), 0, 5);
    });
    strictEqual((await load(store, 'run')).events.length, APPENDS + 1);
  });

  check('a run and its events are claimed at one moment', async ({ store, another }) => {
    const elsewhere = (await another?.()) ?? store;
    await store.append(creation('run'));
    await whileAppending(store, async () => isOfOneMoment(await elsewhere.claim('run', 'me', LONG_MS)));
  });

  check('a claim has read everything that was written before it', async ({ store, another }) => {
    const elsewhere = (await another?.()) ?? store;
    const claim = (how: 'pass' | 'hold', token: string): Pick<Append, 'claim'> => ({
      claim: { how, token, leaseMs: LONG_MS },
    });
    for (let round = 0; round < 5; round += 1) {
      const runId = `run-${round}`;
      await store.append(creation(runId));
      // Nobody passes any more once the claim is taken, so that its holder is not behind.
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
