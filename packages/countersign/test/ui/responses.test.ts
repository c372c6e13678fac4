// Responses without a route: one generation, or one stored run, read by the AI SDK's own reader.
import { parseJsonEventStream, readUIMessageStream, uiMessageChunkSchema } from 'ai';
import { countersign, memoryStore, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { runResponse, streamResponse } from 'countersign/ui';
import { expect, test } from 'vitest';

const SCRIPT = [
  { reasoning: 'Hm.', text: 'Let me see.', calls: [{ name: 'pay', ref: 'c1', input: { amount: 5 } }] },
  'Paid.',
];

function bank(store = memoryStore()) {
  const ai = countersign({ model: scriptedModel(SCRIPT), store });
  const pay = ai.defineTool(
    { name: 'pay', description: 'Pays.', inputSchema: z.object({ amount: z.number() }), needsApproval: true },
    async () => null,
  );
  return { ai, pay, agent: ai.defineAgent({ name: 'teller', tools: [pay] }) };
}

/** The message that the AI SDK makes of a response. */
async function read(response: Response, message?: any): Promise<any> {
  if (!response.body) throw new Error('The response has no body.');
  const chunks = parseJsonEventStream({ stream: response.body, schema: uiMessageChunkSchema }).pipeThrough(
    new TransformStream({
      transform(chunk: any, controller) {
        if (!chunk.success) throw chunk.error;
        controller.enqueue(chunk.value);
      },
    }),
  );
  let last: any;
  for await (const each of readUIMessageStream({ stream: chunks, ...(message && { message }) })) last = each;
  return last;
}

const shape = ({ parts }: any) => parts.map(({ type, text, state, output }: any) => [type, text ?? output ?? state]);

test('a generation becomes a message, and continues in the same message after a decision', async () => {
  const { ai, pay } = bank();
  let messages: any;
  const first = streamResponse(async (listen) => {
    const response = await ai.generate({ prompt: 'Pay 5', tools: [pay], ...listen });
    messages = response.messages;
    return response;
  });
  expect(first.headers.get('x-vercel-ai-ui-message-stream')).toBe('v1');
  const paused = await read(first);
  expect(shape(paused)).toEqual([
    ['step-start', undefined],
    ['reasoning', 'Hm.'],
    ['text', 'Let me see.'],
    ['tool-pay', 'approval-requested'],
    ['data-request', undefined],
  ]);
  const [interrupt] = (await ai.generate({ messages, tools: [pay] })).interrupts;
  if (!interrupt) throw new Error('Nothing waits.');
  const second = streamResponse(
    (listen) => ai.generate({ messages, tools: [pay], resume: { approve: pay.approve(interrupt) }, ...listen }),
    { messages, known: paused },
  );
  const done = await read(second, paused);
  expect(done.id).toBe(paused.id);
  expect(shape(done).slice(-3)).toEqual([
    ['data-request', undefined],
    ['step-start', undefined],
    ['text', 'Paid.'],
  ]);
  expect(done.parts[3]).toMatchObject({ state: 'output-available', output: null });
});

test('a stored run becomes a message', async () => {
  const { agent, ai } = bank();
  expect((await runResponse(agent, 'nothing')).status).toBe(204);
  await agent.start('Pay 5', { runId: 'run_1' });
  const paused = await read(await runResponse(agent, 'run_1'));
  expect(shape(paused)).toContainEqual(['tool-pay', 'approval-requested']);
  const [id = ''] = (await ai.runs.get('run_1')).pending;
  await ai.runs.decide(id, { type: 'reject', reason: 'No.' });
  const done = await read(await runResponse(agent, 'run_1'));
  expect(shape(done)).toContainEqual(['tool-pay', 'output-denied']);
  expect(shape(done)).toContainEqual(['text', 'Paid.']);
});
