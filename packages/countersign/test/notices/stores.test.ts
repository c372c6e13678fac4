// Notices on every store: two processes share the work, a crash at any step loses nothing, and the cost does not grow.
import { countersign, memoryStore } from 'countersign';
import { postgresStore } from 'countersign/postgres';
import { sqliteStore } from 'countersign/sqlite';
import type { Notes, Store, Worker } from 'countersign/store';
import { afterEach, describe, expect, test } from 'vitest';
import { changedStore } from '../changed-store.ts';
import { eventually } from '../eventually.ts';
import { temporaryFolder } from '../stores/folder.ts';
import { testServer } from '../stores/postgres-server.ts';
import { desk, FINANCE, keeping, notesIn, policy } from './kit.ts';

const postgres = await testServer();
const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanUp.splice(0).reverse()) await clean();
});

/** Opens the same store twice, as two processes would. */
const STORES: readonly (readonly [name: string, open: () => Promise<readonly [Store, Store]>])[] = [
  [
    'memory',
    async () => {
      const store = memoryStore();
      return [store, store];
    },
  ],
  [
    'SQLite',
    async () => {
      const folder = temporaryFolder();
      cleanUp.push(folder.remove);
      return opened(() => sqliteStore(`${folder.path}/runs`));
    },
  ],
  ...(postgres
    ? [
        [
          'PostgreSQL',
          async () => {
            const url = await postgres.freshDatabase();
            return opened(() => postgresStore({ url, poolMax: 4 }));
          },
        ] as const,
      ]
    : []),
];

async function opened(open: () => Store): Promise<readonly [Store, Store]> {
  const stores = [open(), open()] as const;
  for (const store of stores) cleanUp.push(() => store.close());
  await stores[0].migrate();
  return stores;
}

const RUNS = 12;

describe.each(STORES)('on %s', { timeout: 60_000 }, (_, open) => {
  test('two processes share the work, and each notice is delivered once, in order', async () => {
    const stores = await open();
    const seen: string[] = [];
    const desks = stores.map((store, process) => {
      const log = keeping('log', { all: true });
      const mail = keeping('mail', { audience: 'person' });
      const { deliver } = mail.channel;
      mail.channel.deliver = async (notice, delivering) => {
        await new Promise((resolve) => setTimeout(resolve, 5));
        seen.push(`${process} ${notice.requestId} ${notice.to[0]?.person} ${notice.type}`);
        await deliver(notice, delivering);
      };
      return {
        log,
        ...desk({ store, channels: [log.channel, mail.channel], people: FINANCE }, policy({ roles: ['finance'] })),
      };
    });
    const workers = desks.map(({ work }) => work(20));
    cleanUp.push(() => Promise.all(workers.map((worker) => worker.stop())));
    const [first] = desks;
    const ids = await Promise.all(Array.from({ length: RUNS }, (_, run) => first?.ask(`run-${run}`) ?? ''));
    await eventually(() => expect(seen).toHaveLength(2 * RUNS));
    await Promise.all(ids.map((id) => first?.runs.decide(id, 'reject', { by: 'ann' })));
    await eventually(() => expect(seen).toHaveLength(4 * RUNS));
    await eventually(async () => {
      for (const name of ['log', 'mail']) expect(await notesIn(stores[0], `outbox-${name}`)).toBe(0);
    });
    const lines = seen.map((line) => line.slice(2));
    expect(new Set(lines).size).toBe(4 * RUNS);
    // Ann decided. Clara asked.
    for (const id of ids)
      for (const [person, types] of [
        ['ann', ['opened']],
        ['ben', ['opened', 'decided']],
        ['clara', ['decided']],
      ] as const)
        expect(lines.filter((line) => line.startsWith(`${id} ${person}`))).toEqual(
          types.map((type) => `${id} ${person} ${type}`),
        );
    expect(new Set(seen.map((line) => line[0])).size).toBe(2);
    const logged = desks.flatMap(({ log }) => log.notices.map(({ key }) => key));
    expect(logged).toHaveLength(2 * RUNS);
    expect(new Set(logged).size).toBe(2 * RUNS);
    expect(desks.flatMap(({ errors }) => errors)).toEqual([]);
  });

  test('the work for a notice does not grow with the notices that wait', async () => {
    const [store] = await open();
    const calls: string[] = [];
    const counted = changedStore(store, { notes: counting(store.notes, calls) });
    const { channel, notices } = keeping('log', { all: true });
    const { ask, work, ai } = desk({ store: counted, channels: [channel] });
    const costs: number[] = [];
    for (const runs of [4, 40]) {
      await Promise.all(Array.from({ length: runs }, (_, run) => ask(`run-${runs}-${run}`)));
      const [before, told] = [calls.length, notices.length];
      const worker = work(20);
      await eventually(() => expect(notices).toHaveLength(told + runs));
      await eventually(async () => expect(await ai.notices.channels()).toMatchObject([{ waiting: 0 }]));
      await worker.stop();
      costs.push(calls.slice(before).filter((call) => call !== 'list').length / runs);
    }
    expect(costs[1]).toBeLessThanOrEqual((costs[0] ?? 0) + 2);
  });
});

