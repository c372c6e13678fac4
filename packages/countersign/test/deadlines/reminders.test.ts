// Reminders: a worker calls the hook when a question has been pending long enough.

import {
  type CountersignOptions,
  countersign,
  memoryStore,
  type RunInterrupt,
  type ToolConfig,
  UsageError,
} from 'countersign';
import type { OnReminder } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { changedStore } from '../changed-store.ts';

const MINUTE = 60_000;

// Fakes every clock and timer of this process.
beforeEach(() => vi.useFakeTimers({ now: 1_800_000_000_000 }));
afterEach(() => vi.useRealTimers());

/** A clerk whose payments get a reminder after a minute, and a worker that each test stops. */
function desk(
  options: CountersignOptions = {},
  waits: Pick<ToolConfig, 'remind'> | { remindAfter: number } = { remindAfter: MINUTE },
) {
  const { store = memoryStore() } = options;
  const model = scriptedModel(({ messages }) =>
    messages.some(({ role }) => role === 'tool') ? 'Paid.' : { calls: [{ name: 'pay', input: {} }] },
  );
  const ai = countersign({ model, retry: false, ...options, store });
  const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true, ...waits }, () => 'paid');
  const clerk = ai.defineAgent({ name: 'clerk', tools: [pay] });
  const errors: unknown[] = [];
  return {
    runs: ai.runs,
    store,
    errors,
    work: () => ai.runs.work({ onError: (error) => errors.push(error) }),
    ask: async (runId: string): Promise<string> => {
      await clerk.start('Pay.', { runId, by: 'ann' });
      const [id = ''] = (await ai.runs.wait(runId)).pending;
      return id;
    },
  };
}

/** Records its calls, then runs `then`. */
function noting(then: OnReminder = () => undefined) {
  const calls: { readonly id: string; readonly attempt: number; readonly at: number }[] = [];
  const signals: AbortSignal[] = [];
  const onReminder: OnReminder = (interrupt, reminder) => {
    calls.push({ id: interrupt.id, attempt: reminder.attempt, at: Date.now() });
    signals.push(reminder.signal);
    return then(interrupt, reminder);
  };
  return { calls, signals, onReminder };
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const never = () => new Promise<never>(() => undefined);

test('the hook receives a question after its remindAfter, once', async () => {
  const seen: RunInterrupt[] = [];
  const { calls, onReminder } = noting((interrupt) => void seen.push(interrupt));
  const { ask, runs, work, errors } = desk({ onReminder });
  const worker = work();
  const id = await ask('run');
  await pass(MINUTE - 1);
  expect(calls).toEqual([]);
  await pass(1_001);
  expect(calls).toMatchObject([{ id, attempt: 1 }]);
  expect(seen).toEqual([await runs.interrupt(id)]);
  expect(seen[0]).toMatchObject({ tool: 'pay', startedBy: 'ann', remindAt: (seen[0]?.createdAt ?? 0) + MINUTE });
  await pass(300 * MINUTE);
  expect(calls).toHaveLength(1);
  expect(await runs.get('run')).toMatchObject({ status: 'waiting', pending: [id] });
  expect(errors).toEqual([]);
  await worker.stop();
});

test('a question with several reminders gets each of them, and the hook knows which it is', async () => {
  const told: string[] = [];
  let isAway = true;
  const onReminder: OnReminder = (_, { number, of, attempt }) => {
    told.push(`${number} of ${of}, attempt ${attempt}`);
    if (number === 2 && isAway) throw new Error('the mail server is away');
  };
  const { ask, work, store } = desk({ onReminder }, { remind: ['1h', '5m', '2h'] });
  const id = await ask('run');
  const worker = work();
  await pass(6 * MINUTE);
  expect(told).toEqual(['1 of 3, attempt 1']);
  await pass(54 * MINUTE + 1_000);
  isAway = false;
  await pass(2 * MINUTE);
  expect(told.slice(1)).toEqual(['2 of 3, attempt 1', '2 of 3, attempt 2']);
  await worker.stop();
  // Another worker continues.
  const another = work();
  await pass(300 * MINUTE);
  expect(told.slice(3)).toEqual(['3 of 3, attempt 1']);
  const { createdAt = 0, remindAt } = (await store.interrupt(id)) ?? {};
  expect(remindAt).toBe(createdAt + 120 * MINUTE);
  await another.stop();
});

test('a decided or withdrawn question gets no reminder', async () => {
  const { calls, onReminder } = noting();
  const { ask, runs, work } = desk({ onReminder });
  const worker = work();
  await runs.decide(await ask('decided'), 'approve');
  await ask('cancelled');
  await runs.cancel('cancelled');
  const waits = await ask('waits');
  await pass(2 * MINUTE);
  expect(calls.map(({ id }) => id)).toEqual([waits]);
  await worker.stop();
});

test('a hook that throws is reported and retried with growing pauses, and the run is not affected', async () => {
  let failures = 4;
  const { calls, onReminder } = noting(() => {
    if (failures-- > 0) throw new Error('the mail server is away');
  });
  const { ask, runs, work, errors } = desk({ onReminder });
  const worker = work();
  const id = await ask('run');
  await pass(60 * MINUTE);
  expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5]);
  const pauses = calls.slice(1).map(({ at }, index) => Math.round((at - (calls[index]?.at ?? 0)) / MINUTE));
  expect(pauses).toEqual([1, 2, 4, 8]);
  expect(errors).toHaveLength(4);
  expect(errors[0]).toBeInstanceOf(UsageError);
  expect(errors[0]).toMatchObject({
    code: 'reminder-failed',
    details: { interruptId: id, attempt: 1 },
    message: expect.stringContaining('the mail server is away'),
    cause: { message: 'the mail server is away' },
  });
  await runs.decide(id, 'approve');
  expect(await runs.wait('run', { until: 'end' })).toMatchObject({ status: 'done', text: 'Paid.' });
  await worker.stop();
});

