// A stop ends even if a model does not reply. The next process calls the model again, and no call is in doubt.
import { countersign, type Model, memoryStore } from 'countersign';
import type { Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { StopGrace } from '../../src/runs/driving/stop-grace.ts';
import { changedStore } from '../changed-store.ts';

const never = new Promise<never>(() => {});

/** Ignores its signal, but exposes it. */
function silentModel() {
  const asked = Promise.withResolvers<AbortSignal | undefined>();
  const reply: Model['reply'] = ({ signal }) => {
    asked.resolve(signal);
    return never;
  };
  return { model: { name: 'silent', reply } satisfies Model, asked: asked.promise };
}

const define = (store: Store, model: Model, options: { readonly graceMs?: number } = {}) => {
  const ai = countersign({ model, store, retry: false, ...options });
  return { ai, clerk: ai.defineAgent({ name: 'clerk' }) };
};

test.each(['worker', 'runs'] as const)('a stop of the %s does not wait forever for a model', async (who) => {
  const store = memoryStore();
  const { model, asked } = silentModel();
  const { ai, clerk } = define(store, model, { graceMs: 20 });
  const worker = ai.runs.work();
  await clerk.start('Hi.', { runId: 'run' });
  const signal = await asked;
  expect(signal?.aborted).toBe(false);
  await (who === 'worker' ? worker.stop() : ai.runs.stop());
  expect(signal?.aborted).toBe(true);
  await worker.stop();
  // Its claim was released, so the next process need not wait for the lease.
  const next = define(store, scriptedModel(['Hello.']));
  await next.ai.runs.drive('run');
  expect(await next.ai.runs.wait('run')).toMatchObject({ status: 'done', text: 'Hello.' });
});

test('a stop does not wait for a model inside a sub-agent, which resumes from its record', async () => {
  const store = memoryStore();
  const looked: string[] = [];
  const { model: silent, asked } = silentModel();
  const open = (inner: Model) => {
    const outer = scriptedModel(({ messages }) =>
      messages.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ name: 'scout', input: { prompt: 'Go.' } }] },
    );
    const ai = countersign({ model: outer, store, retry: false, graceMs: 20 });
    const look = ai.defineTool({ name: 'look', description: '' }, () => looked.push('once'));
    const scout = ai.defineAgent({ name: 'scout', description: '', model: inner, tools: [look] });
    return { ai, clerk: ai.defineAgent({ name: 'clerk', tools: [scout] }) };
  };
  const looksFirst = scriptedModel([{ calls: [{ name: 'look' }] }]);
  const isFirst = ({ messages }: Parameters<Model['reply']>[0]) => !messages.some(({ role }) => role === 'tool');
  const first = open({
    name: 'inner',
    reply: (request, emit) => (isFirst(request) ? looksFirst : silent).reply(request, emit),
  });
  await first.clerk.start('Hi.', { runId: 'run' });
  await asked;
  await first.ai.runs.stop();
  const next = open(scriptedModel(['Seen.']));
  await next.ai.runs.drive('run');
  expect(await next.ai.runs.wait('run')).toMatchObject({ status: 'done', text: 'Done.', pending: [] });
  expect(looked).toEqual(['once']);
});

test('a stop waits for a start that is being written, and releases the run', async () => {
  const kept = memoryStore();
  const [writing, written] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const store = changedStore(kept, {
    append: async (append) => {
      writing.resolve();
      await written.promise;
      return kept.append(append);
    },
  });
  const { ai, clerk } = define(store, scriptedModel(['Hello.']));
  const starting = clerk.start('Hi.', { runId: 'run' });
  await writing.promise;
  const stopped = vi.fn();
  const stopping = ai.runs.stop().then(stopped);
  await new Promise(setImmediate);
  expect(stopped).not.toHaveBeenCalled();
  written.resolve();
  await starting;
  await stopping;
  expect(await kept.claim('run', 'theirs', 60_000)).toBeDefined();
});

