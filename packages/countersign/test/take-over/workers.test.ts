// Workers: stopping them and the runs, errors in onError, concurrency, and context lookups. A worker takes no run from
// its own process.
import { countersign, memoryStore, z } from 'countersign';
import type { StartedRun, Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { changedStore } from '../changed-store.ts';
import { away } from '../conversations/flaky-store.ts';
import { eventually } from '../eventually.ts';

const delay = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

function desk(store: Store) {
  const ai = countersign({ model: scriptedModel(() => 'Hi.'), store, retry: false });
  return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk' }) };
}

/** Starts a run that no process drives. */
async function leftRun(store: Store, runId: string): Promise<void> {
  const { runs, clerk } = desk(store);
  await runs.stop();
  await clerk.start('Hello.', { runId });
}

/** Records the ids of the claimed runs. */
function countingClaims(kept: Store) {
  const claims: string[] = [];
  const claim: Store['claim'] = async (id, token, leaseMs) => {
    claims.push(id);
    return kept.claim(id, token, leaseMs);
  };
  return { store: changedStore(kept, { claim }), claims };
}

describe('after a stop of the runs', () => {
  test('a worker takes over no run', async () => {
    const kept = memoryStore();
    const { store, claims } = countingClaims(kept);
    const { runs } = desk(store);
    const worker = runs.work({ pollMs: 5 });
    await runs.stop();
    await leftRun(kept, 'left');
    await delay(30);
    expect(claims).toEqual([]);
    expect(await runs.get('left')).toMatchObject({ status: 'running' });
    await worker.stop();
  });

  test.each([
    ['follows', async (stopRuns, stopWorker) => [await stopRuns(), await stopWorker()]],
    ['happens at the same time', (stopRuns, stopWorker) => Promise.all([stopWorker(), stopRuns()])],
  ] as const satisfies readonly (readonly [
    string,
    (stopRuns: () => Promise<unknown>, stopWorker: () => Promise<unknown>) => Promise<unknown>,
  ])[])('no run is driven, even if the stop of a worker %s', async (_name, stop) => {
    const { runs, clerk } = desk(memoryStore());
    const worker = runs.work({ pollMs: 5 });
    await stop(
      () => runs.stop(),
      () => worker.stop(),
    );
    await clerk.start('Hello.', { runId: 'run' });
    await runs.settled();
    expect(await runs.get('run')).toMatchObject({ status: 'running' });
  });

  test('the next worker drives runs again', async () => {
    const { runs } = desk(memoryStore());
    await runs.stop();
    await leftRun(runs.store, 'left');
    const worker = runs.work({ pollMs: 5 });
    expect(await runs.wait('left')).toMatchObject({ status: 'done' });
    await worker.stop();
  });
});

test('a worker stopped during its lookup takes over nothing after it has stopped', async () => {
  const kept = memoryStore();
  await leftRun(kept, 'left');
  const { promise: looked, resolve: answer } = Promise.withResolvers<void>();
  const due: Store['due'] = async (limit) => {
    await looked;
    return kept.due(limit);
  };
  const { store, claims } = countingClaims(changedStore(kept, { due }));
  const worker = desk(store).runs.work({ pollMs: 5 });
  const stopping = worker.stop();
  setTimeout(answer, 30);
  await stopping;
  const taken = claims.length;
  await delay(50);
  expect(claims).toHaveLength(taken);
});

test('of two workers, one continues after the other was stopped', async () => {
  const { runs } = desk(memoryStore());
  const [one, two] = [runs.work({ pollMs: 5 }), runs.work({ pollMs: 5 })];
  await one.stop();
  await leftRun(runs.store, 'left');
  expect(await runs.wait('left')).toMatchObject({ status: 'done' });
  await two.stop();
});

test.each([
  [
    'throws',
    () => {
      throw new Error('The log is full.');
    },
  ],
  [
    'rejects',
    async () => {
      throw new Error('The log is full.');
    },
  ],
] as const)('a worker whose onError %s continues', async (_name, onError) => {
  const kept = memoryStore();
  let failures = 2;
  const store = changedStore(kept, {
    due: async (limit) => {
      if (failures-- > 0) throw new Error('The store is away.');
      return kept.due(limit);
    },
  });
  const unhandled = vi.fn();
  process.on('unhandledRejection', unhandled);
  const { runs } = desk(store);
  await leftRun(kept, 'left');
  const worker = runs.work({ pollMs: 5, onError });
  await eventually(async () => expect(await runs.get('left')).toMatchObject({ status: 'done' }));
  await worker.stop();
  process.off('unhandledRejection', unhandled);
  expect(unhandled).not.toHaveBeenCalled();
});

test.each([
  ['at once', 0],
  ['after a while', 50],
])('a store that fails %s during a take-over is reported, and the run is taken over later', async (_when, ms) => {
  const kept = memoryStore();
  let failures = 1;
  const store = changedStore(kept, {
    claim: async (...args) => {
      if (failures-- <= 0) return kept.claim(...args);
      if (ms > 0) await delay(ms);
      throw away();
    },
  });
  await leftRun(kept, 'left');
  const onError = vi.fn();
  const { runs } = desk(store);
  const worker = runs.work({ pollMs: 5, onError });
  await eventually(async () => expect(await runs.get('left')).toMatchObject({ status: 'done' }));
  await worker.stop();
  expect(onError.mock.calls).toEqual([[expect.objectContaining({ message: 'away' })]]);
});

test.each(['the root', 'a sub-agent'])(
  'a worker does not take a run from its own process while a result in %s waits for the store',
  async (where) => {
    let now = 1_800_000_000_000;
    let [isAway, paid, looks] = [false, 0, 0];
    const kept = memoryStore({ now: () => now });
    const store = changedStore(kept, {
      append: async (append) => {
        if (isAway) throw away();
        return kept.append(append);
      },
      renew: async (...args) => {
        if (isAway) throw away();
        return kept.renew(...args);
      },
      due: async (limit) => {
        const due = await kept.due(limit);
        if (due.includes('run')) looks += 1;
        return due;
      },
    });
    const calls = (name: string, input: object) =>
      scriptedModel(({ messages }) =>
        messages.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ name, input }] },
      );
    const ai = countersign({ store, clock: () => now, leaseMs: 10_000, retry: false });
    const pay = ai.defineTool({ name: 'pay', description: '', inputSchema: z.object({}) }, async () => {
      paid += 1;
      // Longer than the lease, shorter than the store is retried.
      isAway = true;
      now += 20_000;
    });
    const payer = ai.defineAgent({ name: 'payer', tools: [pay], model: calls('pay', {}) });
    const clerk = ai.defineAgent({ name: 'clerk', tools: [payer], model: calls('payer', { prompt: 'Pay.' }) });
    await (where === 'a sub-agent' ? clerk : payer).start('Pay.', { runId: 'run' });
    const worker = ai.runs.work({ pollMs: 5 });
    await eventually(() => expect(looks).toBeGreaterThan(2));
    isAway = false;
    await eventually(async () => expect(await ai.runs.get('run')).toMatchObject({ status: 'done' }));
    await worker.stop();
    expect(paid).toBe(1);
    expect((await kept.listRequests({ settled: true, limit: 10 })).items).toEqual([]);
  },
);

