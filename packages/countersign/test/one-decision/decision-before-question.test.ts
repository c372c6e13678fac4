// Decisions sent before the question exists: a decision is recorded on an asked question or not at all.
import { countersign, memoryStore, z } from 'countersign';
import { internalsOf, type Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { eventually } from '../eventually.ts';

const pay = { toolRequest: { name: 'pay', ref: 'p', input: { amount: 5 } } };

function desk(store: Store, gate: () => Promise<boolean>) {
  const paid: number[] = [];
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: 'pay', ref: 'p', input: { amount: 5 } }] },
  );
  const ai = countersign({ model, store, retry: false });
  const inputSchema = z.object({ amount: z.number() });
  const tool = ai.defineTool({ name: 'pay', description: '', inputSchema, needsApproval: gate }, ({ amount }) =>
    paid.push(amount),
  );
  return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools: [tool] }), paid };
}

describe('while needsApproval is still running', () => {
  test('an approval waits for the question and is recorded on it', async () => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const store = memoryStore();
    const { runs, clerk, paid } = desk(store, () => promise);
    await clerk.start('Pay.', { runId: 'run' });
    await eventually(async () => expect((await runs.recorded('run')).at(-1)?.type).toBe('model-replied'));
    const sending = clerk.chat({ runId: 'run' }).send({ resume: { approve: pay }, by: 'ann' });
    // Gives it time to record a decision too early.
    await new Promise((resolve) => setTimeout(resolve, 50));
    resolve(true);
    const { text, interrupts } = await sending;
    expect([text, interrupts]).toEqual(['Done.', []]);
    expect(paid).toEqual([5]);
    const { items } = await runs.requests({ settled: true });
    expect(items).toMatchObject([{ kind: 'approval', settlement: { decision: { type: 'approve' }, by: 'ann' } }]);
    const types = (await runs.recorded('run')).map(({ type }) => type);
    expect(types.filter((type) => type === 'decision-made')).toHaveLength(1);
  });

  test('a decision for a call that a dead process never asked about is rejected', async () => {
    const store = memoryStore();
    const first = desk(store, () => new Promise<never>(() => undefined));
    await first.clerk.start('Pay.', { runId: 'run' });
    await eventually(async () => expect((await store.read('run'))?.events.at(-1)?.type).toBe('model-replied'));
    const { runs, paid } = desk(store, async () => true);
    await expect(internalsOf(runs).resume('run', { approve: pay })).rejects.toMatchObject({ code: 'invalid-resume' });
    expect((await runs.recorded('run')).at(-1)?.type).toBe('model-replied');
    expect(paid).toEqual([]);
  });
});
