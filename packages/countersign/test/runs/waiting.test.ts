// Waiting for a run reads what is new, not everything again with every event.
import { countersign, memoryStore } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import { changedStore } from '../changed-store.ts';

test('waiting reads each event a few times at most, however many there are', async () => {
  const kept = memoryStore();
  let read = 0;
  const store = changedStore(kept, {
    read: async (id, options) => {
      const loaded = await kept.read(id, options);
      read += loaded?.events.length ?? 0;
      return loaded;
    },
  });
  let calls = 0;
  const model = scriptedModel(() => (++calls < 50 ? { calls: [{ name: 'look', input: {} }] } : 'Done.'));
  const worker = countersign({ model, store: kept, retry: false });
  const look = worker.defineTool({ name: 'look', description: '' }, async () => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    return 'seen';
  });
  const { id } = await worker.defineAgent({ name: 'clerk', tools: [look], maxTurns: 100 }).start('Look.');
  const { runs } = countersign({ store });
  const view = await runs.wait(id, { until: 'end' });
  expect(view).toMatchObject({ status: 'done', text: 'Done.' });
  expect(view.messages).toHaveLength(100);
  expect(view.version).toBeGreaterThan(100);
  expect(read).toBeLessThanOrEqual(3 * view.version);
});