test('damaged runs do not block a worker, even if there are more than it drives at once', async () => {
  let now = 1_000;
  const kept = memoryStore({ now: () => now++ });
  for (const runId of ['bad-1', 'bad-2', 'bad-3', 'bad-4', 'bad-5', 'good']) await leftRun(kept, runId);
  const store = changedStore(kept, {
    claim: async (id, token, leaseMs) => {
      const loaded = await kept.claim(id, token, leaseMs);
      return loaded && id !== 'good' ? { ...loaded, run: { ...loaded.run, hash: 'x' } } : loaded;
    },
  });
  const { runs } = desk(store);
  const onError = vi.fn();
  const worker = runs.work({ concurrency: 2, pollMs: 5, onError });
  await eventually(async () => expect(await runs.get('good')).toMatchObject({ status: 'done' }));
  // Each of them is reported, not only the first.
  for (const runId of ['bad-1', 'bad-2', 'bad-5'])
    await eventually(() =>
      expect(onError).toHaveBeenCalledWith(expect.objectContaining({ code: 'tampered-run', details: { runId } })),
    );
  await delay(50);
  expect(onError).toHaveBeenCalledTimes(5);
  await worker.stop();
});

test('a worker keeps deadlines however many other runs its process drives', async () => {
  const ai = countersign({ store: memoryStore(), retry: false });
  const { promise: thought, resolve: think } = Promise.withResolvers<string>();
  const slow = ai.defineAgent({ name: 'slow', model: scriptedModel(() => thought) });
  const ask = ai.defineInterrupt({ name: 'ask', description: '', expiresIn: 1 });
  const asks = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: 'ask', input: {} }] },
  );
  const clerk = ai.defineAgent({ name: 'clerk', tools: [ask], model: asks });
  for (let started = 0; started < 3; started++) await slow.start('Think.');
  await clerk.start('Ask.', { runId: 'asks' });
  const worker = ai.runs.work({ concurrency: 2, pollMs: 5 });
  expect(await ai.runs.wait('asks', { until: 'end' })).toMatchObject({ status: 'done' });
  think('Thought.');
  await worker.stop();
});

