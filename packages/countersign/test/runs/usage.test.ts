// Tokens of stored runs: recorded with each reply, added up, and listed without reading events.
import { approve, countersign, memoryStore, z } from 'countersign';
import { timelineOf, type Usage } from 'countersign/request';
import { sqliteStore } from 'countersign/sqlite';
import type { Store } from 'countersign/store';
import { scriptedModel, standInModel } from 'countersign/testing';
import { expect, test } from 'vitest';

const tokens = (inputTokens: number, outputTokens: number): Usage => ({
  inputTokens,
  outputTokens,
  totalTokens: inputTokens + outputTokens,
});

/** The agent `boss` asks its sub-agent `clerk`, whose payment needs approval. */
function office(store: Store) {
  const ai = countersign({ store, retry: false });
  const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true }, () => 'paid');
  const clerk = ai.defineAgent({
    name: 'clerk',
    tools: [pay],
    model: scriptedModel([
      { calls: [{ name: 'pay' }], usage: tokens(20, 2) },
      { text: 'Paid.', usage: tokens(30, 3) },
    ]),
  });
  const boss = ai.defineAgent({
    name: 'boss',
    tools: [clerk],
    model: scriptedModel([
      { calls: [{ name: 'clerk', input: { prompt: 'Pay.' } }], usage: tokens(100, 10) },
      { fail: { message: 'The provider is down.' } },
      { text: 'Done.', usage: tokens(200, 20) },
    ]),
  });
  return { boss, runs: ai.runs };
}

test.each([
  ['memory', () => memoryStore()],
  ['SQLite', () => sqliteStore({ path: ':memory:' })],
])('a run on %s counts the tokens of its replies, with those of sub-agents', async (_name, open) => {
  const { boss, runs } = office(open());
  const listed = async () => (await runs.list()).items.map(({ status, usage }) => [status, usage]);
  const { id } = await boss.start('Pay.');
  expect(await runs.wait(id)).toMatchObject({ status: 'waiting', usage: tokens(120, 12) });
  expect(await listed()).toEqual([['waiting', tokens(120, 12)]]);

  const [request] = (await runs.requests()).items;
  await runs.decide(request?.id ?? '', 'approve');
  const failed = await runs.wait(id, { until: 'end' });
  expect(failed).toMatchObject({ status: 'failed', usage: tokens(150, 15), error: { code: 'provider-failed' } });
  expect(await listed()).toEqual([['failed', tokens(150, 15)]]);

  await runs.drive(id);
  expect(await runs.wait(id, { until: 'end' })).toMatchObject({ finishReason: 'stop', usage: tokens(350, 35) });
  expect(await listed()).toEqual([['done', tokens(350, 35)]]);
  expect(await runs.verify(id)).toMatchObject({ ok: true });

  const replies = timelineOf(await runs.recorded(id)).filter((entry) => entry.type === 'model-replied');
  expect(replies.map(({ path, usage }) => [path.map(({ name }) => name).join(), usage])).toEqual([
    ['', tokens(100, 10)],
    ['clerk', tokens(20, 2)],
    ['clerk', tokens(30, 3)],
    ['', tokens(200, 20)],
  ]);
  await runs.store.close();
});

test('a run whose model reports no tokens has none', async () => {
  const ai = countersign({ store: memoryStore(), model: standInModel() });
  const look = ai.defineTool({ name: 'look', description: 'Looks.', inputSchema: z.object({}) }, () => 'seen');
  const { id } = await ai.defineAgent({ name: 'clerk', tools: [look] }).start('Look.');
  expect(await ai.runs.wait(id, { until: 'end' })).toMatchObject({ status: 'done', usage: null });
  expect((await ai.runs.list()).items).toMatchObject([{ usage: null }]);
});

test('the response of generate counts valid tokens only', async () => {
  const invalid = { inputTokens: -5, outputTokens: Number.NaN };
  const model = scriptedModel([
    { calls: [{ name: 'look' }], usage: invalid },
    { text: 'Hi.', usage: tokens(7, 1) },
  ]);
  const ai = countersign({ model });
  const look = ai.defineTool({ name: 'look', description: '' }, () => 'seen');
  expect((await ai.generate({ prompt: 'Hi.', tools: [look] })).usage).toEqual(tokens(7, 1));
});

test('the response of a stored conversation has the tokens since its message or decision', async () => {
  const { boss } = office(memoryStore());
  const chat = boss.chat({ runId: 'talk' });
  const asked = await chat.send('Pay.');
  expect(asked.usage).toEqual(tokens(120, 12));
  // The boss's model fails after the clerk's next reply, and then replies.
  await expect(chat.send({ resume: asked.interrupts.map((request) => approve(request)) })).rejects.toThrow('is down');
  expect((await chat.send('Go on.')).usage).toEqual(tokens(200, 20));
});
