// A store that loses recent writes while a process works: a backup is restored, or a stale replica takes over.
import { type Countersign, countersign, memoryStore, type Tool, type ToolContext } from 'countersign';
import type { Append, Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { expect, onTestFinished, test, vi } from 'vitest';
import { changedStore } from '../changed-store.ts';
import { eventually } from '../eventually.ts';

/** A store that can be set back to its content at the call of `remember`. */
function twoTimes() {
  const [present, past] = [memoryStore(), memoryStore()];
  let isSetBack = false;
  const appends: Append[] = [];
  const now = changedStore(present, {
    append: async (append) => {
      const appended = await present.append(append);
      appends.push(append);
      return appended;
    },
  });
  const store = new Proxy(present, {
    get: (_, name) => {
      const value: unknown = Reflect.get(isSetBack ? past : now, name);
      return typeof value === 'function' ? value.bind(isSetBack ? past : now) : value;
    },
  }) as Store;
  return {
    store,
    remember: async () => {
      for (const append of appends) await past.append(append);
    },
    setBack: () => {
      isSetBack = true;
    },
  };
}

/** Approves a call after `remember`, so that a set-back store has no approval. Returns the id of the question. */
async function approvedAfter(remember: () => Promise<void>, ai: Countersign, pay: Tool): Promise<string> {
  await ai.defineAgent({ name: 'clerk', tools: [pay] }).start('Pay.', { runId: 'run' });
  await ai.runs.wait('run');
  await ai.runs.settled();
  const [card] = (await ai.runs.requests()).items;
  await remember();
  return (await ai.runs.decide(card?.id ?? '', 'approve', { by: 'bob' })).requestId;
}

test('a call whose recorded start the store lost causes a warning', async () => {
  const { store, remember, setBack } = twoTimes();
  const warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const running = Promise.withResolvers<void>();
  const mayEnd = Promise.withResolvers<void>();
  const model = scriptedModel([{ calls: [{ name: 'pay', ref: 'p', input: {} }] }, 'Done.']);
  const ai = countersign({ model, store, retry: false });
  const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true }, async () => {
    running.resolve();
    await mayEnd.promise;
    return 'paid';
  });
  const asked = await approvedAfter(remember, ai, pay);
  await running.promise;
  setBack();
  mayEnd.resolve();
  await ai.runs.settled();
  await eventually(() => expect(warnings).toHaveBeenCalled());
  expect(warnings.mock.calls).toEqual([
    [
      expect.stringMatching(/lost the start of call .* of run run.*before you approve it again/),
      { type: 'CountersignWarning', code: 'store-failed' },
    ],
  ]);
  // The question is pending again, and nothing runs by itself.
  expect((await ai.runs.requests()).items.map(({ id }) => id)).toEqual([asked]);
  warnings.mockRestore();
});

/** A payment whose bodies end when the test resolves them, in the order of their starts. */
async function clerkOn(store: Store) {
  const bodies: PromiseWithResolvers<void>[] = [];
  const model = scriptedModel([{ calls: [{ name: 'pay', ref: 'p', input: {} }] }, 'Done.', 'Done.']);
  const ai = countersign({ model, store, retry: false });
  const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true }, async () => {
    const body = Promise.withResolvers<void>();
    bodies.push(body);
    await body.promise;
    return 'paid';
  });
  const agent = ai.defineAgent({ name: 'clerk', tools: [pay] });
  const approve = async (begun: number) => {
    const [card] = (await ai.runs.requests()).items;
    // Another person each time: the same approval in the same millisecond would be the very same record.
    await ai.runs.decide(card?.id ?? '', 'approve', { by: `approver ${begun}` });
    await eventually(() => expect(bodies).toHaveLength(begun));
  };
  return { ai, agent, bodies, approve };
}

test.each([
  ['between two steps', (step: Step) => step('deposit', () => 'paid').then(() => step('rest', () => 'paid'))],
  [
    'on its abort signal',
    (_: Step, signal: AbortSignal) => {
      vi.advanceTimersByTime(20_000);
      return aborted(signal);
    },
  ],
])('a call that stops %s after the store lost its start causes one warning', async (_when, acts) => {
  const { store, remember, setBack } = twoTimes();
  const warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const model = scriptedModel([{ calls: [{ name: 'pay', ref: 'p', input: {} }] }, 'Done.']);
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const ai = countersign({ model, store, retry: false, leaseMs: 60_000 });
  const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true }, async (_input, { step, signal }) => {
    setBack();
    await acts(step, signal);
    return 'paid';
  });
  await approvedAfter(remember, ai, pay);
  await eventually(() => expect(warnings).toHaveBeenCalled());
  await ai.runs.settled();
  expect(warnings.mock.calls.map(([text]) => text)).toEqual([
    expect.stringMatching(/lost the start of call .* of run run/),
  ]);
  warnings.mockRestore();
});

type Step = ToolContext['step'];

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
}

test('a call of a run that the store lost causes a warning', async () => {
  const { store, setBack } = twoTimes();
  const warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const { ai, agent, bodies, approve } = await clerkOn(store);
  await agent.start('Pay.', { runId: 'run' });
  await ai.runs.wait('run');
  await approve(1);
  setBack();
  bodies[0]?.resolve();
  await ai.runs.settled();
  expect(warnings.mock.calls.map(([text]) => text)).toEqual([expect.stringMatching(/run run.*call/)]);
  warnings.mockRestore();
});

