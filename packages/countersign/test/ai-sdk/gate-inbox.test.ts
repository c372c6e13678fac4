// Gated calls that are decided elsewhere than in the chat, and by a later version of the program.
import { convertToModelMessages, generateText, jsonSchema, tool } from 'ai';
import { type DecisionInput, memoryStore } from 'countersign';
import { gate } from 'countersign/ai-sdk';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { eventually } from '../eventually.ts';
import { type ChatMessage, type Part, userMessage } from './bank.ts';
import { saying } from './model.ts';
import { inputSchema, talk, toolsOf } from './talk.ts';

const who = { chatId: 'chat-1', person: 'ann' };

/** A call of `pay` that waits; `later` is what the program has in its place when it is decided. */
async function asked(later: object = {}) {
  const store = memoryStore();
  const pay = vi.fn((_input: unknown): unknown => 'paid');
  const { ask, resume } = talk({ pay }, (tools) => gate(tools, { ...who, store }));
  const question = await ask();
  const tools = { pay: { ...toolsOf({ pay }).pay, ...later } };
  const { runs } = gate(tools, { ...who, store });
  const [card] = (await runs.interrupts()).items;
  const decide = async (decision: DecisionInput) => {
    await runs.decide(card?.id ?? '', decision, { by: 'boss' });
    return runs.wait(card?.runId ?? '');
  };
  const part = { type: 'tool-pay', toolCallId: 'call-1', input: { amount: 10 }, approval: { id: question.approvalId } };
  /** A request with what the client says of the call: its gate, and what it received. */
  const post = async (said: object, ...after: ChatMessage[]) => {
    const gated = gate(tools, { ...who, store });
    const messages = [{ id: 'a', role: 'assistant', parts: [{ ...part, ...said }] }, ...after];
    return { gated, messages: (await gated.receive(messages as never[])) as any[] };
  };
  /** What the chat is told of the call after the user has spoken. */
  const told = async (said: object = { state: 'approval-requested' }): Promise<Part> =>
    (await post(said, userMessage('And?'))).messages[0].parts[0];
  return { pay, runs, decide, post, told, again: () => resume(question, true) };
}

const SCHEMAS = {
  zod: inputSchema,
  'JSON Schema': jsonSchema({ type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] }),
  'Standard Schema': { '~standard': { ...inputSchema['~standard'], vendor: 'another' } },
};

describe.each(Object.keys(SCHEMAS) as (keyof typeof SCHEMAS)[])('with a %s', (kind) => {
  test('an edit must fit the schema of the tool', async () => {
    const { pay, decide } = await asked({ inputSchema: SCHEMAS[kind] });
    await expect(decide({ type: 'approve', edit: { amount: 'a lot' } })).rejects.toMatchObject({
      code: 'invalid-resume',
    });
    await decide({ type: 'approve', edit: { amount: 5 } });
    expect(pay.mock.calls.map(([input]) => input)).toEqual([{ amount: 5 }]);
  });

  test('an answer in place of the result must fit, too', async () => {
    const { decide, told } = await asked({ outputSchema: SCHEMAS[kind] });
    await expect(decide({ type: 'respond', output: 'paid' })).rejects.toMatchObject({ code: 'invalid-resume' });
    await decide({ type: 'respond', output: { amount: 5 } });
    expect(await told()).toMatchObject({ state: 'output-available', output: { amount: 5 } });
  });
});

test('what a tool returned is its result, whether or not it fits', async () => {
  const { decide, told } = await asked({ outputSchema: z.number() });
  await decide('approve');
  expect(await told()).toMatchObject({ state: 'output-available', output: 'paid' });
});

describe('a schema that does not take any more what was asked', () => {
  const later = { inputSchema: z.object({ cents: z.number() }) };

  test('lets nothing run, and a person is asked', async () => {
    const { pay, runs, decide, told } = await asked(later);
    await decide('approve');
    const [card] = (await runs.interrupts()).items;
    expect(card).toMatchObject({ kind: 'unavailable', input: { amount: 10 } });
    expect(await told()).toMatchObject({ state: 'output-error', errorText: expect.stringContaining('does not fit') });
    expect(pay).not.toHaveBeenCalled();
    await runs.decide(card?.id ?? '', { type: 'approve', edit: { cents: 1000 } });
    await runs.wait(card?.runId ?? '');
    expect(pay).toHaveBeenCalledOnce();
  });

  test('lets nothing run for who approves and speaks at once', async () => {
    const { pay, told } = await asked(later);
    const approved = { state: 'approval-responded', approval: { id: 'call-1', approved: true } };
    expect(await told(approved)).toMatchObject({ state: 'output-error' });
    expect(pay).not.toHaveBeenCalled();
  });
});

