// The store contract: an append that says what the run must still be is refused where it is anything else.
import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import { recordDigest } from '../../runs/port/record-digest.ts';
import type { LoadedRun, RunRecord, Store, StoredEvent } from '../../runs/port/store.ts';
import {
  addition,
  type Check,
  countDone,
  creation,
  interrupt,
  LONG_MS,
  leavesNothing,
  load,
  refused,
  type StoreUnderTest,
  stepDone,
} from './check.ts';

export function unchangedContract(everywhere: Check): void {
  /** Stores that do not compare are never asked to. */
  const check: Check = (name, body) =>
    everywhere(name, async (subject: StoreUnderTest) => {
      if (subject.store.comparesRecords === true) await body(subject);
    });

  check('an append to a run that is as it was happens', async ({ store }) => {
    await store.append(creation('run', { events: [stepDone('a'), stepDone('b', { text: ODD })] }));
    await store.append(addition('run', 2, { status: 'waiting', opened: [interrupt('q', 'run')] }));
    const unchanged = await digestNow(store, 'run', [2, 1]);
    const claim = { how: 'enter', token: 'me', leaseMs: LONG_MS } as const;
    const settled = [{ id: 'q', settlement: 'yes' }];
    deepStrictEqual(await store.append(addition('run', 3, { unchanged, claim, settled })), { claimed: true });
    strictEqual((await load(store, 'run')).run.version, 4);
  });

  check('whatever else is on record, nothing of the append happens', async ({ store }) => {
    const create = { id: 'run', agent: 'clerk', startedBy: 'ann' };
    const events = [stepDone('a', 1), stepDone('b', 2)];
    await store.append(creation('run', { create, events, outcome: { so: 'far' }, opened: [interrupt('q', 'run')] }));
    const { run, events: stored } = await load(store, 'run');
    const others: readonly (readonly [Partial<RunRecord>, readonly StoredEvent[]])[] = [
      ...[{ agent: 'boss' }, { startedBy: 'bob' }, { startedBy: null }, { hash: 'another' }].map(
        (changed) => [changed, stored] as const,
      ),
      ...[{ status: 'waiting' }, { status: 'failed' }, { outcome: { so: 'near' } }, { outcome: null }].map(
        (changed) => [changed as Partial<RunRecord>, stored] as const,
      ),
      ...[[], stored.slice(0, 1), stored.toReversed(), [...stored, stepDone('c')], [stepDone('a', 2)]].map(
        (other) => [{}, other] as const,
      ),
    ];
    for (const [changed, other] of others) {
      const unchanged = digestOf({ run: { ...run, ...changed }, events: other });
      const settled = [{ id: 'q', settlement: 'no' }];
      await leavesNothing(store, addition('run', 2, { unchanged, settled }), 'stale-version', ['q']);
    }
    for (const unchanged of ['', 'nonsense', digestOf({ run, events: stored }).toUpperCase()])
      await leavesNothing(store, addition('run', 2, { unchanged }), 'stale-version', ['q']);
    await store.append(addition('run', 2, { unchanged: digestOf({ run, events: stored }) }));
  });

  check('nor does it after others of its kind that say nothing of the record', async ({ store }) => {
    await store.append(creation('other'));
    await store.append(creation('run'));
    // A store may keep the statements that it has made.
    for (const version of [1, 2, 3]) await store.append(addition('other', version));
    await leavesNothing(store, addition('run', 1, { unchanged: 'another' }), 'stale-version');
    await store.append(addition('run', 1, { unchanged: await digestNow(store, 'run') }));
  });

  check('names and texts of any kind are compared as they are', async ({ store }) => {
    const create = { id: ODD, agent: `${ODD}\n`, startedBy: `\n${ODD}` };
    await store.append(creation(ODD, { create, events: [stepDone(ODD, [ODD, '][', '\n', '"'])] }));
    await store.append(addition(ODD, 1, { unchanged: await digestNow(store, ODD) }));
    strictEqual((await load(store, ODD)).run.version, 2);
  });

  check('the claim and the version are looked at before', async ({ store }) => {
    await store.append(creation('run', { claim: { how: 'take', token: 'other', leaseMs: LONG_MS } }));
    const unchanged = await digestNow(store, 'run');
    const claim = { how: 'enter', token: 'me', leaseMs: LONG_MS } as const;
    await leavesNothing(store, addition('run', 1, { unchanged, claim }), 'claim-lost');
    await leavesNothing(store, addition('run', 2, { unchanged }), 'stale-version');
    await leavesNothing(store, addition('none', 1, { unchanged }), 'stale-version');
    await refused(store.append(creation('new', { unchanged })), 'invalid-options');
  });

  check('a question that does not wait is told of only where the record is the same', async ({ store }) => {
    await store.append(creation('run', { opened: [interrupt('q', 'run')] }));
    const unchanged = await digestNow(store, 'run');
    for (const settled of [[{ id: 'gone', settlement: null }], ['q', 'gone'].map((id) => ({ id, settlement: null }))]) {
      await leavesNothing(store, addition('run', 1, { unchanged, settled }), 'invariant', ['q']);
      await leavesNothing(store, addition('run', 1, { unchanged: 'another', settled }), 'stale-version', ['q']);
    }
  });

  check('of many at once, each is compared with its own run', async ({ store }) => {
    const runs = Array.from({ length: 30 }, (_, index) => `run-${index}`);
    for (const runId of runs) await store.append(creation(runId, { opened: [interrupt(`q-${runId}`, runId)] }));
    const digests = await Promise.all(runs.map((runId) => digestNow(store, runId)));
    const appends = runs.map((runId, index) => {
      const settled = index % 2 === 0 ? [{ id: `q-${runId}`, settlement: index }] : [];
      // Every third says what another run is, and every fifth nothing.
      const unchanged = digests[index % 3 === 0 ? (index + 1) % 30 : index] ?? '';
      return store.append(addition(runId, 1, { settled, ...(index % 5 > 0 && { unchanged }) }));
    });
    const isRefused = (index: number): boolean => index % 3 === 0 && index % 5 > 0;
    strictEqual(await countDone(appends, 'stale-version'), runs.filter((_, index) => !isRefused(index)).length);
    for (const [index, runId] of runs.entries())
      strictEqual((await load(store, runId)).run.version, isRefused(index) ? 1 : 2);
  });

  check('of fifty with the same one happens', async ({ store }) => {
    await store.append(creation('run'));
    const unchanged = await digestNow(store, 'run');
    const appends = Array.from({ length: 50 }, () => store.append(addition('run', 1, { unchanged })));
    strictEqual(await countDone(appends, 'stale-version'), 1);
  });
}

const ODD = 'a "b" \\ / \t\u0001\u007f\u2028é漢🙂';

/** `sizes`: how many events each append had; one append unless given. */
async function digestNow(store: Store, runId: string, sizes?: readonly number[]): Promise<string> {
  return digestOf(await load(store, runId), sizes);
}

function digestOf({ run, events }: LoadedRun, sizes: readonly number[] = [events.length]): string {
  const rest = [...events];
  const lists = sizes.map((size) => JSON.stringify(rest.splice(0, size)));
  return recordDigest(lists.join('\n'), { ...run, outcome: JSON.stringify(run.outcome) });
}
