// Jobs that are sent to a database in batches: in the same order in all processes, and never sent twice by guess.
import { expect, test } from 'vitest';
import { createBatches } from '../../src/stores/postgres/batches.ts';

type Job = { readonly key: string; readonly n: number };

/** Sends jobs; `fails` returns the error of a batch. */
function sender(fails: (jobs: readonly Job[]) => Error | undefined = () => undefined) {
  const sent: (readonly Job[])[] = [];
  const together = createBatches<Job, number>({
    send: async (jobs) => {
      sent.push(jobs);
      const failure = fails(jobs);
      if (failure) throw failure;
      return jobs.map(({ n }) => n);
    },
    keyOf: ({ key }) => key,
    canBeSentAlone: (error) => (error as Error).message === 'nothing was done',
  });
  return { sent, together };
}

const job = (key: string, n: number): Job => ({ key, n });

test('the jobs of a batch follow the order of their keys, so two processes never deadlock', async () => {
  const { sent, together } = sender();
  const jobs = ['c', 'a', 'd', 'b'].map(job);
  expect(await Promise.all(jobs.map(together))).toEqual([0, 1, 2, 3]);
  expect(sent.map((jobs) => jobs.map(({ key }) => key))).toEqual([['a', 'b', 'c', 'd']]);
});

test('two jobs with one key are sent one after the other, in the order they came', async () => {
  const { sent, together } = sender();
  const jobs = [job('a', 1), job('b', 2), job('a', 3), job('a', 4)];
  expect(await Promise.all(jobs.map(together))).toEqual([1, 2, 3, 4]);
  for (const jobs of sent) expect(new Set(jobs.map(({ key }) => key)).size).toBe(jobs.length);
  expect(sent.flatMap((jobs) => jobs.filter(({ key }) => key === 'a').map(({ n }) => n))).toEqual([1, 3, 4]);
});

test('if the batch did nothing, each job is sent alone, and only the impossible one is rejected', async () => {
  const { sent, together } = sender((jobs) =>
    jobs.some(({ n }) => n === 2) ? new Error('nothing was done') : undefined,
  );
  const jobs = [job('a', 1), job('b', 2), job('c', 3)];
  const results = await Promise.allSettled(jobs.map(together));
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(sent.map((jobs) => jobs.map(({ n }) => n))).toEqual([[1, 2, 3], [1], [2], [3]]);
});

test('if the outcome of a batch is unknown, no job is sent again, and all are rejected', async () => {
  const { sent, together } = sender(() => new Error('connection lost'));
  const results = await Promise.allSettled([job('a', 1), job('b', 2)].map(together));
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(sent).toHaveLength(1);
});
