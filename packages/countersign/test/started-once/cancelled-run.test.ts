// A run is cancelled just when its driver is about to write: a call that has not started does not start.
import { setImmediate } from 'node:timers/promises';
import { approve, countersign, memoryStore, type ToolConfig, z } from 'countersign';
import type { Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { expect, test, vi } from 'vitest';
import { changedStore } from '../changed-store.ts';
import { eventually } from '../eventually.ts';

/** Runs `act` once, right before such an event is appended. */
function justBefore(store: Store, type: string, act: () => Promise<unknown>): Store {
  let acts = true;
  return changedStore(store, {
    append: async (append) => {
      const comes = acts && append.events.some((event) => event.type === type);
      if (comes) acts = false;
      if (comes) await act();
      return store.append(append);
    },
  });
}

function office(config: Partial<ToolConfig> = {}) {
  let now = 1_800_000_000_000;
  const clock = () => now;
  const store = memoryStore({ now: clock });
  const paid: unknown[] = [];
  const open = (on: Store) => {
    const model = scriptedModel(({ messages }) =>
      messages.length > 1 ? 'Done.' : { calls: [{ name: 'pay', ref: 'p', input: {} }] },
    );
    const ai = countersign({ store: on, model, clock, retry: false });
    const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true, ...config }, (input) => {
      paid.push(input);
      return 'paid';
    });
    return { runs: ai.runs, model, clerk: ai.defineAgent({ name: 'clerk', tools: [pay] }) };
  };
  const pass = (ms: number) => {
    now += ms;
  };
  return { store, open, paid, pass };
}

const typesIn = async (store: Store) => (await store.read('run'))?.events.map(({ type }) => type);

test('a call about to start is not recorded as started, and the model reads of no doubt', async () => {
  const { store, open, paid } = office();
  const one = open(store);
  await one.clerk.start('Pay.', { runId: 'run' });
  await one.runs.wait('run');
  const [question = ''] = (await one.runs.requests()).items.map(({ id }) => id);
  await one.runs.decide(question, 'approve', { drive: false });
  const two = open(justBefore(store, 'call-started', () => one.runs.cancel('run', { by: 'boss' })));
  await two.runs.drive('run');
  await two.runs.settled();
  expect(paid).toEqual([]);
  expect((await typesIn(store))?.at(-1)).toBe('run-ended');

  await one.clerk.chat({ runId: 'run' }).send('What happened?');
  const parts = one.model.requests.at(-1)?.messages.flatMap(({ content }) => content);
  const response = parts?.find((part) => 'toolResponse' in part);
  expect(JSON.stringify(response)).not.toContain('unknown whether it took effect');
  expect(response).not.toHaveProperty('metadata.mayHaveActed');
});

test('a deadline does not decide a withdrawn question', async () => {
  const { store, open, paid, pass } = office({ expiresIn: 1_000, onExpiry: 'approve' });
  const one = open(store);
  await one.clerk.start('Pay.', { runId: 'run' });
  await one.runs.wait('run');
  pass(5_000);
  const two = open(justBefore(store, 'decision-made', () => one.runs.cancel('run', { by: 'boss' })));
  await two.runs.drive('run');
  await two.runs.settled();
  expect(paid).toEqual([]);
  expect((await typesIn(store))?.at(-1)).toBe('run-ended');
  const [question] = (await one.runs.requests({ settled: true })).items;
  expect(question?.settlement).toMatchObject({ withdrawn: true, by: 'boss' });
});

test('the result of a started body is recorded after the cancel', async () => {
  const { store, open, paid } = office({ needsApproval: false });
  const one = open(store);
  const two = open(justBefore(store, 'call-settled', () => one.runs.cancel('run')));
  await two.clerk.start('Pay.', { runId: 'run' });
  await two.runs.settled();
  expect(paid).toHaveLength(1);
  expect(await typesIn(store)).toEqual(['user-spoke', 'model-replied', 'call-started', 'run-ended', 'call-settled']);
});

