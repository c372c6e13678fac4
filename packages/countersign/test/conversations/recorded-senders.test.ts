// The record names the user whose message withdrew a question, as it names the approver.
import { countersign, memoryStore, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { chatRoute } from 'countersign/ui';
import { expect, test } from 'vitest';
import { createClient } from '../ui/client.ts';

/** A clerk that asks for two payments, one of them inside a sub-agent. */
function asking() {
  const asks = (...calls: readonly { name: string; ref: string; input: object }[]) =>
    scriptedModel(({ messages }) => (messages.some(({ role }) => role === 'tool') ? 'Heard.' : { calls }));
  const ai = countersign({ store: memoryStore(), retry: false });
  const pay = ai.defineTool(
    { name: 'pay', description: '', inputSchema: z.object({}), needsApproval: true },
    () => 'paid',
  );
  const model = asks({ name: 'pay', ref: 'p1', input: {} });
  const helper = ai.defineAgent({ name: 'helper', description: '', model, tools: [pay] });
  const both = asks({ name: 'pay', ref: 'p2', input: {} }, { name: 'helper', ref: 'h', input: { prompt: 'Pay.' } });
  const clerk = ai.defineAgent({ name: 'clerk', model: both, tools: [pay, helper] });
  const settlements = async () => {
    const { items } = await ai.runs.requests({ runId: 'talk', settled: true });
    return items.map(({ settlement }) => settlement);
  };
  const cancelledBy = async () =>
    (await ai.runs.recorded('talk')).flatMap((event) =>
      event.type === 'decision-made' && event.decision.type === 'cancel' ? [event.decision.by] : [],
    );
  return { ai, clerk, pay, settlements, cancelledBy };
}

test('the sender of a message that withdraws questions is recorded, and named to a late approver', async () => {
  const { ai, clerk, settlements, cancelledBy } = asking();
  const { interrupts } = await clerk.generate({ runId: 'talk', prompt: 'Pay.', by: 'ann' });
  expect(interrupts).toHaveLength(2);
  await clerk.generate({ runId: 'talk', prompt: 'Never mind.', by: 'bob' });
  const withdrawn = { withdrawn: true, by: 'bob', at: expect.any(Number) };
  expect(await settlements()).toEqual([withdrawn, withdrawn]);
  expect(await cancelledBy()).toEqual(['bob', 'bob']);
  const [late] = (await ai.runs.requests({ runId: 'talk', settled: true })).items;
  await expect(ai.runs.decide(late?.id ?? '', 'approve', { by: 'eve' })).rejects.toThrow(/was withdrawn by bob at 20/);
  expect((await ai.runs.verify('talk')).ok).toBe(true);
});

test('a message with a decision on one question withdraws the other', async () => {
  const { clerk, settlements, cancelledBy } = asking();
  const { interrupts } = await clerk.generate({ runId: 'talk', prompt: 'Pay.' });
  const resume = { reject: interrupts.filter(({ metadata }) => metadata?.path === undefined) };
  await clerk.generate({ runId: 'talk', prompt: 'Not that.', by: 'bob', resume });
  expect((await settlements()).map((settlement) => settlement?.by)).toEqual(['bob', 'bob']);
  expect(await cancelledBy()).toEqual(['bob']);
});

test('a message without a `by` withdraws questions without naming a user', async () => {
  const { clerk, settlements, cancelledBy } = asking();
  await clerk.generate({ runId: 'talk', prompt: 'Pay.' });
  await clerk.generate({ runId: 'talk', prompt: 'Never mind.' });
  expect((await settlements()).map((settlement) => settlement?.by)).toEqual([null, null]);
  expect(await cancelledBy()).toEqual([undefined, undefined]);
});

test('the sender of a message in the browser is recorded', async () => {
  const { clerk, settlements, cancelledBy } = asking();
  const route = chatRoute(clerk, { authorize: () => ({ id: 'bob' }), client: 7 });
  const fetcher: typeof fetch = (input, init) => {
    const request = new Request(input, init);
    return request.method === 'POST' ? route.POST(request) : route.GET(request);
  };
  const client = createClient(7, { api: 'http://localhost/api/chat', id: 'talk', fetch: fetcher });
  await client.say('Pay.');
  await client.say('Never mind.');
  expect((await settlements()).map((settlement) => settlement?.by)).toEqual(['bob', 'bob']);
  expect(await cancelledBy()).toEqual(['bob', 'bob']);
});

test('a decision in a cancelled conversation fails, and names who cancelled it and when', async () => {
  const { ai, clerk } = asking();
  const { interrupts } = await clerk.generate({ runId: 'talk', prompt: 'Pay.' });
  await ai.runs.cancel('talk', { by: 'boss' });
  expect(interrupts).toHaveLength(2);
  for (const question of interrupts) {
    const decided = clerk.generate({ runId: 'talk', resume: { approve: question } });
    await expect(decided).rejects.toThrow(/was withdrawn by boss at 20.*Nothing is left/);
    await expect(decided).rejects.toMatchObject({ code: 'already-decided', details: { settlement: { by: 'boss' } } });
  }
});
