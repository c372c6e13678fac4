// A store that is set back while a process works: a backup is restored, or a replica that was behind takes over.
import { type Countersign, countersign, memoryStore, type Tool, type ToolContext } from 'countersign';
import type { Append, Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { expect, onTestFinished, test, vi } from 'vitest';
import { changedStore } from '../changed-store.ts';
import { eventually } from '../eventually.ts';

/** A store that can be set back to what it had when `remember` was called. */
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

/** A run whose call was approved after the store was as it will be again. Gives the id of the question. */
async function approvedAfter(remember: () => Promise<void>, ai: Countersign, pay: Tool): Promise<string> {
  await ai.defineAgent({ name: 'clerk', tools: [pay] }).start('Pay.', { runId: 'run' });
  await ai.runs.wait('run');
  await ai.runs.settled();
  const [card] = (await ai.runs.interrupts()).items;
  await remember();
  return (await ai.runs.decide(card?.id ?? '', 'approve', { by: 'bob' })).interruptId;
}

test('a call that has run, whose start the store has forgotten, is told of', async () => {
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
  // It is asked again, and nothing runs by itself.
  expect((await ai.runs.interrupts()).items.map(({ id }) => id)).toEqual([asked]);
  warnings.mockRestore();
});

/** A payment of which the body ends when it is told to, and in which order it was begun. */
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
    const [card] = (await ai.runs.interrupts()).items;
    await ai.runs.decide(card?.id ?? '', 'approve', { by: 'bob' });
    await eventually(() => expect(bodies).toHaveLength(begun));
  };
  return { ai, agent, bodies, approve };
}

test.each([
  ['between two steps', (step: Step) => step('deposit', () => 'paid').then(() => step('rest', () => 'paid'))],
  [
    'when it is told to',
    (_: Step, signal: AbortSignal) => {
      vi.advanceTimersByTime(20_000);
      return aborted(signal);
    },
  ],
])('a call that stops %s, since the store has forgotten its start, is told of once', async (_when, acts) => {
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

test('a call of a run that the store has forgotten altogether is told of', async () => {
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

test('what is approved again after a store was set back is not settled by the body from before', async () => {
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

/** A payment so many sub-agents deep, that is approved after the store has remembered. Its body ends when it is told to. */
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
  const [card] = (await ai.runs.interrupts()).items;
  await remember();
  await ai.runs.decide(card?.id ?? '', 'approve', { by: 'bob' });
  await eventually(() => expect(begun).toHaveBeenCalled());
  return { ai, card, body };
}

test.each([1, 2, 3])('a call %d sub-agents deep, which the store has forgotten, is told of once', async (deep) => {
  const times = twoTimes();
  const warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const { ai, card, body } = await deepPaymentOn(times, deep);
  times.setBack();
  body.resolve();
  await ai.runs.settled();
  expect(warnings.mock.calls.map(([text]) => text)).toEqual([
    expect.stringMatching(/lost the start of call .* of run run/),
  ]);
  expect((await ai.runs.interrupts()).items.map(({ id }) => id)).toEqual([card?.id]);
  warnings.mockRestore();
});

test.each([
  ['is gone from the store', async () => undefined, /no longer has run run/],
  ['cannot be read', () => Promise.reject(new Error('It is on fire.')), /could not be recorded: It is on fire/],
])('a call three sub-agents deep of a run that %s is told of once', async (_how, read, says) => {
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
])(
  'a call inside an agent that %s, of which the store has forgotten only the call, is told of once',
  async (_how, acts) => {
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
  },
);
