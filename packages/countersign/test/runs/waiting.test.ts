// Waiting for a run with a time limit: the error says what the run waits for.
import { countersign, memoryStore } from 'countersign';
import type { Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import { changedStore } from '../changed-store.ts';

/** A process on this store. Its model replies once `mayReply` resolves. */
function process(store: Store, mayReply: Promise<unknown> = Promise.resolve()) {
  const model = scriptedModel(async ({ messages }) => {
    await mayReply;
    return messages.some(({ role }) => role === 'tool') ? 'Paid.' : { calls: [{ name: 'pay' }] };
  });
  const ai = countersign({ model, store, retry: false });
  const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true }, () => 'paid');
  return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools: [pay] }) };
}

const forever = new Promise<never>(() => undefined);

test('a wait for the end of a run that waits for a person names the pending requests', async () => {
  const { runs, clerk } = process(memoryStore());
  await clerk.start('Pay.', { runId: 'run' });
  const { pending } = await runs.wait('run', { timeoutMs: 10_000 });
  await expect(runs.wait('run', { until: 'end', timeoutMs: 5 })).rejects.toMatchObject({
    name: 'ConflictError',
    code: 'wait-timeout',
    details: { runId: 'run', timeoutMs: 5, status: 'waiting', pending: [{ id: pending[0], tool: 'pay' }] },
    message: `Run run did not end within 5 ms. It waits for a person to decide pay (${pending[0]}); record the decision with runs.decide(id, …).`,
  });
  await runs.decide(pending[0] ?? '', 'approve');
  expect((await runs.wait('run', { until: 'end', timeoutMs: 10_000 })).text).toBe('Paid.');
});

test('a wait says that this process, or another one, drives the run', async () => {
  const store = memoryStore();
  const { runs, clerk } = process(store, forever);
  await clerk.start('Pay.', { runId: 'run' });
  await expect(runs.wait('run', { timeoutMs: 5 })).rejects.toMatchObject({
    details: { driver: 'this process', status: 'running' },
    message: expect.stringMatching(/^Run run did not pause or end within 5 ms\. This process drives it/),
  });
  await expect(process(store).runs.wait('run', { timeoutMs: 5 })).rejects.toMatchObject({
    details: { driver: 'another process' },
    message: expect.stringContaining('Another process drives it'),
  });
});

test('a wait says that no process drives the run, and whether its agent is defined', async () => {
  const store = memoryStore();
  const { runs, clerk } = process(store);
  await clerk.start('Pay.', { runId: 'run' });
  const { pending } = await runs.wait('run');
  await runs.decide(pending[0] ?? '', 'approve', { drive: false });
  await expect(runs.wait('run', { timeoutMs: 5 })).rejects.toMatchObject({
    details: { driver: 'none', pending: [] },
    message: expect.stringMatching(/No process drives it\. Start a worker with runs\.work\(\)/),
  });
  const without = countersign({ store });
  await expect(without.runs.wait('run', { timeoutMs: 5 })).rejects.toThrow(
    'Agent clerk is not defined in this process.',
  );
});

test('a wait ends in time if the store does not respond, and the signal still stops it', async () => {
  const store = changedStore(memoryStore(), { read: () => forever });
  const { runs } = process(store);
  await expect(runs.wait('run', { timeoutMs: 5 })).rejects.toMatchObject({
    code: 'wait-timeout',
    message: expect.stringContaining('The store does not respond'),
  });
  const signal = AbortSignal.abort(new Error('enough'));
  await expect(process(memoryStore()).runs.wait('run', { timeoutMs: 5, signal })).rejects.toMatchObject({
    code: 'unknown-run',
  });
  const stopping = new AbortController();
  const waiting = runs.wait('run', { timeoutMs: 10_000, signal: stopping.signal });
  stopping.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
});
