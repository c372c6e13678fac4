// What a run costs: waiting reads only new events, and ended runs leave only short-lived garbage.
import { execFileSync } from 'node:child_process';
import { countersign, memoryStore } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import { changedStore } from '../changed-store.ts';

/** A store that counts the events that were read. */
function countingStore() {
  const kept = memoryStore();
  const counted = { read: 0 };
  const store = changedStore(kept, {
    read: async (id, options) => {
      const loaded = await kept.read(id, options);
      counted.read += loaded?.events.length ?? 0;
      return loaded;
    },
  });
  return { kept, store, counted };
}

test('a turn of a stored chat reads the earlier events at most twice', async () => {
  const { store, counted } = countingStore();
  const model = scriptedModel(({ messages }) => {
    const last = messages.at(-1);
    return last?.role === 'user' && JSON.stringify(last).includes('pay') ? { calls: [{ name: 'pay' }] } : 'Well.';
  });
  const ai = countersign({ model, store, retry: false });
  const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true }, () => 'paid');
  const chat = ai.defineAgent({ name: 'clerk', tools: [pay] }).chat({ runId: 'chat' });
  for (let said = 0; said < 100; said += 1) await chat.send('Hello.');
  const length = async () => (await ai.runs.get('chat')).version;
  const readBy = async (turn: () => Promise<unknown>) => {
    const before = await length();
    counted.read = 0;
    await turn();
    return counted.read / before;
  };
  expect(await length()).toBeGreaterThanOrEqual(200);
  expect(await readBy(() => chat.send('Hello.'))).toBeLessThan(2.2);
  expect(await readBy(() => chat.send('Please pay.'))).toBeLessThan(2.2);
  expect(await readBy(() => chat.send({ resume: { approve: chat.interrupts } }))).toBeLessThan(2.2);
});

test('waiting reads each event at most a few times', async () => {
  const { kept, store, counted } = countingStore();
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
  expect(counted.read).toBeLessThanOrEqual(3 * view.version);
});

test('ended runs are freed without a full garbage collection', { timeout: 60_000 }, () => {
  const flags = ['--no-warnings', '--expose-gc'];
  const output = execFileSync(process.execPath, [...flags, `${import.meta.dirname}/garbage-child.ts`], {
    encoding: 'utf8',
  });
  // Here each run has a store of its own, and each store a book of its freezes.
  expect(JSON.parse(output).bytesPerRun).toBeLessThan(2_800);
});