test('a worker drives at most `concurrency` runs at once', async () => {
  const store = memoryStore();
  for (let left = 0; left < 6; left++) await leftRun(store, `left-${left}`);
  let [now, most] = [0, 0];
  const model = scriptedModel(async () => {
    most = Math.max(most, ++now);
    await delay(10);
    now -= 1;
    return 'Hi.';
  });
  const ai = countersign({ model, store, retry: false });
  ai.defineAgent({ name: 'clerk' });
  const worker = ai.runs.work({ concurrency: 2, pollMs: 5 });
  await eventually(async () => expect((await ai.runs.list({ status: 'done' })).items).toHaveLength(6));
  await worker.stop();
  expect(most).toBe(2);
});

test('a worker without a free slot looks again as soon as a run ends, even on a store without notifications', async () => {
  const store = changedStore(memoryStore(), { watch: () => () => undefined });
  for (const id of ['one', 'two']) await leftRun(store, id);
  const done = Promise.withResolvers<void>();
  let replies = 0;
  const model = scriptedModel(() => {
    if (++replies === 2) done.resolve();
    return 'Hi.';
  });
  const ai = countersign({ model, store, retry: false });
  ai.defineAgent({ name: 'clerk' });
  const worker = ai.runs.work({ concurrency: 1, pollMs: 3_600_000 });
  await done.promise;
  await worker.stop();
  expect((await ai.runs.list({ status: 'done' })).items).toHaveLength(2);
});

const ODD = [0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, '8', null] as readonly unknown[] as readonly number[];

test('a worker does not touch runs of a removed agent, and they do not block it', async () => {
  const kept = memoryStore();
  const gone = countersign({ model: scriptedModel(() => 'Hi.'), store: kept });
  await gone.runs.stop();
  const retired = gone.defineAgent({ name: 'retired' });
  for (let index = 0; index < 20; index++) await retired.start('Hello.', { runId: `gone-${index}` });
  await leftRun(kept, 'left');
  const { store, claims } = countingClaims(kept);
  const { runs } = desk(store);
  const worker = runs.work({ concurrency: 1, pollMs: 5 });
  expect(await runs.wait('left', { until: 'end' })).toMatchObject({ status: 'done' });
  await delay(30);
  expect(claims).toEqual(['left']);
  await worker.stop();
});

test.each(ODD)('%s is rejected as leaseMs, concurrency and pollMs', (odd) => {
  const refusal = expect.objectContaining({ code: 'invalid-options' });
  expect(() => countersign({ leaseMs: odd })).toThrow(refusal);
  const { runs } = desk(memoryStore());
  expect(() => runs.work({ concurrency: odd })).toThrow(refusal);
  expect(() => runs.work({ pollMs: odd })).toThrow(refusal);
});

