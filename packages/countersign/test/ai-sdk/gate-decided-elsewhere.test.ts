// Gated calls that are decided outside the chat, or by a later version of the program.
import { convertToModelMessages, generateText, jsonSchema, tool } from 'ai';
import { countersign, type DecisionInput, memoryStore } from 'countersign';
import { gateTools } from 'countersign/ai-sdk';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { eventually } from '../eventually.ts';
import { type ChatMessage, type Part, userMessage } from './bank.ts';
import { inputSchema, talk, toolsOf } from './conversation.ts';
import { saying } from './model.ts';

const who = { key: 'chat-1', by: 'ann', policy: { deciders: { people: ['ann', 'boss'] } } };

const PENDING = { type: 'tool-pay', toolCallId: 'call-1', input: { amount: 10 }, state: 'approval-requested' };

/** A pending call of `pay`; `later` replaces fields of the tool in the program that decides it. */
async function asked(later: object = {}) {
  const store = memoryStore();
  const pay = vi.fn((_input: unknown): unknown => 'paid');
  const { ask, resume } = talk({ pay }, (tools) => gateTools(tools, { ...who, ai: countersign({ store }) }));
  const question = await ask();
  const tools = { pay: { ...toolsOf({ pay }).pay, ...later } };
  const ai = countersign({ store });
  const { runs } = ai;
  // The chat has continued with the later program.
  const asking = { id: 'a', role: 'assistant', parts: [PENDING] };
  await gateTools(tools, { ...who, ai }).receive([asking] as never[]);
  const [card] = (await runs.requests()).items;
  const decide = async (decision: DecisionInput) => {
    await runs.decide(card?.id ?? '', decision, { by: 'boss' });
    await runs.settled();
    await post({ state: 'approval-requested' }, userMessage('And?'));
  };
  const part = { type: 'tool-pay', toolCallId: 'call-1', input: { amount: 10 }, approval: { id: question.approvalId } };
  /** Posts the client's version of the call; returns the gate and the messages it received. */
  const post = async (said: object, ...after: ChatMessage[]) => {
    const gated = gateTools(tools, { ...who, ai });
    const messages = [{ id: 'a', role: 'assistant', parts: [{ ...part, ...said }] }, ...after];
    return { gated, messages: (await gated.receive(messages as never[])) as any[] };
  };
  /** Returns the part that the chat receives after another user message. */
  const shownPart = async (said: object = { state: 'approval-requested' }): Promise<Part> =>
    (await post(said, userMessage('And?'))).messages[0].parts[0];
  return { pay, runs, decide, post, shownPart, again: () => resume(question, true) };
}

const SCHEMAS = {
  zod: inputSchema,
  'JSON Schema': jsonSchema({ type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] }),
  'Standard Schema': { '~standard': { ...inputSchema['~standard'], vendor: 'another' } },
};

describe.each(Object.keys(SCHEMAS) as (keyof typeof SCHEMAS)[])('with a %s', (kind) => {
  test('an edit must match the schema of the tool', async () => {
    const { pay, decide } = await asked({ inputSchema: SCHEMAS[kind] });
    await expect(decide({ type: 'approve', edit: { amount: 'a lot' } })).rejects.toMatchObject({
      code: 'invalid-resume',
    });
    await decide({ type: 'approve', edit: { amount: 5 } });
    expect(pay.mock.calls.map(([input]) => input)).toEqual([{ amount: 5 }]);
  });

  test('an answer in place of the result must match the schema', async () => {
    const { decide, shownPart } = await asked({ outputSchema: SCHEMAS[kind] });
    await expect(decide({ type: 'respond', output: 'paid' })).rejects.toMatchObject({ code: 'invalid-resume' });
    await decide({ type: 'respond', output: { amount: 5 } });
    expect(await shownPart()).toMatchObject({ state: 'output-available', output: { amount: 5 } });
  });
});

test('a call that was sent back is asked again as the second round', async () => {
  const { pay, runs, decide, post } = await asked();
  await decide({ type: 'revise', comment: 'Only 5.' });
  const { gated, messages } = await post({ state: 'approval-requested' }, userMessage('And?'));
  expect(JSON.stringify(messages)).toContain('Only 5.');
  const { model } = saying(() => ({ calls: [{ id: 'call-2', tool: 'pay', input: { amount: 5 } }] }));
  await generateText({ model, tools: gated.tools as any, messages: await convertToModelMessages(messages) });
  const [card] = (await runs.requests()).items;
  expect(card?.previous).toMatchObject({ comment: 'Only 5.', by: 'boss', input: { amount: 10 }, round: 1 });
  expect(pay).not.toHaveBeenCalled();
});

test('the return value of a tool is its result, whether or not it matches the schema', async () => {
  const { decide, shownPart } = await asked({ outputSchema: z.number() });
  await decide('approve');
  expect(await shownPart()).toMatchObject({ state: 'output-available', output: 'paid' });
});

