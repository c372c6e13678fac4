// A store that is set back while a process works: a backup is restored, or a replica that was behind takes over.
import { type Append, countersign, memoryStore, type Store } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { expect, test, vi } from 'vitest';
import { changedStore } from '../changed-store.ts';

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
  await ai.defineAgent({ name: 'clerk', tools: [pay] }).start('Pay.', { runId: 'run' });
  await ai.runs.wait('run');
  await ai.runs.settled();
  const [card] = (await ai.runs.interrupts()).items;
  await remember();
  await ai.runs.decide(card?.id ?? '', 'approve', { by: 'bob' });
  await running.promise;
  setBack();
  mayEnd.resolve();
  await ai.runs.settled();
  await vi.waitFor(() => expect(warnings).toHaveBeenCalled());
  expect(warnings.mock.calls).toEqual([
    [
      expect.stringMatching(/forgotten that call .* of run run was started.*before it is approved again/),
      { type: 'CountersignWarning', code: 'store-failed' },
    ],
  ]);
  // It is asked again, and nothing runs by itself.
  expect((await ai.runs.interrupts()).items.map(({ id }) => id)).toEqual([card?.id]);
  warnings.mockRestore();
});