test('the result of a body that ignores its signal is recorded as late, and the run stays cancelled', async () => {
  const [begun, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const model = scriptedModel([{ calls: [{ name: 'pay', ref: 'p', input: {} }] }]);
  const ai = countersign({ model, store: memoryStore(), retry: false });
  const pay = ai.defineTool({ name: 'pay', description: '' }, async () => {
    begun.resolve();
    await mayEnd.promise;
    return 'paid';
  });
  await ai.defineAgent({ name: 'clerk', tools: [pay] }).start('Pay.', { runId: 'run' });
  await begun.promise;
  await ai.runs.cancel('run');
  await ai.runs.settled();
  mayEnd.resolve();
  await eventually(async () => expect((await ai.runs.recorded('run')).at(-1)?.type).toBe('call-ended-late'));
  expect(await ai.runs.get('run')).toMatchObject({ status: 'cancelled' });
});

test('a body that ends while its cancelled run is released does not block the next claim', async () => {
  const started = Promise.withResolvers<void>();
  const sent = Promise.withResolvers<void>();
  const kept = memoryStore();
  const store = changedStore(kept, {
    release: async (...args) => {
      await kept.release(...args);
      sent.resolve();
      await setImmediate();
    },
  });
  const model = scriptedModel([{ calls: [{ name: 'send', input: {} }] }, 'Hello.']);
  const ai = countersign({ store, model });
  const send = ai.defineTool({ name: 'send', description: '' }, async () => {
    started.resolve();
    await sent.promise;
    return 'sent';
  });
  const clerk = ai.defineAgent({ name: 'clerk', tools: [send] });
  await clerk.start('Send it.', { runId: 'run' });
  await started.promise;
  await ai.runs.cancel('run');
  await ai.runs.settled();
  await eventually(async () => expect((await typesIn(kept))?.at(-1)).toBe('call-settled'));
  const claimed = await kept.claim('run', 'somebody else', 1_000);
  expect(claimed?.run.status).toBe('cancelled');
});

test('with `refuse`, nothing is decided while another question is pending and the run is driven', async () => {
  const slowly = Promise.withResolvers<void>();
  const paid: string[] = [];
  const to = (name: string) => ({ name: 'pay', ref: name, input: { to: name } });
  const model = scriptedModel(({ messages }) =>
    messages.length > 1 ? 'Done.' : { calls: [{ name: 'slow', input: {} }, to('ann'), to('bob')] },
  );
  const ai = countersign({ model, store: memoryStore() });
  const slow = ai.defineTool({ name: 'slow', description: '' }, () => slowly.promise);
  const inputSchema = z.object({ to: z.string() });
  const pay = ai.defineTool({ name: 'pay', description: '', inputSchema, needsApproval: true }, (input) => {
    paid.push(input.to);
    return 'paid';
  });
  const clerk = ai.defineAgent({ name: 'clerk', tools: [slow, pay] });
  await clerk.start('Pay both.', { runId: 'run' });
  await eventually(async () => expect((await ai.runs.requests()).items).toHaveLength(2));
  const [ann] = (await ai.runs.requests()).items;
  if (!ann) throw new Error('Expected a question.');
  const sent = clerk
    .chat({ runId: 'run' })
    .send({ resume: { approve: approve(ann.part) }, prompt: 'And?', whilePending: 'refuse' });
  await expect(sent).rejects.toMatchObject({ code: 'decision-pending' });
  slowly.resolve();
  await ai.runs.wait('run');
  expect((await ai.runs.requests()).items).toHaveLength(2);
  expect(paid).toEqual([]);
});

test('a question raised while its cancelled run is released is not recorded', async () => {
  const gate = Promise.withResolvers<boolean>();
  const { store, open, paid } = office({ needsApproval: () => gate.promise });
  const slow = changedStore(store, {
    release: async (...args) => {
      gate.resolve(true);
      for (let turns = 0; turns < 5; turns += 1) await setImmediate();
      return store.release(...args);
    },
  });
  const { runs, clerk } = open(slow);
  await clerk.start('Pay.', { runId: 'run' });
  await eventually(async () => expect(await typesIn(store)).toContain('model-replied'));
  await runs.cancel('run', { by: 'boss' });
  await runs.settled();
  expect(paid).toEqual([]);
  expect(await typesIn(store)).toEqual(['user-spoke', 'model-replied', 'run-ended']);
});

/** A clerk that pays, itself or through a helper, and repeats the tool results. */
function payingClerk(where: 'root' | 'inside') {
  const paid = vi.fn(() => 'paid');
  const ai = countersign({ store: memoryStore(), retry: false });
  const asks = (tool: string) =>
    scriptedModel(({ messages }) => {
      const results = messages.filter(({ role }) => role === 'tool');
      return results.length > 0
        ? JSON.stringify(results)
        : { calls: [{ name: tool, ref: 'c', input: { prompt: 'Pay.' } }] };
    });
  const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true }, paid);
  const helper = ai.defineAgent({ name: 'helper', tools: [pay], model: asks('pay') });
  const calls = where === 'root' ? pay : helper;
  return { runs: ai.runs, paid, clerk: ai.defineAgent({ name: 'clerk', tools: [calls], model: asks(calls.name) }) };
}

test.each(['root', 'inside'] as const)(
  'a message after a cancel does not start a call approved before (%s)',
  async (where) => {
    const { runs, paid, clerk } = payingClerk(where);
    await clerk.start('Pay.', { runId: 'run' });
    await runs.settled();
    const [card] = (await runs.requests()).items;
    await runs.decide(card?.id ?? '', 'approve', { drive: false });
    await runs.cancel('run');
    const { text } = await clerk.chat({ runId: 'run' }).send('And now?');
    await runs.settled();
    expect(text).toContain('was cancelled');
    expect(paid).not.toHaveBeenCalled();
  },
);
