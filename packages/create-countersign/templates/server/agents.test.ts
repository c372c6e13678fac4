// Tests the agents with a scripted model: no key, no network.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryStore } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import agents from './agents.ts';

const payment = { to: 'ACME', amount: 950, currency: 'EUR', reference: 'Invoice 7' };

async function startPayment(amount: number) {
  const model = scriptedModel([{ calls: [{ name: 'payInvoice', input: { ...payment, amount } }] }, 'Done.']);
  const ai = agents({ store: memoryStore(), model, providers: {}, env: {} });
  const run = await ai.agents.get('clerk')?.start('Pay ACME.', { by: 'ann' });
  assert.ok(run);
  await ai.runs.wait(run.id);
  return { ai, model, id: run.id, requests: (await ai.runs.requests()).items };
}

test('a payment above 100 runs after a person approved it', async () => {
  const { ai, model, id, requests } = await startPayment(950);
  assert.deepEqual(
    requests.map(({ tool, input }) => ({ tool, input })),
    [{ tool: 'payInvoice', input: payment }],
  );
  assert.equal(model.requests.length, 1); // the model has not heard of a result yet
  for (const request of requests) await ai.runs.decide(request, 'approve', { by: 'bob' });
  const ended = await ai.runs.wait(id, { until: 'end' });
  assert.equal(ended.text, 'Done.');
  assert.match(JSON.stringify(model.requests[1]?.messages.at(-1)), /"receipt"/);
});

test('a payment of at most 100 runs at once', async () => {
  const { ai, id, requests } = await startPayment(20);
  assert.deepEqual(requests, []);
  assert.equal((await ai.runs.wait(id, { until: 'end' })).text, 'Done.');
});
