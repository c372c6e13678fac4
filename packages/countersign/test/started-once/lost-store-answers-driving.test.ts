// A store that fails right after a write while a run is driven: nothing is recorded twice.
import { type Countersign, countersign, z } from 'countersign';
import type { Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import { ASKED_NEXT, flakyStore } from '../conversations/flaky-store.ts';

/** Loses the answer to the first append with such an event, then lets this operation fail twice. */
function flaky(next: (typeof ASKED_NEXT)[number], type: string, between?: (ai: Countersign) => Promise<unknown>) {
  let armed = true;
  const { kept, store } = flakyStore(next, async ({ events }) => {
    if (!armed || !events.some((event) => event.type === type)) return false;
    armed = false;
    await between?.(other.ai);
    return true;
  });
  const paid: string[] = [];
  const make = (s: Store, gated: boolean) => {
    const model = scriptedModel(async ({ messages }) => {
      await new Promise((r) => setTimeout(r, 5));
      return !gated || messages.some(({ role }) => role === 'tool')
        ? 'Done.'
        : {
            calls: [
              { name: 'pay', ref: 'p', input: {} },
              { name: 'slow', ref: 's', input: {} },
            ],
          };
    });
    const ai = countersign({ model, store: s, retry: false, leaseMs: 5_000 });
    const pay = ai.defineTool(
      {
        name: 'pay',
        description: '',
        inputSchema: z.object({}),
        needsApproval: async () => {
          await new Promise((r) => setTimeout(r, 5));
          return true;
        },
      },
      () => {
        paid.push('pay');
        return 'paid';
      },
    );
    const slow = ai.defineTool({ name: 'slow', description: '', inputSchema: z.object({}) }, async () => {
      await new Promise((r) => setTimeout(r, 300));
      return 'slow';
    });
    return { ai, clerk: ai.defineAgent({ name: 'clerk', tools: [pay, slow] }) };
  };
  const other = make(kept, type !== 'model-replied');
  return { ...make(store, type !== 'model-replied'), paid };
}
test.each(ASKED_NEXT)('a question is recorded once when its answer is lost and %s fails', async (op) => {
  const { ai, clerk } = flaky(op, 'call-interrupted');
  await clerk.start('a', { runId: 't' });
  await ai.runs.settled();
  expect((await ai.runs.recorded('t')).filter((e) => e.type === 'call-interrupted')).toHaveLength(1);
});
test.each(ASKED_NEXT)('an approval made meanwhile is kept and runs when %s fails', async (op) => {
  const { ai, clerk, paid } = flaky(op, 'call-interrupted', async (other) => {
    const [card] = (await other.runs.requests()).items;
    await other.runs.decide(card?.id ?? '', 'approve', { by: 'ann' });
  });
  await clerk.start('a', { runId: 't' });
  await ai.runs.settled();
  const { status, pending, error } = await ai.runs.get('t');
  expect({ status, pending, paid }, JSON.stringify([error, (await ai.runs.recorded('t')).map((e) => e.type)])).toEqual({
    status: 'done',
    pending: [],
    paid: ['pay'],
  });
});