/** Counts the calls. */
function counting(notes: Notes, calls: string[]): Notes {
  return new Proxy(notes, {
    get(kept, name) {
      const method = Reflect.get(kept, name) as (...given: unknown[]) => unknown;
      return (...given: unknown[]) => {
        calls.push(String(name));
        return method.apply(kept, given);
      };
    },
  });
}

describe('a process that dies', () => {
  /** The process dies before or after its `step`th write: then nothing that it does reaches the store, and it gets no answer. */
  function dyingAt(store: Store, step: number, isBefore: boolean) {
    let writes = 0;
    let isDead = false;
    const guarded = <T extends object>(target: T, isWrite: (name: string) => boolean): T =>
      new Proxy(target, {
        get(kept, name) {
          const value: unknown = Reflect.get(kept, name);
          if (name === 'notes') return guarded(value as Notes, (method) => method === 'put' || method === 'remove');
          if (typeof value !== 'function' || name === 'watch') return value;
          return async (...given: unknown[]) => {
            if (isWrite(String(name))) writes += 1;
            if (isBefore && writes >= step) isDead = true;
            const result: unknown = isDead ? undefined : await value.apply(kept, given);
            if (writes >= step) isDead = true;
            return isDead ? new Promise(() => undefined) : result;
          };
        },
      });
    return { store: guarded(store, (method) => method === 'told'), isDead: () => isDead };
  }

  /** One process works until it dies at this step, the next one continues. Returns false if the first one finished. */
  async function dies(audience: 'shared' | 'person', step: number, isBefore: boolean): Promise<boolean> {
    let now = 1_800_000_000_000;
    const clock = () => now;
    const store = memoryStore({ now: clock });
    const dying = dyingAt(store, step, isBefore);
    const [before, after] = [keeping('chat', { audience }), keeping('chat', { audience })];
    const rules = policy({ roles: ['finance'] });
    const first = desk({ clock, people: FINANCE, store: dying.store, channels: [before.channel] }, rules);
    const second = desk({ clock, people: FINANCE, store, channels: [after.channel] }, rules);
    const recipientsOf = { opened: ['ann', 'ben'], decided: ['ben', 'clara'] };
    const all = () => [...before.notices, ...after.notices];
    const everyoneHeard = (type: 'opened' | 'decided') => {
      const recipients = audience === 'person' ? recipientsOf[type] : [''];
      expect(
        recipients.filter((person) =>
          all().some((one) => one.type === type && (!person || one.to[0]?.person === person)),
        ),
      ).toEqual(recipients);
    };
    const id = await second.ask('run');
    const worker = first.work(5);
    let next: Worker | undefined;
    /** The next process takes over once the leases have lapsed. */
    const takesOver = () => {
      if (next || !dying.isDead()) return;
      now += 3_600_000;
      next = second.work(5);
    };
    for (const type of ['opened', 'decided'] as const) {
      if (type === 'decided') await second.runs.decide(id, 'reject', { by: 'ann' });
      await eventually(async () => {
        takesOver();
        everyoneHeard(type);
        expect(await notesIn(store, 'outbox-chat')).toBe(0);
      });
    }
    await (next ?? worker).stop();
    expect(all().length - new Set(all().map(({ key }) => key)).size).toBeLessThanOrEqual(audience === 'person' ? 2 : 1);
    expect(second.errors).toEqual([]);
    return next !== undefined;
  }

  test.each([
    ['a shared channel', 'shared'],
    ['a channel for each person', 'person'],
  ] as const)(
    'at any step of %s loses nothing, and repeats at most what was being delivered',
    async (_, audience) => {
      for (const isBefore of [true, false]) for (let step = 1; await dies(audience, step, isBefore); step += 1);
    },
    60_000,
  );
});

test('a store in which a channel is registered is told by every process with channels', async () => {
  const store = memoryStore();
  const other = keeping('other');
  const hooks = countersign({ store });
  hooks.onRequest('mine', {});
  const mine = hooks.runs.work({ pollMs: 20 });
  cleanUp.push(() => mine.stop());
  const { ask, work } = desk({ store, channels: [other.channel] });
  const worker = work(20);
  await worker.stop();
  // The process with the hooks puts the hints of the other channel too, which waits for its process.
  const id = await ask('run');
  await eventually(async () => expect(await notesIn(store, 'outbox-other')).toBe(1));
  const again = work(20);
  await eventually(() => expect(other.notices.map(({ requestId }) => requestId)).toEqual([id]));
  await again.stop();
});
