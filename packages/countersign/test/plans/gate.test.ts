// Plans of programs outside: asked for as one call, and used by later calls of the same person through the gate.
import { memoryStore } from 'countersign';
import { expect, test } from 'vitest';
import { FINANCE, openPlanner, step } from './kit.ts';

const call = (amount: number) => ({ to: 'ACME', amount, currency: 'EUR' });

async function approved(by = 'ann') {
  const opened = openPlanner([]);
  const { ai, pay, publish } = opened;
  const gate = ai.gate(pay);
  const steps = [{ input: { to: 'ACME', amount: 1 } }, { tool: publish, input: { text: 'Hi' } }];
  const asked = await gate.plan(steps, { key: 'plan-1', by });
  if (asked.status !== 'pending') throw new Error(asked.status);
  expect(await gate.plan(steps, { key: 'plan-1', by })).toEqual(asked);
  await ai.runs.decide(asked.id, 'approve', { by: 'lea' });
  return { ...opened, gate, asked, result: await gate.wait(asked.id) };
}

test('the calls of an approved plan run without a request, each once', async () => {
  const { ai, gate, publish, asked, result, done } = await approved();
  expect(result).toMatchObject({ status: 'done', output: { approved: [{ tool: 'pay' }, { tool: 'publish' }] } });
  expect(await gate.run(call(1), { key: 'one', by: 'ann', timeout: 1 })).toMatchObject({ status: 'done' });
  expect(await gate.run(call(1), { key: 'two', by: 'ann', timeout: 1 })).toMatchObject({ status: 'pending' });
  const started = await ai.gate(publish).request({ text: 'Hi' }, { key: 'three', by: 'ann' });
  expect(started).toMatchObject({ status: 'approved' });
  expect(done).toEqual([call(1)]);
  expect((await ai.grants.plan(asked.id))?.steps).toMatchObject([
    { tool: 'pay', left: 0, calls: [{ outcome: { state: 'done' } }] },
    { tool: 'publish', left: 1, calls: [] },
  ]);
});

test('another person and another input ask', async () => {
  const { gate } = await approved();
  expect((await gate.request(call(1), { key: 'one', by: 'eve' })).status).toBe('pending');
  expect((await gate.request(call(1), { key: 'two' })).status).toBe('pending');
  expect((await gate.request(call(2), { key: 'three', by: 'ann' })).status).toBe('pending');
});

test('a plan without a person, and one with a step that a rule denies, ask nobody', async () => {
  const { ai, pay } = openPlanner([], {
    rules: [{ tool: 'pay', where: [{ field: 'amount', above: 5 }], then: 'deny' }],
  });
  const gate = ai.gate(pay);
  const nobody = await gate.plan([{ input: call(1) }], { key: 'one' } as never);
  expect(nobody).toMatchObject({ status: 'rejected', reason: expect.stringContaining('needs a person') });
  const denied = await gate.plan([{ input: call(6) }], { key: 'two', by: 'ann' });
  expect(denied).toMatchObject({ status: 'rejected', reason: expect.stringContaining('Step 1 (pay)') });
});

test('a process without the tools of the plan can decide it from its record', async () => {
  const store = memoryStore();
  const { ai } = openPlanner([], { store });
  const wire = {
    name: 'wire',
    labels: ['money'],
    policy: FINANCE,
    inputSchema: { type: 'object', properties: { amount: { type: 'number' } } },
  };
  const asked = await ai.gate(wire).plan([{ input: { amount: 1 } }], { key: 'one', by: 'ann' });
  const other = openPlanner([], { store }).ai;
  const id = 'id' in asked ? asked.id : '';
  await expect(other.runs.decide(id, 'approve', { by: 'ann' })).rejects.toMatchObject({ code: 'not-allowed' });
  const edit = { steps: [{ tool: 'wire', input: { amount: 'x' } }] };
  await expect(other.runs.decide(id, { type: 'approve', edit }, { by: 'ben' })).rejects.toThrow('does not fit');
  expect((await other.runs.decide(id, 'approve', { by: 'ben' })).status).toBe('settled');
  await other.runs.wait(asked.runId);
  expect((await ai.gate(wire).request({ amount: 1 }, { key: 'two', by: 'ann' })).status).toBe('approved');
  expect(step(1).tool).toBe('pay');
});
