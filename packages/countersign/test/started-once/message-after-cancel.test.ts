// What is said in a run that somebody has cancelled: nothing of what was approved before goes on by that.
import { countersign, memoryStore } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { expect, test, vi } from 'vitest';

/** A clerk that pays, itself or through a helper, and repeats what it is told of that. */
function bank(where: 'root' | 'inside') {
  const paid = vi.fn(() => 'paid');
  const ai = countersign({ store: memoryStore(), retry: false });
  const asks = (tool: string) =>
    scriptedModel(({ messages }) => {
      const told = messages.filter(({ role }) => role === 'tool');
      return told.length > 0 ? JSON.stringify(told) : { calls: [{ name: tool, ref: 'c', input: { prompt: 'Pay.' } }] };
    });
  const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true }, paid);
  const helper = ai.defineAgent({ name: 'helper', tools: [pay], model: asks('pay') });
  const calls = where === 'root' ? pay : helper;
  return { runs: ai.runs, paid, clerk: ai.defineAgent({ name: 'clerk', tools: [calls], model: asks(calls.name) }) };
}

test.each(['root', 'inside'] as const)('what was approved and not begun does not run (%s)', async (where) => {
  const { runs, paid, clerk } = bank(where);
  await clerk.start('Pay.', { runId: 'run' });
  await runs.settled();
  const [card] = (await runs.interrupts()).items;
  await runs.decide(card?.id ?? '', 'approve', { drive: false });
  await runs.cancel('run');
  const { text } = await clerk.chat({ runId: 'run' }).send('And now?');
  await runs.settled();
  expect(text).toContain('was cancelled');
  expect(paid).not.toHaveBeenCalled();
});