test('a body from before the store was set back does not settle a later approval', async () => {
  const { store, remember, setBack } = twoTimes();
  const warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const { ai, agent, bodies, approve } = await clerkOn(store);
  await agent.start('Pay.', { runId: 'run' });
  await ai.runs.wait('run');
  await ai.runs.settled();
  await remember();
  await approve(1);
  setBack();
  await approve(2);
  bodies[0]?.resolve();
  await eventually(() => expect(warnings).toHaveBeenCalled());
  expect(warnings.mock.calls.map(([text]) => text)).toEqual([
    expect.stringMatching(/lost the start of call .* of run run/),
  ]);
  expect(await ai.runs.get('run')).toMatchObject({ status: 'running' });
  bodies[1]?.resolve();
  await ai.runs.settled();
  expect(await ai.runs.get('run')).toMatchObject({ status: 'done' });
  warnings.mockRestore();
});

/** A payment so many sub-agents deep, approved after `remember`. Its body ends when the test resolves it. */
async function deepPaymentOn({ store, remember }: ReturnType<typeof twoTimes>, deep: number) {
  const body = Promise.withResolvers<void>();
  const begun = vi.fn();
  const model = scriptedModel([
    ...Array.from({ length: deep }, (_, index) => ({
      calls: [{ name: `teller-${deep - index}`, ref: 't', input: { prompt: 'Pay.' } }],
    })),
    { calls: [{ name: 'pay', ref: 'p', input: {} }] },
    ...Array.from({ length: deep + 1 }, () => 'Done.'),
  ]);
  const ai = countersign({ model, store, retry: false });
  const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true }, async () => {
    begun();
    await body.promise;
    return 'paid';
  });
  let teller = ai.defineAgent({ name: 'teller-1', description: 'Pays.', tools: [pay] });
  for (let level = 2; level <= deep; level++)
    teller = ai.defineAgent({ name: `teller-${level}`, description: 'Pays.', tools: [teller] });
  await ai.defineAgent({ name: 'clerk', tools: [teller] }).start('Pay.', { runId: 'run' });
  await ai.runs.wait('run');
  await ai.runs.settled();
  const [card] = (await ai.runs.requests()).items;
  await remember();
  await ai.runs.decide(card?.id ?? '', 'approve', { by: 'bob' });
  await eventually(() => expect(begun).toHaveBeenCalled());
  return { ai, card, body };
}

test.each([1, 2, 3])('a lost call %d sub-agents deep causes one warning', async (deep) => {
  const times = twoTimes();
  const warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const { ai, card, body } = await deepPaymentOn(times, deep);
  times.setBack();
  body.resolve();
  await ai.runs.settled();
  expect(warnings.mock.calls.map(([text]) => text)).toEqual([
    expect.stringMatching(/lost the start of call .* of run run/),
  ]);
  expect((await ai.runs.requests()).items.map(({ id }) => id)).toEqual([card?.id]);
  warnings.mockRestore();
});

test.each([
  ['is missing in the store', async () => undefined, /no longer has run run/],
  ['cannot be read', () => Promise.reject(new Error('It is on fire.')), /could not be recorded: It is on fire/],
])('a call three sub-agents deep of a run that %s causes one warning', async (_how, read, says) => {
  const times = twoTimes();
  const warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const changes: Partial<Store> = {};
  const { ai, body } = await deepPaymentOn({ ...times, store: changedStore(times.store, changes) }, 3);
  times.setBack();
  changes.read = read;
  body.resolve();
  await ai.runs.settled();
  expect(warnings.mock.calls.map(([text]) => text)).toEqual([expect.stringMatching(says)]);
  warnings.mockRestore();
});

test.each([
  ['ends', async () => undefined],
  ['stops between two steps', (step: Step) => step('deposit', () => 'paid').then(() => step('rest', () => 'paid'))],
])('a call inside a sub-agent that %s causes one warning if the store lost only that call', async (_how, acts) => {
  const { store, remember, setBack } = twoTimes();
  const warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const asks = (name: string, input: object) => ({ calls: [{ name, ref: name, input }] });
  const model = scriptedModel([asks('teller', { prompt: 'Pay.' }), asks('pay', {}), 'Paid.', 'Done.']);
  const ai = countersign({ model, store, retry: false });
  const needsApproval = async () => {
    await remember();
    return false;
  };
  const pay = ai.defineTool({ name: 'pay', description: '', needsApproval }, async (_input, { step }) => {
    setBack();
    await acts(step);
    return 'paid';
  });
  const teller = ai.defineAgent({ name: 'teller', description: 'Pays.', tools: [pay] });
  await ai.defineAgent({ name: 'clerk', tools: [teller] }).start('Pay.', { runId: 'run' });
  await eventually(() => expect(warnings).toHaveBeenCalled());
  await ai.runs.settled();
  expect((await store.read('run'))?.events.map(({ type }) => type)).toContain('call-started');
  expect(warnings.mock.calls.map(([text]) => text)).toEqual([
    expect.stringMatching(/lost the start of call .*, .* of run run/),
  ]);
  warnings.mockRestore();
});
