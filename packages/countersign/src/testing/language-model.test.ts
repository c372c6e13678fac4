// The stand-in and the scripted model as language models of the AI SDK.
import { generateText, isStepCount, jsonSchema, type ModelMessage, streamText, tool } from 'ai';
import { generateText as generateTextV6, tool as toolV6 } from 'ai-v6';
import { expect, test } from 'vitest';
import { asLanguageModel } from './language-model.ts';
import { scriptedModel } from './scripted-model.ts';
import { standInModel } from './stand-in/stand-in-model.ts';

const inputSchema = jsonSchema<{ to: string; amount: number }>({
  type: 'object',
  properties: { to: { type: 'string' }, amount: { type: 'number' } },
  required: ['to', 'amount'],
});
const description = 'Pays a bill.';
const execute = ({ to, amount }: { to: string; amount: number }) => `Paid ${amount} to ${to}.`;
const tools = { pay: tool({ description, inputSchema, execute }) };

test('the stand-in calls a tool of streamText and reports its result', async () => {
  const model = asLanguageModel(standInModel());
  const result = streamText({ model, tools, prompt: 'Pay ACME 950', stopWhen: isStepCount(5) });
  await result.consumeStream();
  const [first, second] = await result.steps;
  expect(first?.toolCalls).toMatchObject([{ toolName: 'pay', input: { to: 'ACME', amount: 950 } }]);
  expect(second?.text).toContain('Paid 950 to ACME.');
  expect(second?.finishReason).toBe('stop');
});

test('it works with version 6 of the AI SDK', async () => {
  const { toolCalls } = await generateTextV6({
    model: asLanguageModel(standInModel()),
    tools: { pay: toolV6({ description, inputSchema: inputSchema as never }) },
    prompt: 'Pay ACME 950',
  });
  expect(toolCalls).toMatchObject([{ toolName: 'pay', input: { to: 'ACME', amount: 950 } }]);
});

test('a scripted model sees results, failures and denials, and its calls get new ids', async () => {
  const script = scriptedModel([
    { calls: [{ name: 'pay', ref: 'a', input: {} }] },
    { text: 'Done.', usage: { inputTokens: 7 } },
  ]);
  const model = asLanguageModel(script);
  const first = await generateText({ model, prompt: 'Pay.' });
  const id = first.toolCalls[0]?.toolCallId ?? '';
  expect(id).toMatch(/^[0-9a-f-]{36}$/);
  const said = (role: 'assistant' | 'tool', part: object) =>
    ({ role, content: [{ toolCallId: id, toolName: 'pay', ...part }] }) as unknown as ModelMessage;
  const messages: ModelMessage[] = [
    { role: 'user', content: 'Pay.' },
    said('assistant', { type: 'tool-call', input: {} }),
    said('tool', { type: 'tool-result', output: { type: 'execution-denied' } }),
    said('tool', { type: 'tool-result', output: { type: 'error-text', value: 'Empty.' } }),
  ];
  const last = await generateText({ model, messages });
  expect([last.text, last.usage.inputTokens]).toEqual(['Done.', 7]);
  expect(script.requests[1]?.messages.flatMap(({ content }) => content)).toMatchObject([
    { text: 'Pay.' },
    { toolRequest: { name: 'pay', ref: id } },
    { toolResponse: { output: 'pay was rejected and did not run' }, metadata: { outcome: 'rejected' } },
    { toolResponse: { output: 'Empty.' }, metadata: { outcome: 'error' } },
  ]);
});