test('a leaseMs too long for a timer is rejected', () => {
  expect(() => countersign({ leaseMs: 2 ** 31 })).toThrow(
    '`leaseMs` of `countersign` must be a whole number from 1 to 2147483647',
  );
});

test('a run released while a worker looks is taken over at once', async () => {
  const kept = memoryStore();
  const [looks, found] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const due: Store['due'] = async (...args) => {
    const ids = await kept.due(...args);
    looks.resolve();
    await found.promise;
    return ids;
  };
  const { runs } = desk(changedStore(kept, { due }));
  const worker = runs.work({ pollMs: 2 ** 31 - 1 });
  await looks.promise;
  await leftRun(kept, 'run');
  found.resolve();
  await eventually(async () => expect((await kept.read('run'))?.run).toMatchObject({ status: 'done' }));
  await worker.stop();
});

test('a worker waits for the context of a run, and retries a failed lookup', async () => {
  const store = memoryStore();
  await leftRun(store, 'left');
  const asked: unknown[] = [];
  const contextFor = async ({ id }: { readonly id: string }) => {
    if (asked.push(id) < 3) throw new Error('no database');
    return { limit: 100 };
  };
  const model = scriptedModel([{ calls: [{ name: 'pay', input: {} }] }]);
  const ai = countersign({ model, store, contextFor, retry: false });
  const config = { name: 'pay', description: '' };
  const pay = ai.defineTool({ ...config, needsApproval: (_, { context }) => 184 > context.limit }, () => 'paid');
  ai.defineAgent({ name: 'clerk', tools: [pay] });
  const onError = vi.fn();
  const worker = ai.runs.work({ pollMs: 5, onError });
  await eventually(async () => expect(await ai.runs.get('left')).toMatchObject({ status: 'waiting' }));
  const message = 'The context of run left could not be looked up: no database';
  expect(onError).toHaveBeenCalledWith(expect.objectContaining({ code: 'context-failed', message }));
  await worker.stop();
});

test('a context that is undefined is not looked up again', async () => {
  const store = memoryStore();
  await leftRun(store, 'left');
  let asked = 0;
  const contextFor = async () => {
    if (++asked > 1) throw new Error('no database');
    return undefined;
  };
  const ai = countersign({ model: scriptedModel(() => 'Hi.'), store, contextFor, retry: false });
  ai.defineAgent({ name: 'clerk' });
  const worker = ai.runs.work({ pollMs: 5 });
  expect(await ai.runs.wait('left', { until: 'end' })).toMatchObject({ status: 'done' });
  expect(asked).toBe(1);
  await worker.stop();
});

test.each<[string, () => never | Promise<never>]>([
  [
    'throws',
    () => {
      throw new Error('no database');
    },
  ],
  ['rejects', () => Promise.reject(new Error('no database'))],
])('a context lookup that %s at the start of a run fails it with context-failed', async (_how, contextFor) => {
  const ai = countersign({ model: scriptedModel([]), store: memoryStore(), contextFor, retry: false });
  await ai.defineAgent({ name: 'clerk' }).start('Hello.', { runId: 'run' });
  const { status, outcome } = await ai.runs.wait('run', { until: 'end' });
  expect(status).toBe('failed');
  const message = 'The context of run run could not be looked up: no database';
  expect(outcome).toEqual({ error: { code: 'context-failed', message, retryable: false } });
});

