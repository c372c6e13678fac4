// Tests the agent with a scripted model: no key, no network.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryStore } from 'countersign';
import { createAgent } from './agent.ts';
import { model } from './model.ts';

test('a payment above 100 runs after a person approved it', async () => {
  const { ai, agent } = createAgent({ model, store: memoryStore() });
  const { id } = await agent.start('Pay ACME 950', { by: 'ann' });
  await ai.runs.wait(id);
  const [request] = (await ai.runs.requests()).items;
  assert.ok(request);
  assert.deepEqual(request.input, { to: 'ACME', amount: 950 });
  await ai.runs.decide(request, 'approve', { by: 'bob' });
  assert.match((await ai.runs.wait(id, { until: 'end' })).text, /Paid 950 euros to ACME/);
});

test('a rejected payment does not run', async () => {
  const { ai, agent } = createAgent({ model, store: memoryStore() });
  const { id } = await agent.start('Pay ACME 950', { by: 'ann' });
  await ai.runs.wait(id);
  const [request] = (await ai.runs.requests()).items;
  assert.ok(request);
  await ai.runs.decide(request, 'reject', { by: 'bob' });
  assert.doesNotMatch((await ai.runs.wait(id, { until: 'end' })).text, /Paid/);
});
