// Many concurrent decisions on one run: each is recorded, and none blocks the others.
import { countersign, memoryStore, z } from 'countersign';
import type { Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { expect, test, vi } from 'vitest';
import { RunQueue } from '../../src/runs/requests/serialize-decisions.ts';
import { changedStore } from '../changed-store.ts';

const MANY = 40;

function bank(store: Store) {
  const paid: number[] = [];
  const calls = Array.from({ length: MANY }, (_, n) => ({ name: 'pay', input: { n } }));
  const model = scriptedModel(({ messages }) => (messages.at(-1)?.role === 'tool' ? 'Done.' : { calls }));
  const ai = countersign({ store, model, retry: false });
  const pay = ai.defineTool(
    { name: 'pay', description: '', inputSchema: z.object({ n: z.number() }), needsApproval: true },
    ({ n }) => {
      paid.push(n);
      return 'paid';
    },
  );
  return { paid, runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools: [pay] }) };
}

test.each([true, false])('many concurrent decisions on one run need few reads each (drive: %s)', async (drive) => {
  const kept = memoryStore();
  let reads = 0;
  const store = changedStore(kept, {
    read: (...args) => {
      reads += 1;
      return kept.read(...args);
    },
  });
  const { runs, clerk, paid } = bank(store);
  await clerk.start('Pay.', { runId: 'run' });
  const { pending } = await runs.wait('run');
  reads = 0;
  const decided = await Promise.all(pending.map((id) => runs.decide(id, 'approve', { drive })));
  expect(decided.map(({ requestId }) => requestId)).toEqual(pending);
  expect(reads).toBeLessThan(4 * MANY);
  if (!drive) await runs.drive('run');
  expect(await runs.wait('run', { until: 'end' })).toMatchObject({ status: 'done', text: 'Done.' });
  expect(paid.toSorted((a, b) => a - b)).toEqual(Array.from({ length: MANY }, (_, n) => n));
});

test('the second task of a run waits for the first, and a task of another run does not', async () => {
  const queue = new RunQueue();
  const first = Promise.withResolvers<string>();
  const done: string[] = [];
  const one = queue.run('run', () => first.promise);
  const two = queue.run('run', async () => done.push('two'));
  await queue.run('other', async () => done.push('other'));
  expect(done).toEqual(['other']);
  first.resolve('one');
  expect(await one).toBe('one');
  await two;
  expect(done).toEqual(['other', 'two']);
});

test('the third task of a run waits for the second, even after the first has ended', async () => {
  const queue = new RunQueue();
  const second = Promise.withResolvers<void>();
  const done: string[] = [];
  const one = queue.run('run', async () => done.push('one'));
  const two = queue.run('run', async () => {
    await second.promise;
    done.push('two');
  });
  await one;
  const three = queue.run('run', async () => done.push('three'));
  await new Promise(setImmediate);
  expect(done).toEqual(['one']);
  second.resolve();
  await Promise.all([two, three]);
  expect(done).toEqual(['one', 'two', 'three']);
});

test('a failed task ends its turn', async () => {
  const queue = new RunQueue();
  const one = queue.run('run', () => Promise.reject(new Error('no')));
  const two = queue.run('run', async () => 'two');
  await expect(one).rejects.toThrow('no');
  expect(await two).toBe('two');
});

test('tasks do not wait long behind one that hangs', async () => {
  vi.useFakeTimers();
  try {
    const queue = new RunQueue();
    void queue.run('run', () => new Promise(() => undefined));
    const done: number[] = [];
    const others = [1, 2, 3].map((n) => queue.run('run', async () => done.push(n)));
    await vi.advanceTimersByTimeAsync(900);
    expect(done).toEqual([]);
    await vi.advanceTimersByTimeAsync(200);
    await Promise.all(others);
    expect(done).toEqual([1, 2, 3]);
  } finally {
    vi.useRealTimers();
  }
});
