// The published contract finds bugs planted into a correct store.
import { memoryStore } from 'countersign';
import type { Append, Store } from 'countersign/store';
import { storeContract } from 'countersign/testing';
import { expect, test } from 'vitest';

/** The methods that the bug replaces. */
type Bug = (store: Store) => Partial<Store>;

const turn = () => new Promise(setImmediate);

const BUGS: Readonly<Record<string, readonly [check: string, bug: Bug]>> = {
  'an append that takes the claim ignores the version': ['the claim: take', (store) => unfenced(store, 'take')],
  'an append that enters the claim ignores the version': ['the claim: enter', (store) => unfenced(store, 'enter')],
  'a refused append takes the claim': [
    'the claim: take',
    (store) => ({
      append: (append) =>
        store.append(append).catch(async (error: unknown) => {
          if (append.claim) await store.claim(append.runId, append.claim.token, append.claim.leaseMs);
          throw error;
        }),
    }),
  ],
  'the record and the events are of two moments': [
    'are read at one moment',
    (store) => ({
      read: async (id, options) => {
        const run = (await store.read(id, options))?.run;
        await turn();
        const events = (await store.read(id, options))?.events;
        return run && events && { run, events };
      },
    }),
  ],
  'a claim is taken after the run was read': [
    'has read everything',
    (store) => ({
      claim: async (id, token, leaseMs) => {
        const loaded = await store.read(id);
        await turn();
        return (await store.claim(id, token, leaseMs)) && loaded;
      },
    }),
  ],
  'a running run with a deadline is not due before it': [
    'whatever its wake time',
    (store) => ({
      due: async (...asked) => {
        const runs = await Promise.all((await store.due(...asked)).map((id) => store.read(id)));
        return runs.flatMap((loaded) => (loaded && loaded.run.wakeAt === null ? [loaded.run.id] : []));
      },
    }),
  ],
  'a worker receives the runs of all agents': [
    'limited to some agents',
    (store) => ({ due: (limit) => store.due(limit) }),
  ],
  'ids that differ in case are one': [
    'nearly the same names are kept apart',
    (store) => ({ request: (id) => store.request(id.toLowerCase()) }),
  ],
  'a falsy value becomes null': [
    'zero or false value',
    (store) => ({ append: (append) => store.append({ ...append, outcome: append.outcome || null }) }),
  ],
  'readers share one object': [
    'does not change the run',
    (store) => {
      const known = new Map<string, ReturnType<Store['request']>>();
      return { request: (id) => known.get(id) ?? known.set(id, store.request(id)).get(id) ?? store.request(id) };
    },
  ],
  'every page is the first': [
    'newest first when asked, each once',
    (store) => ({ listRequests: ({ after: _, ...query }) => store.listRequests(query) }),
  ],
  'every page of the notes is the first': [
    'every note of its collection once',
    ({ notes }) => ({
      notes: {
        get: (...asked) => notes.get(...asked),
        getMany: (...asked) => notes.getMany(...asked),
        put: (...asked) => notes.put(...asked),
        remove: (...asked) => notes.remove(...asked),
        list: (collection, { limit }) => notes.list(collection, { limit }),
      },
    }),
  ],
  'an untold request goes to every worker that asks': [
    'each untold request goes to one',
    (store) => ({
      takeUntold: async (limit) => (await store.listRequests({ limit })).items.map((request) => ({ request, news: 1 })),
    }),
  ],
  'news that came meanwhile are removed': [
    'are not lost',
    (store) => ({
      told: async (id) => {
        for (const news of [1, 2, 3]) await store.told?.(id, news);
      },
    }),
  ],
  'a run is deleted although it was continued': [
    'never both',
    (store) => ({
      delete: async (id) => {
        if ((await store.read(id))?.run.status !== 'done') return false;
        await turn();
        await store.delete(id);
        return true;
      },
    }),
  ],
};

test.each(Object.entries(BUGS))('%s', async (_name, [check, bug]) => {
  expect(await failed(check, () => ({}))).toEqual([]);
  expect(await failed(check, bug)).not.toEqual([]);
});

test('a store that accepts an invalid query fails the contract', async () => {
  const found = await failed('a page of no items', () => ({ listRuns: async () => ({ items: [], cursor: null }) }));
  expect(found).toEqual([expect.stringContaining('It must be refused as invalid-options, but was accepted.')]);
});

function unfenced(store: Store, how: string): Partial<Store> {
  const latest = async ({ runId }: Append): Promise<number> => (await store.read(runId))?.run.version ?? 0;
  return {
    append: async (append) =>
      store.append(append.claim?.how === how ? { ...append, expectedVersion: await latest(append) } : append),
  };
}

/** The failing checks whose name contains `check`, with their messages. */
async function failed(check: string, bug: Bug): Promise<readonly string[]> {
  const checks: [string, () => Promise<void>][] = [];
  const make = async () => {
    let time = 1_000_000;
    const sound = memoryStore({ now: () => time });
    const changed = bug(sound);
    const store = new Proxy(sound, {
      get: (target, key) => {
        const value = Reflect.get(key in changed ? changed : target, key);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const advance = (ms: number): void => {
      time += ms;
    };
    return { store, advance, close: () => sound.close() };
  };
  storeContract(make, { describe: (_name, body) => body(), test: (name, body) => checks.push([name, body]) });
  const asked = checks.filter(([name]) => name.includes(check));
  expect(asked.length).toBeGreaterThan(0);
  const results = await Promise.allSettled(asked.map(([, body]) => body()));
  return asked.flatMap(([name], index) => {
    const result = results[index];
    return result?.status === 'rejected' ? [`${name}: ${result.reason.message}`] : [];
  });
}
