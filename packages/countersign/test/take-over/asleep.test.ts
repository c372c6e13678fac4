// A computer that sleeps while a start is being recorded, and learns the store's time from a slow answer: its lease is over.
import { countersign, memoryStore, type Store, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { afterEach, expect, test, vi } from 'vitest';

afterEach(() => void vi.restoreAllMocks());

test('a new estimate of the time of the store does not lengthen a lease', async () => {
  const memory = memoryStore();
  let time = 1_000_000;
  let ran = 0;
  const append: Store['append'] = async (given) => {
    const appended = await memory.append(given);
    if (given.events.some(({ type }) => type === 'call-started')) {
      // The steady clock stops meanwhile.
      time += 6_000;
      await expect(ai.runs.decide('other:call', 'approve')).rejects.toMatchObject({ code: 'unknown-request' });
    }
    return appended;
  };
  const store: Store = { ...memory, append, now: async () => 1_000_000 };
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: 'pay', input: {} }] },
  );
  const ai = countersign({ model, store, clock: () => time, leaseMs: 5_000 });
  const pay = ai.defineTool({ name: 'pay', description: 'Pays.', inputSchema: z.object({}) }, () => {
    ran += 1;
    return 'paid';
  });
  const clerk = ai.defineAgent({ name: 'clerk', tools: [pay] });
  const steady = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => steady);
  await clerk.start('Pay.', { by: 'ann' }).catch(() => undefined);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(ran).toBe(0);
});