/** A started payment, at the root or inside a sub-agent, that ignores its signal. */
async function payment(where: 'root' | 'sub-agent') {
  const store = memoryStore();
  const mayReturn = Promise.withResolvers<string>();
  const begun = Promise.withResolvers<AbortSignal>();
  const calls = (name: string, input: object) => scriptedModel([{ calls: [{ name, input }] }]);
  const model = where === 'root' ? calls('pay', {}) : calls('payer', { prompt: 'Pay.' });
  const ai = countersign({ model, store, retry: false });
  const pay = ai.defineTool({ name: 'pay', description: '' }, (_input, { signal }) => {
    begun.resolve(signal);
    return mayReturn.promise;
  });
  const payer = ai.defineAgent({ name: 'payer', description: '', model: calls('pay', {}), tools: [pay] });
  const clerk = ai.defineAgent({ name: 'clerk', tools: [pay, payer] });
  const worker = ai.runs.work();
  await clerk.start('Pay.', { runId: 'run' });
  return { runs: ai.runs, worker, mayReturn, signal: await begun.promise };
}

describe.each(['worker', 'runs'] as const)('a stop of the %s', (who) => {
  test.each(['root', 'sub-agent'] as const)(
    'waits for a tool in the %s whose run was cancelled, and its result is recorded',
    async (where) => {
      const { runs, worker, mayReturn, signal } = await payment(where);
      await runs.cancel('run');
      expect(signal.aborted).toBe(true);
      await runs.settled();
      const stopped = vi.fn();
      const stopping = (who === 'worker' ? worker.stop() : runs.stop()).then(stopped);
      await new Promise(setImmediate);
      expect(stopped).not.toHaveBeenCalled();
      mayReturn.resolve('paid');
      await stopping;
      const last = (await runs.recorded('run')).at(-1);
      expect(last).toMatchObject({ type: 'call-ended-late', result: { type: 'output', output: 'paid' } });
      await worker.stop();
    },
  );
});

test('a stop that has ended leaves no timer', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { ai } = define(memoryStore(), scriptedModel([]));
  await ai.runs.stop();
  expect(vi.getTimerCount()).toBe(0);
});

test('a reply that arrives during a stop is kept', async () => {
  const store = memoryStore();
  const mayReply = Promise.withResolvers<string>();
  const asked = Promise.withResolvers<void>();
  const { ai, clerk } = define(
    store,
    scriptedModel(() => {
      asked.resolve();
      return mayReply.promise;
    }),
  );
  await clerk.start('Hi.', { runId: 'run' });
  await asked.promise;
  const stopping = ai.runs.stop();
  mayReply.resolve('Hello.');
  await stopping;
  expect(await ai.runs.get('run')).toMatchObject({ status: 'done', text: 'Hello.' });
});

test('a worker started during a stop does not call the model again', async () => {
  const { model, asked } = silentModel();
  const { ai, clerk } = define(memoryStore(), model, { graceMs: 20 });
  await clerk.start('Hi.', { runId: 'run' });
  const signal = await asked;
  void ai.runs.stop();
  const worker = ai.runs.work();
  await new Promise((resolve) => setTimeout(resolve, 40));
  expect(signal?.aborted).toBe(false);
  onTestFinished(async () => void (await worker.stop()));
});

describe('the grace period of a stop', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('gives up on work after its time, except on work that ended meanwhile', () => {
    const grace = new StopGrace();
    const [waits, came] = [vi.fn(), vi.fn()];
    grace.listen(waits);
    const forget = grace.listen(came);
    grace.after(1_000, () => true);
    vi.advanceTimersByTime(999);
    expect(waits).not.toHaveBeenCalled();
    forget();
    vi.advanceTimersByTime(1);
    expect(waits).toHaveBeenCalledTimes(1);
    expect(came).not.toHaveBeenCalled();
  });

  test('gives up on nothing and leaves no timer once the stop has ended', () => {
    const grace = new StopGrace();
    const waits = vi.fn();
    grace.listen(waits);
    grace.after(1_000, () => true)();
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(1_000);
    expect(waits).not.toHaveBeenCalled();
  });
});
