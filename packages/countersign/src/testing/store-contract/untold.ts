// The store contract: a request that changed goes to one caller, and comes again until people were notified. Optional.
import { deepStrictEqual } from 'node:assert/strict';
import type { Store } from '../../runs/port/store.ts';
import {
  addition,
  type Check,
  creation,
  LONG_MS,
  pass,
  pausedRun,
  request,
  type StoreUnderTest,
  settling,
} from './check.ts';

type Telling = Store & Required<Pick<Store, 'takeUntold' | 'told'>>;

/** Takes untold requests, and returns each id with its news. */
async function take({ store }: Subject, leaseMs = LONG_MS, limit = 50): Promise<readonly string[]> {
  const taken = await store.takeUntold(limit, leaseMs);
  return taken.map(({ request: { id }, news }) => `${id} ${news}`);
}

type Subject = Omit<StoreUnderTest, 'store'> & { readonly store: Telling };

export function untoldContract(checkAny: Check): void {
  const check = (name: string, body: (subject: Subject) => Promise<void>): void =>
    checkAny(name, async (subject) => {
      if (subject.store.takeUntold && subject.store.told) await body(subject as Subject);
    });

  check('a new request is taken once, the longest untold first', async (subject) => {
    const { store } = subject;
    for (const id of ['b', 'c', 'a']) {
      await pausedRun(store, `run-${id}`, [request(id, `run-${id}`)]);
      await pass(subject, 3);
    }
    deepStrictEqual(await take(subject, LONG_MS, 1), ['b 1']);
    deepStrictEqual(await take(subject), ['c 1', 'a 1']);
    deepStrictEqual(await take(subject), []);
  });

  check('taking a request returns it as it is, and does not change it', async ({ store }) => {
    const shown = { tool: 'pay', risk: 'high', labels: ['b', 'a'], card: { to: ['ann'] } } as const;
    const create = { id: 'run', agent: 'agent', startedBy: 'ann' };
    await store.append(creation('run', { create, status: 'waiting', opened: [request('question', 'run', shown)] }));
    const before = await store.request('question');
    deepStrictEqual(await store.takeUntold(5, LONG_MS), [{ request: before, news: 1 }]);
    await store.told('question', 1);
    deepStrictEqual(await store.request('question'), before);
  });

  check('a request that people were told of comes again when it changes or is settled', async (subject) => {
    const { store } = subject;
    await pausedRun(store, 'run', [request('q', 'run'), request('other', 'run')]);
    for (const line of await take(subject)) await store.told(line.split(' ')[0] ?? '', 1);
    await store.append(addition('run', 1, { status: 'waiting' }));
    deepStrictEqual(await take(subject), [], 'an append that does not concern a question marks none');
    await store.append(addition('run', 2, { status: 'waiting', progressed: [{ id: 'q', progress: 1 }] }));
    deepStrictEqual(await take(subject), ['q 2']);
    await store.told('q', 2);
    await store.append(addition('run', 3, { ...settling('so', 'q'), status: 'waiting' }));
    const [taken] = await store.takeUntold(5, LONG_MS);
    deepStrictEqual([taken?.request.settlement, taken?.news], ['so', 3]);
    await store.told('q', 3);
    deepStrictEqual(await take(subject, 1), []);
    await store.append(addition('run', 4, { ended: [{ id: 'q', outcome: { state: 'done' } }] }));
    deepStrictEqual(await take(subject), ['q 4'], 'what came of its call is news');
  });

  check('news that came after a request was taken are not lost', async (subject) => {
    const { store } = subject;
    await pausedRun(store, 'run', [request('q', 'run')]);
    deepStrictEqual(await take(subject), ['q 1']);
    await store.append(addition('run', 1, { status: 'waiting', progressed: [{ id: 'q', progress: 1 }] }));
    await store.told('q', 1);
    deepStrictEqual(await take(subject), ['q 2'], 'it comes at once, although the lease of the first was long');
    await store.append(addition('run', 2, settling('so', 'q')));
    await store.told('q', 2);
    deepStrictEqual(await take(subject), ['q 3']);
    for (const [id, news] of [
      ['q', 4],
      ['q', 0],
      ['not there', 1],
    ] as const)
      await store.told(id, news);
    await store.told('q', 3);
    await pass(subject, 5);
    deepStrictEqual(await take(subject, 1), []);
  });

  check('an untold request comes again, after longer and longer pauses until there are news', async (subject) => {
    const { store, advance } = subject;
    await pausedRun(store, 'run', [request('q', 'run')]);
    for (const pauseMs of [100, 200, 400]) {
      deepStrictEqual(await take(subject, 100), ['q 1']);
      if (advance !== undefined) {
        await advance(pauseMs - 1);
        deepStrictEqual(await take(subject, 100), []);
      }
      await pass(subject, advance === undefined ? pauseMs : 1);
    }
    await store.append(addition('run', 1, settling('so', 'q')));
    deepStrictEqual(await take(subject, 100), ['q 2']);
    await pass(subject, 100);
    deepStrictEqual(await take(subject, 1), ['q 2'], 'the pauses begin again');
    for (let attempt = 3; attempt <= 10; attempt += 1) {
      await pass(subject, 80);
      deepStrictEqual(await take(subject, 1), ['q 2'], 'the longest pause is 64 times the lease');
    }
  });

  check('a request that is opened and settled at once, or has expired, is untold too', async (subject) => {
    const { store } = subject;
    await pausedRun(store, 'run', [request('expired', 'run', { expiresAt: 1 }), request('settled', 'run')]);
    await store.append(addition('run', 1, settling('so', 'settled')));
    deepStrictEqual([...(await take(subject))].sort(), ['expired 1', 'settled 2']);
  });

  check('an append that is refused marks nothing', async (subject) => {
    const { store } = subject;
    await pausedRun(store, 'run', [request('q', 'run')]);
    await store.told('q', 1);
    await store.append(addition('run', 5, settling('so', 'q'))).catch(() => undefined);
    deepStrictEqual(await take(subject), []);
  });

  check('nobody is told of the requests of a deleted run', async (subject) => {
    const { store } = subject;
    for (const runId of ['gone', 'stays']) {
      await pausedRun(store, runId, [request(`${runId}.a`, runId), request(`${runId}.b`, runId)]);
      await store.append(addition(runId, 1, { ...settling('so', `${runId}.a`), status: 'done' }));
    }
    deepStrictEqual(await store.delete('gone'), true);
    deepStrictEqual([...(await take(subject))].sort(), ['stays.a 2', 'stays.b 1']);
  });

  check('with many concurrent callers each untold request goes to one', async (subject) => {
    const other = ((await subject.another?.()) ?? subject.store) as Telling;
    const all = Array.from({ length: 40 }, (_, index) => request(`q${index}`, 'run'));
    await pausedRun(subject.store, 'run', all);
    const takers = Array.from({ length: 20 }, (_, index) =>
      take(index % 2 === 0 ? subject : { ...subject, store: other }, LONG_MS, 3),
    );
    const taken = (await Promise.all(takers)).flat();
    for (let more = await take(subject); more.length > 0 && taken.length <= all.length; more = await take(subject))
      taken.push(...more);
    deepStrictEqual(taken.sort(), all.map(({ id }) => `${id} 1`).sort());
  });
}
