// Two copies of the package in one process, as bundlers and servers that reload make them.
import * as ours from 'countersign';
import type { Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { expect, test, vi } from 'vitest';

vi.resetModules();
const theirs: typeof ours = await import('countersign');

function clerkOn(store: Store, body: () => string) {
  const model = scriptedModel(({ messages }) => {
    const [part] = messages.at(-1)?.content ?? [];
    return part && 'toolResponse' in part ? String(part.toolResponse.output) : { calls: [{ name: 'pay', input: {} }] };
  });
  const ai = ours.countersign({ model, store, retry: false });
  const inputSchema = ours.z.object({});
  const pay = ai.defineTool({ name: 'pay', description: '', inputSchema, needsApproval: true }, body);
  return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools: [pay] }) };
}

async function waitingOn(store: Store, body: () => string) {
  const { runs, clerk } = clerkOn(store, body);
  await clerk.start('Pay.', { runId: 'run' });
  await runs.wait('run');
  const [card] = (await runs.requests()).items;
  if (!card) throw new Error('Nobody is asked.');
  return { runs, clerk, card };
}

test('they are two', () => {
  expect(theirs.ConflictError).not.toBe(ours.ConflictError);
});

test('on a store of the other copy, a double click is told the outcome, and who decides otherwise is told who was first', async () => {
  let paid = 0;
  const { runs, card } = await waitingOn(theirs.memoryStore(), () => `Paid ${++paid}.`);
  const decided = await Promise.allSettled([
    runs.decide(card.id, 'approve', { by: 'ann' }),
    runs.decide(card.id, 'approve', { by: 'bob' }),
    runs.decide(card.id, 'reject', { by: 'eve' }),
  ]);
  expect(decided).toMatchObject([
    { status: 'fulfilled', value: { by: 'ann' } },
    { status: 'fulfilled', value: { by: 'ann' } },
    { status: 'rejected', reason: { code: 'already-decided' } },
  ]);
  expect((await runs.wait('run', { until: 'end' })).text).toBe('Paid 1.');
});

test('NotPerformed of the other copy says that nothing happened', async () => {
  const { runs, card } = await waitingOn(ours.memoryStore(), () => {
    throw new theirs.NotPerformed('There is no money.');
  });
  await runs.decide(card.id, 'approve');
  expect((await runs.wait('run', { until: 'end' })).text).toBe('The tool pay did nothing: There is no money.');
});

test('an error of the other copy is what it is, and nothing else', () => {
  const error = new theirs.ConflictError('run-exists', {}, 'It exists.');
  expect(error).toBeInstanceOf(ours.ConflictError);
  expect(error).toBeInstanceOf(ours.CountersignError);
  expect(error).not.toBeInstanceOf(ours.UsageError);
  expect(new Error('no')).not.toBeInstanceOf(ours.CountersignError);
});

test('a class that is derived from one of them has its own instances only', () => {
  class Mine extends ours.ConflictError {}
  expect(new Mine('run-exists', {}, '')).toBeInstanceOf(Mine);
  expect(new Mine('run-exists', {}, '')).toBeInstanceOf(theirs.ConflictError);
  expect(new ours.ConflictError('run-exists', {}, '')).not.toBeInstanceOf(Mine);
});