test('a question decided while its hook fails gets no second reminder', async () => {
  const { calls, onReminder } = noting(async (interrupt) => {
    await runs.decide(interrupt.id, 'reject');
    throw new Error('too late');
  });
  const { ask, runs, work } = desk({ onReminder });
  const worker = work();
  await ask('run');
  await pass(60 * MINUTE);
  expect(calls).toHaveLength(1);
  await worker.stop();
});

test('hanging hooks do not block the worker and time out', async () => {
  const { calls, signals, onReminder } = noting(never);
  const { ask, runs, work, errors, store } = desk({ onReminder });
  for (let index = 0; index < 20; index += 1) await ask(`hangs-${index}`);
  const worker = work();
  await pass(MINUTE + 1_000);
  // As many as run at once. The worker still drives a run that another process decided.
  expect(calls).toHaveLength(8);
  const other = desk({ store });
  await other.runs.decide((await other.runs.get('hangs-0')).pending[0] ?? '', 'approve', { drive: false });
  await pass(2_000);
  expect(await runs.get('hangs-0')).toMatchObject({ status: 'done', text: 'Paid.' });
  expect(errors).toEqual([]);
  expect(signals.some(({ aborted }) => aborted)).toBe(false);
  await pass(MINUTE);
  expect(signals.filter(({ aborted }) => aborted)).toHaveLength(8);
  expect(errors).toHaveLength(8);
  expect(errors[0]).toMatchObject({
    code: 'reminder-failed',
    message: expect.stringContaining('longer than 60000 ms'),
  });
  await pass(2 * MINUTE);
  expect(new Set(calls.map(({ id }) => id)).size).toBe(20);
  const stopping = worker.stop();
  await pass(5_000);
  await stopping;
});

test('a hook that completes after its timeout counts as done', async () => {
  const late = Promise.withResolvers<void>();
  const { calls, onReminder } = noting((_, { attempt }) => {
    if (attempt === 1) throw new Error('not yet');
    return late.promise;
  });
  const { ask, work, errors } = desk({ onReminder });
  const worker = work();
  await ask('run');
  // The second try, after a minute, times out after another, and would be repeated a minute later.
  await pass(3 * MINUTE + 5_000);
  expect(errors).toHaveLength(2);
  late.resolve();
  await pass(60 * MINUTE);
  expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2]);
  await worker.stop();
});

test('a process without the hook takes no reminders, so that another process can', async () => {
  const { ask, store, work } = desk();
  const worker = work();
  await ask('run');
  await pass(10 * MINUTE);
  await worker.stop();
  const { calls, onReminder } = noting();
  const other = desk({ store, onReminder }).work();
  await pass(1_000);
  expect(calls).toMatchObject([{ attempt: 1 }]);
  await other.stop();
});

test('a stopping worker waits for its hooks, but not forever', async () => {
  const done = Promise.withResolvers<void>();
  const quick = noting(() => done.promise);
  const { ask, work, store } = desk({ onReminder: quick.onReminder });
  const worker = work();
  await ask('run');
  await pass(MINUTE + 1_000);
  let stopped = false;
  const stopping = worker.stop().then(() => {
    stopped = true;
  });
  await pass(3_000);
  expect(stopped).toBe(false);
  done.resolve();
  await pass(0);
  expect(stopped).toBe(true);
  await stopping;
  expect(await store.takeReminders(9, MINUTE)).toEqual([]);

  const hanging = noting(never);
  const other = desk({ store, onReminder: hanging.onReminder });
  const otherWorker = other.work();
  await other.ask('other');
  await pass(MINUTE + 1_000);
  expect(hanging.calls).toHaveLength(1);
  const giving = otherWorker.stop();
  await pass(5_000);
  await giving;
  expect(hanging.signals[0]?.aborted).toBe(true);
  await pass(MINUTE);
  expect(await store.takeReminders(9, MINUTE)).toMatchObject([{ attempt: 2 }]);
});

test('a worker woken by appends asks for reminders no more often than it polls', async () => {
  const inner = memoryStore();
  let asked = 0;
  const store = changedStore(inner, {
    takeReminders: (limit: number, leaseMs: number) => {
      asked += 1;
      return inner.takeReminders(limit, leaseMs);
    },
  });
  const { ask, work } = desk({ store, onReminder: () => undefined });
  const worker = work();
  for (let index = 0; index < 100; index += 1) {
    await ask(`run-${index}`);
    await pass(100);
  }
  expect(asked).toBeGreaterThanOrEqual(9);
  expect(asked).toBeLessThanOrEqual(21);
  await worker.stop();
});

test('a card changed in the store is reported, and the others get their reminders', async () => {
  const inner = memoryStore();
  const store = changedStore(inner, {
    takeReminders: async (limit: number, leaseMs: number) => {
      const taken = await inner.takeReminders(limit, leaseMs);
      return taken.map((reminder) =>
        reminder.interrupt.runId === 'changed'
          ? { ...reminder, interrupt: { ...reminder.interrupt, digest: 'another' } }
          : reminder,
      );
    },
  });
  const { calls, onReminder } = noting();
  const { ask, work, errors } = desk({ store, onReminder });
  const worker = work();
  await ask('changed');
  const id = await ask('run');
  await pass(MINUTE + 1_000);
  expect(calls).toMatchObject([{ id }]);
  expect(errors).toMatchObject([{ code: 'reminder-failed', cause: { code: 'outdated-card' } }]);
  await worker.stop();
});