describe('a new schema that does not accept the recorded input', () => {
  const later = { inputSchema: z.object({ cents: z.number() }) };

  test('runs nothing and asks a person', async () => {
    const { pay, runs, decide, shownPart } = await asked(later);
    await decide('approve');
    const [card] = (await runs.requests()).items;
    expect(card).toMatchObject({ kind: 'unavailable', input: { amount: 10 } });
    expect(await shownPart()).toMatchObject({
      state: 'output-error',
      errorText: expect.stringContaining('does not fit'),
    });
    expect(pay).not.toHaveBeenCalled();
    await runs.decide(card?.id ?? '', { type: 'approve', edit: { cents: 1000 } }, { by: 'boss' });
    await shownPart();
    expect(pay).toHaveBeenCalledOnce();
  });

  test('runs nothing when a user approves and sends a message in one post', async () => {
    const { pay, shownPart } = await asked(later);
    const approved = { state: 'approval-responded', approval: { id: 'call-1', approved: true } };
    expect(await shownPart(approved)).toMatchObject({ state: 'output-error' });
    expect(pay).not.toHaveBeenCalled();
  });
});

test('after an edit, the chat and the model receive the input that ran', async () => {
  const { pay, decide, shownPart, post } = await asked();
  await decide({ type: 'approve', edit: { amount: 5 } });
  expect(await shownPart()).toMatchObject({ state: 'output-available', input: { amount: 5 }, output: 'paid' });
  // An approval in the chat of a finished call receives it too, even if the schema had transformed the input.
  const approval = { id: 'call-1', approved: true, inputSchemaInput: { amount: 10, note: '' } };
  const { gated, messages } = await post({ state: 'approval-responded', approval });
  const { model, prompts } = saying(() => ({ text: 'Very well.' }));
  await generateText({ model, messages: await convertToModelMessages(messages), tools: gated.tools });
  expect(prompts.at(-1)).toMatchObject([
    { role: 'assistant', content: [{ type: 'tool-call', input: { amount: 5 } }] },
    { role: 'tool', content: [{ type: 'tool-result', output: { value: 'paid' } }] },
  ]);
  expect(pay).toHaveBeenCalledOnce();
});

test('the chat shows a call that was cancelled elsewhere as denied', async () => {
  const { decide, shownPart } = await asked();
  await decide({ type: 'cancel', reason: 'No payments today.' });
  const reason = 'pay was cancelled. It did not run. Reason: No payments today.';
  expect(await shownPart()).toMatchObject({ state: 'output-denied', approval: { approved: false, reason } });
});

describe('a run that was cancelled', () => {
  const approved = { state: 'approval-responded', approval: { id: 'call-1', approved: true } };

  test('while its call waits: the chat continues and learns that nothing ran', async () => {
    const { pay, runs, shownPart, again } = await asked();
    const [card] = (await runs.requests()).items;
    await runs.cancel(card?.runId ?? '', { by: 'boss', reason: 'No payments today.' });
    const text = 'This call was withdrawn (Cancelled by boss: No payments today.). The tool was not run.';
    expect(await shownPart()).toMatchObject({ state: 'output-error', errorText: text });
    expect(await shownPart(approved)).toMatchObject({ state: 'output-error', errorText: text });
    expect(await again()).toMatchObject([{ type: 'tool-error', error: { message: text } }]);
    expect(pay).not.toHaveBeenCalled();
  });

  test('while its call runs: the outcome is unknown until the result arrives', async () => {
    const { pay, runs, shownPart, again } = await asked();
    const { promise, resolve } = Promise.withResolvers<unknown>();
    pay.mockReturnValue(promise);
    const [card] = (await runs.requests()).items;
    const running = again();
    await eventually(() => expect(pay).toHaveBeenCalledOnce());
    await runs.cancel(card?.runId ?? '');
    const text = expect.stringContaining('it is unknown whether it took effect');
    expect(await shownPart()).toMatchObject({ state: 'output-error', errorText: text });
    resolve('paid');
    await running;
    await eventually(async () =>
      expect(await shownPart()).toMatchObject({ state: 'output-available', output: 'paid' }),
    );
    expect(pay).toHaveBeenCalledOnce();
  });
});

// As in version 7, when a `toolApproval` says no just before the call runs.
test.each([
  { state: 'output-denied', approval: { id: 'call-1', approved: true } },
  { state: 'output-error', errorText: 'Over the limit of today.' },
])(
  'an approved call that the app then denied does not run when the conversation continues: $state',
  async (refused) => {
    const { pay, post, shownPart, again } = await asked();
    const approved = { state: 'approval-responded', approval: { id: 'call-1', approved: true } };
    const { messages } = await post(approved);
    expect(messages).toMatchObject([{ parts: [approved] }]);
    const text =
      'This call was withdrawn (Cancelled: it was approved, but refused before it ran). The tool was not run.';
    expect(await shownPart(refused)).toMatchObject({ state: 'output-error', errorText: text });
    expect(await shownPart(approved)).toMatchObject({ state: 'output-error', errorText: text });
    expect(await again()).toMatchObject([{ type: 'tool-error', error: { message: text } }]);
    expect(pay).not.toHaveBeenCalled();
  },
);

test('a schema that transforms the input does not block the chat', async () => {
  const store = memoryStore();
  const pay = vi.fn(() => 'paid');
  const made = tool({
    inputSchema: z.object({ amount: z.number().transform(String) }),
    needsApproval: true,
    execute: pay,
  });
  const { ask, resume } = talk({ pay }, () => gateTools({ pay: made }, { ...who, ai: countersign({ store }) }));
  expect(await resume(await ask(), true)).toMatchObject([{ type: 'tool-result', output: 'paid' }]);
  expect(pay).toHaveBeenCalledWith({ amount: '10' }, expect.anything());
});
