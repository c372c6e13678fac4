// What people commented on a request that they then reject or send back: the model reads it only where the tool says so.
import { countersign, memoryStore } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';

/** What the model read as the result of the call. */
async function readAfter(decision: object, { commentsForModel = true, inSubAgent = false } = {}) {
  const ai = countersign({ store: memoryStore(), retry: false });
  let read = '';
  const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true, commentsForModel }, () => 'paid');
  const model = scriptedModel(({ messages }) => {
    const last = messages.at(-1);
    if (last?.role !== 'tool') return { calls: [{ name: 'pay', input: {} }] };
    read = JSON.stringify(last.content);
    return 'Done.';
  });
  const clerk = ai.defineAgent({ name: 'clerk', model, tools: [pay] });
  const boss = ai.defineAgent({
    name: 'boss',
    model: scriptedModel(({ messages }) =>
      messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: 'clerk', input: { prompt: 'Pay.' } }] },
    ),
    tools: [clerk],
  });
  const { id } = await (inSubAgent ? boss : clerk).start('Pay.', { by: 'ann' });
  const [request = ''] = (await ai.runs.wait(id)).pending;
  await ai.runs.comment(request, { text: 'Is it due? @cleo', by: 'ben' });
  await ai.runs.comment(request, { text: 'In June.', by: 'cleo' });
  await ai.runs.decide(request, decision as never, { by: 'ben' });
  // The same decision again changes nothing.
  await ai.runs.decide(request, decision as never, { by: 'ben' });
  await ai.runs.wait(id, { until: 'end' });
  expect((await ai.runs.verify(id)).ok).toBe(true);
  return { read, request: (await ai.runs.requests({ settled: true })).items[0] };
}

const SAID = 'Comments on the request:\\nben: Is it due? @cleo\\ncleo: In June.';

test.each([
  ['rejected', { type: 'reject', reason: 'Not yet.' }, {}],
  ['sent back', { type: 'revise', comment: 'Pay in June.' }, {}],
  ['rejected in a sub-agent', { type: 'reject', reason: 'Not yet.' }, { inSubAgent: true }],
])('the model reads the comments on a request that was %s', async (_name, decision, options) => {
  const { read, request } = await readAfter(decision, options);
  expect(read).toContain(SAID);
  expect(request).toMatchObject({ commentsForModel: true });
});

test('by default the model reads the reason alone', async () => {
  const { read, request } = await readAfter({ type: 'reject', reason: 'Not yet.' }, { commentsForModel: false });
  expect(read).toContain('Not yet.');
  expect(read).not.toContain('June');
  expect(request).toMatchObject({ commentsForModel: false });
});