describe('a slow context lookup', () => {
  const never = new Promise<never>(() => undefined);

  function worked(store: Store, contextFor: (run: StartedRun) => Promise<object>, leaseMs = 15_000) {
    const ai = countersign({ model: scriptedModel(() => 'Hi.'), store, contextFor, leaseMs, retry: false });
    ai.defineAgent({ name: 'clerk' });
    return ai.runs;
  }

  test('does not block a worker from other runs or from stopping, which releases its run', async () => {
    const store = memoryStore();
    await leftRun(store, 'slow');
    const asked: string[] = [];
    const runs = worked(store, async ({ id }) => {
      asked.push(id);
      return id === 'slow' ? never : {};
    });
    const worker = runs.work({ pollMs: 5 });
    await eventually(() => expect(asked).toContain('slow'));
    await leftRun(store, 'later');
    expect(await runs.wait('later', { until: 'end' })).toMatchObject({ status: 'done' });
    await worker.stop();
    expect(await store.due(10)).toEqual(['slow']);
    expect(asked.filter((id) => id === 'slow')).toEqual(['slow']);
  });

  test('does not lose its run to another worker', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    let [now, asked, looks] = [1_800_000_000_000, 0, 0];
    const kept = memoryStore({ now: () => now });
    await leftRun(kept, 'slow');
    const due: Store['due'] = (...args) => {
      looks += 1;
      return kept.due(...args);
    };
    const store = changedStore(kept, { due });
    const contextFor = async () => {
      asked += 1;
      // Three times as long as the lease, while both workers look for runs.
      for (let third = 0; third < 9; third++) {
        now += 5_000;
        vi.advanceTimersByTime(5_000);
        const before = looks;
        await eventually(() => expect(looks).toBeGreaterThan(before + 4));
      }
      return {};
    };
    const workers = [1, 2].map(() => worked(store, contextFor).work({ pollMs: 5 }));
    await eventually(async () => expect((await kept.read('slow'))?.run).toMatchObject({ status: 'done' }));
    await Promise.all(workers.map((worker) => worker.stop()));
    expect(asked).toBe(1);
  });

  test('that fails later is reported, and the run is tried again', async () => {
    const store = memoryStore();
    await leftRun(store, 'slow');
    let asked = 0;
    const runs = worked(store, async () => {
      if (++asked > 1) return {};
      await delay(100);
      throw new Error('no database');
    });
    const onError = vi.fn();
    const worker = runs.work({ pollMs: 5, onError });
    await eventually(async () => expect(await runs.get('slow')).toMatchObject({ status: 'done' }));
    const message = 'The context of run slow could not be looked up: no database';
    expect(onError).toHaveBeenCalledWith(expect.objectContaining({ code: 'context-failed', message }));
    await worker.stop();
  });

  test('is repeated by a worker started right after a stop, and nothing runs without its result', async () => {
    const contexts: unknown[] = [];
    let asked = 0;
    const ai = countersign({
      model: scriptedModel(({ messages }) => (messages.length > 1 ? 'Done.' : { calls: [{ name: 'look' }] })),
      store: memoryStore(),
      contextFor: () => (++asked > 1 ? { user: 'ann' } : never),
      retry: false,
    });
    const look = ai.defineTool({ name: 'look', description: '' }, (_input, { context }) => contexts.push(context));
    await ai.defineAgent({ name: 'clerk', tools: [look] }).start('Look.', { runId: 'run' });
    await eventually(() => expect(asked).toBe(1));
    const stopping = ai.runs.stop();
    const worker = ai.runs.work({ pollMs: 5 });
    await eventually(async () => expect(await ai.runs.get('run')).toMatchObject({ status: 'done' }));
    await Promise.all([stopping, worker.stop()]);
    expect(contexts).toEqual([{ user: 'ann' }]);
  });

  test('does not delay a stop, which releases a run started here', async () => {
    const store = memoryStore();
    let asked = 0;
    const contextFor = () => {
      asked += 1;
      return never;
    };
    const ai = countersign({ model: scriptedModel(() => 'Hi.'), store, contextFor });
    await ai.defineAgent({ name: 'clerk' }).start('Hello.', { runId: 'run' });
    await eventually(() => expect(asked).toBe(1));
    await ai.runs.stop();
    expect(await store.due(10)).toEqual(['run']);
  });

  test('does not begin for a run started after a stop, which is released', async () => {
    const store = memoryStore();
    const contextFor = vi.fn(() => never);
    const ai = countersign({ model: scriptedModel(() => 'Hi.'), store, contextFor });
    const clerk = ai.defineAgent({ name: 'clerk' });
    await ai.runs.stop();
    await clerk.start('Hello.', { runId: 'run' });
    expect(contextFor).not.toHaveBeenCalled();
    expect(await store.due(10)).toEqual(['run']);
  });

  test('is not waited for by a message that is aborted', async () => {
    const store = memoryStore();
    await leftRun(store, 'run');
    const left = new AbortController();
    const contextFor = () => {
      left.abort(new Error('Never mind.'));
      return never;
    };
    const ai = countersign({ model: scriptedModel(() => 'Hi.'), store, contextFor });
    const chat = ai.defineAgent({ name: 'clerk' }).chat({ runId: 'run' });
    await expect(chat.send({ prompt: 'And?', abortSignal: left.signal })).rejects.toThrow('Never mind.');
    await ai.runs.stop();
  });

  test('does not delay a stop, which releases a failed run that was being driven again', async () => {
    const store = memoryStore();
    const broken = countersign({
      model: scriptedModel(() => Promise.reject(new Error('away'))),
      store,
      retry: false,
    });
    const clerk = broken.defineAgent({ name: 'clerk' });
    await clerk.start('Hello.', { runId: 'run' });
    await broken.runs.wait('run');
    let asked = 0;
    const runs = worked(store, () => {
      asked += 1;
      return never;
    });
    const driving = runs.drive('run');
    await eventually(() => expect(asked).toBe(1));
    await Promise.all([runs.stop(), driving]);
    expect(await runs.get('run')).toMatchObject({ status: 'running' });
    expect(await store.due(10)).toEqual(['run']);
  });

  test('does not delay the stop of a worker, and a failed run with an expired deadline stays failed', async () => {
    let now = 1_800_000_000_000;
    const clock = () => now;
    const store = memoryStore({ now: clock });
    const asked = Promise.withResolvers<void>();
    const open = (contextFor?: () => Promise<never>) => {
      const calls = ['ask', 'breaks'].map((name) => ({ name, ref: name, input: { prompt: '' } }));
      const model = scriptedModel(() => ({ calls }));
      const ai = countersign({ model, store, clock, ...(contextFor && { contextFor }), retry: false });
      const ask = ai.defineInterrupt({ name: 'ask', description: '', expiresIn: 1_000 });
      const breaks = ai.defineAgent({ name: 'breaks', model: scriptedModel([]) });
      return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools: [ask, breaks] }) };
    };
    const { runs, clerk } = open();
    await clerk.start('Ask.', { runId: 'run' });
    expect(await runs.wait('run')).toMatchObject({ status: 'failed' });
    now += 2_000;
    const worker = open(() => {
      asked.resolve();
      return never;
    }).runs.work({ pollMs: 5 });
    await asked.promise;
    await worker.stop();
    expect(await runs.get('run')).toMatchObject({ status: 'failed' });
    expect(await store.due(10)).toEqual(['run']);
  });

  test('does not delay a stop, which ends once the run is released', async () => {
    const kept = memoryStore();
    await leftRun(kept, 'run');
    const asked = Promise.withResolvers<void>();
    const release: Store['release'] = async (...args) => {
      await delay(10);
      return kept.release(...args);
    };
    const runs = worked(changedStore(kept, { release }), () => {
      asked.resolve();
      return never;
    });
    const driving = runs.drive('run');
    await asked.promise;
    await runs.stop();
    expect(await kept.due(10)).toEqual(['run']);
    await driving;
  });

  test('does not delay a stop, and a run taken over by another process is not an error', async () => {
    const kept = memoryStore();
    await leftRun(kept, 'run');
    let renewals = 0;
    const renew = async () => {
      renewals += 1;
      return false;
    };
    const runs = worked(changedStore(kept, { renew }), () => never, 60);
    const driving = runs.drive('run');
    await eventually(() => expect(renewals).toBeGreaterThan(0));
    await Promise.all([runs.stop(), driving]);
    expect(await runs.get('run')).toMatchObject({ status: 'running' });
  });
});
