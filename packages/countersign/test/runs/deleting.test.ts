// Deleting ended runs: only the id is kept, so that the same run cannot start again by mistake.

import { countersign, memoryStore } from 'countersign';
import { internalsOf } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';

function office() {
  const payments: unknown[] = [];
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Paid.' : { calls: [{ name: 'pay', input: { amount: 7 } }] },
  );
  const ai = countersign({ store: memoryStore(), model, retry: false });
  const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true }, (input) => {
    payments.push(input);
    return 'paid';
  });
  return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools: [pay] }), payments };
}

test('a deleted run is gone, and cannot be started, decided or messaged again', async () => {
  const { runs, clerk, payments } = office();
  await clerk.start('Pay.', { runId: 'order-7' });
  await runs.wait('order-7');
  const [question = ''] = (await runs.requests()).items.map(({ id }) => id);
  await runs.decide(question, 'approve');
  expect(await runs.wait('order-7')).toMatchObject({ status: 'done', text: 'Paid.' });
  await internalsOf(runs).left('order-7');

  await runs.delete('order-7');

  await expect(runs.get('order-7')).rejects.toMatchObject({ code: 'unknown-run' });
  await expect(runs.delete('order-7')).rejects.toMatchObject({ code: 'unknown-run' });
  await expect(runs.decide(question, 'approve')).rejects.toMatchObject({ code: 'unknown-request' });
  await expect(runs.drive('order-7')).rejects.toMatchObject({ code: 'unknown-run' });
  await expect(clerk.start('Pay.', { runId: 'order-7' })).rejects.toMatchObject({ code: 'run-deleted' });
  await expect(clerk.chat({ runId: 'order-7' }).send('And again.')).rejects.toMatchObject({ code: 'run-deleted' });
  expect((await runs.requests({ settled: true })).items).toEqual([]);
  expect(payments).toEqual([{ amount: 7 }]);
});

test('a waiting run can be deleted only after it is cancelled', async () => {
  const { runs, clerk } = office();
  const { id } = await clerk.start('Pay.');
  await runs.wait(id);
  await expect(runs.delete(id)).rejects.toMatchObject({ code: 'run-not-ended', details: { runId: id } });
  expect((await runs.get(id)).pending).toHaveLength(1);
  await runs.cancel(id);
  await runs.delete(id);
  await expect(runs.get(id)).rejects.toMatchObject({ code: 'unknown-run' });
});

test('follow fails when its run is deleted', async () => {
  const { runs, clerk } = office();
  const { id } = await clerk.start('Pay.');
  await runs.wait(id);
  await runs.cancel(id);
  const follow = runs.follow(id);
  await follow.next();
  const next = follow.next();
  await runs.delete(id);
  await expect(next).rejects.toMatchObject({ code: 'unknown-run' });
});