test('after an edit, the chat and the model are told what ran', async () => {
  const { pay, decide, told, post } = await asked();
  await decide({ type: 'approve', edit: { amount: 5 } });
  expect(await told()).toMatchObject({ state: 'output-available', input: { amount: 5 }, output: 'paid' });
  // So is who approves in the chat what is done already, also where the schema had made the input of another.
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

test('a call that is cancelled elsewhere is told as such', async () => {
  const { decide, told } = await asked();
  await decide({ type: 'cancel', reason: 'No payments today.' });
  const reason = 'pay was cancelled. It did not run. Reason: No payments today.';
  expect(await told()).toMatchObject({ state: 'output-denied', approval: { approved: false, reason } });
});

describe('a run that was cancelled', () => {
  const approved = { state: 'approval-responded', approval: { id: 'call-1', approved: true } };

  test('while its call waits: the chat goes on, and is told that nothing ran', async () => {
    const { pay, runs, told, again } = await asked();
    const [card] = (await runs.interrupts()).items;
    await runs.cancel(card?.runId ?? '', { by: 'boss', reason: 'No payments today.' });
    const text = 'This call was withdrawn (Cancelled by boss: No payments today.). The tool was not run.';
    expect(await told()).toMatchObject({ state: 'output-error', errorText: text });
    expect(await told(approved)).toMatchObject({ state: 'output-error', errorText: text });
    expect(await again()).toMatchObject([{ type: 'tool-error', error: { message: text } }]);
    expect(pay).not.toHaveBeenCalled();
  });

  test('while its call runs: nobody knows, until the result comes', async () => {
    const { pay, runs, told, again } = await asked();
    const { promise, resolve } = Promise.withResolvers<unknown>();
    pay.mockReturnValue(promise);
    const [card] = (await runs.interrupts()).items;
    const running = again();
    await eventually(() => expect(pay).toHaveBeenCalledOnce());
    await runs.cancel(card?.runId ?? '');
    const text = expect.stringContaining('it is unknown whether it took effect');
    expect(await told()).toMatchObject({ state: 'output-error', errorText: text });
    resolve('paid');
    await running;
    await eventually(async () => expect(await told()).toMatchObject({ state: 'output-available', output: 'paid' }));
    expect(pay).toHaveBeenCalledOnce();
  });
});

// As version 7 does with a `toolApproval` that says no when the call is about to run.
test.each([
  { state: 'output-denied', approval: { id: 'call-1', approved: true } },
  { state: 'output-error', errorText: 'Over the limit of today.' },
])('an approved call that was then refused does not run when the conversation goes on: $state', async (refused) => {
  const { pay, post, told, again } = await asked();
  const approved = { state: 'approval-responded', approval: { id: 'call-1', approved: true } };
  const { messages } = await post(approved);
  expect(messages).toMatchObject([{ parts: [approved] }]);
  const text = 'This call was withdrawn (Cancelled: it was approved, but refused before it ran). The tool was not run.';
  expect(await told(refused)).toMatchObject({ state: 'output-error', errorText: text });
  expect(await told(approved)).toMatchObject({ state: 'output-error', errorText: text });
  expect(await again()).toMatchObject([{ type: 'tool-error', error: { message: text } }]);
  expect(pay).not.toHaveBeenCalled();
});

test('a schema that makes something else of an input holds up nothing in the chat', async () => {
  const store = memoryStore();
  const pay = vi.fn(() => 'paid');
  const made = tool({
    inputSchema: z.object({ amount: z.number().transform(String) }),
    needsApproval: true,
    execute: pay,
  });
  const { ask, resume } = talk({ pay }, () => gate({ pay: made }, { ...who, store }));
  expect(await resume(await ask(), true)).toMatchObject([{ type: 'tool-result', output: 'paid' }]);
  expect(pay).toHaveBeenCalledWith({ amount: '10' }, expect.anything());
});
