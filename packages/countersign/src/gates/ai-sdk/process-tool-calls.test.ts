import { jsonSchema, tool, type UIMessage } from 'ai';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { NotPerformed } from '../../core/errors.ts';
import { APPROVAL, getToolsRequiringConfirmation } from './approval.ts';
import { processToolCalls } from './process-tool-calls.ts';

const tools = {
  pay: tool({ inputSchema: z.object({ amount: z.number().max(1000) }), outputSchema: z.any() }),
  meet: tool({ inputSchema: z.object({ at: z.coerce.date() }), outputSchema: z.any() }),
  double: tool({ inputSchema: z.object({ n: z.number().transform((n) => n * 2) }), outputSchema: z.any() }),
  remote: tool({
    inputSchema: jsonSchema({ type: 'object', properties: { id: { type: 'string' } }, required: ['id'] }),
    outputSchema: z.any(),
  }),
  now: tool({ inputSchema: z.object({}), execute: () => '10am' }),
};

type Part = { type: string; toolCallId?: string; input?: unknown; output?: unknown; state?: string; text?: string };

const yes = (name: string, input: unknown, toolCallId = 'c1'): Part => ({
  type: `tool-${name}`,
  toolCallId,
  state: 'output-available',
  input,
  output: APPROVAL.YES,
});
const no = (name: string, input: unknown, toolCallId = 'c1'): Part => ({
  ...yes(name, input, toolCallId),
  output: APPROVAL.NO,
});

async function process(
  parts: readonly Part[],
  executeFunctions: Record<string, unknown>,
  { role = 'assistant', onError, after = [] }: { role?: string; onError?: () => string; after?: UIMessage[] } = {},
) {
  const written: Record<string, unknown>[] = [];
  const messages = [
    { id: 'u', role: 'user', parts: [{ type: 'text', text: 'Go on.' }] },
    { id: 'a', role, parts },
    ...after,
  ] as UIMessage[];
  const before = structuredClone(messages);
  const writer = { write: (chunk: object) => void written.push(chunk as Record<string, unknown>), onError };
  const result = await processToolCalls({ tools, writer, messages }, executeFunctions);
  expect(messages).toEqual(before);
  return { written, parts: result[1]?.parts as unknown as Record<string, unknown>[], result, messages };
}

test('the tools without execute require confirmation', () => {
  expect(getToolsRequiringConfirmation(tools)).toEqual(['pay', 'meet', 'double', 'remote']);
  expect(getToolsRequiringConfirmation({})).toEqual([]);
});

test('a call of a dynamic tool is answered like any other', async () => {
  const pay = vi.fn(async () => 'paid');
  const dynamic = (part: Part) => ({ ...part, type: 'dynamic-tool', toolName: 'pay' });
  const answered = [dynamic(yes('pay', { amount: 5 })), dynamic(no('pay', { amount: 6 }, 'c2'))];
  const { parts } = await process(answered, { pay });
  expect(pay).toHaveBeenCalledExactlyOnceWith({ amount: 5 }, expect.anything());
  expect(parts).toMatchObject([{ output: 'paid' }, { output: expect.stringContaining('was not run') }]);
});

test('a confirmed call runs, and its result takes the place of the answer, here and on the page', async () => {
  const pay = vi.fn(async () => 'paid');
  const { written, parts } = await process([{ type: 'text', text: 'Well.' }, yes('pay', { amount: 5 })], { pay });
  expect(pay).toHaveBeenCalledWith({ amount: 5 }, { toolCallId: 'c1', messages: expect.any(Array) });
  expect(written).toEqual([{ type: 'tool-output-available', toolCallId: 'c1', output: 'paid' }]);
  expect(parts).toEqual([
    { type: 'text', text: 'Well.' },
    { ...yes('pay', { amount: 5 }), output: 'paid' },
  ]);
});

test('a denied call does not run, and the model gets an error', async () => {
  const pay = vi.fn();
  const { written, parts } = await process([no('pay', { amount: 5 })], { pay });
  const output = 'Error: The user denied this call. The tool was not run.';
  expect(pay).not.toHaveBeenCalled();
  expect(written).toEqual([{ type: 'tool-output-available', toolCallId: 'c1', output }]);
  expect(parts[0]).toMatchObject({ state: 'output-available', output });
});

test.each([0, '', false, null])('the result %j is kept', async (result) => {
  const { written, parts } = await process([yes('pay', { amount: 5 })], { pay: () => result });
  expect(written).toEqual([{ type: 'tool-output-available', toolCallId: 'c1', output: result }]);
  expect(parts[0]?.output).toBe(result);
});

test('several calls go each their own way, in the order of the message', async () => {
  const pay = async ({ amount }: { amount: number }) => {
    if (amount === 2) throw new Error('no funds');
    return amount;
  };
  const { parts } = await process(
    [
      yes('pay', { amount: 1 }, 'a'),
      yes('pay', { amount: 2 }, 'b'),
      no('pay', { amount: 3 }, 'c'),
      yes('pay', { amount: 4 }, 'd'),
    ],
    { pay },
  );
  expect(parts.map((part) => part.errorText ?? part.output)).toEqual([
    1,
    'The tool pay failed, and may have taken effect: no funds',
    expect.stringContaining('denied'),
    4,
  ]);
});

test('a function that fails gives an error result, and the app chooses the text for the page', async () => {
  const pay = () => {
    throw new Error('password is hunter2');
  };
  const { written, parts } = await process([yes('pay', { amount: 5 })], { pay }, { onError: () => 'Sorry.' });
  expect(written).toEqual([{ type: 'tool-output-error', toolCallId: 'c1', errorText: 'Sorry.' }]);
  expect(parts[0]).toEqual({
    type: 'tool-pay',
    toolCallId: 'c1',
    state: 'output-error',
    input: { amount: 5 },
    errorText: 'The tool pay failed, and may have taken effect: password is hunter2',
  });
});

test('a function that says it did nothing is believed', async () => {
  const pay = () => {
    throw new NotPerformed('The account is closed.');
  };
  const { parts } = await process([yes('pay', { amount: 5 })], { pay });
  expect(parts[0]?.errorText).toBe('The tool pay did nothing: The account is closed.');
});

test.each([
  ['beyond its bounds', 'pay', { amount: 5_000_000 }],
  ['with a key more than the tool takes', 'pay', { amount: 5, admin: true }],
  ['of another kind', 'pay', 'everything'],
  ['missing', 'pay', undefined],
  ['which plain JSON Schema refuses', 'remote', { id: 7 }],
  ['that the schema would change before it runs', 'double', { n: 2 }],
])('an input %s runs nothing', async (_what, name, input) => {
  const execute = vi.fn();
  const { written, parts } = await process([yes(name, input)], { [name]: execute });
  expect(execute).not.toHaveBeenCalled();
  expect(written).toEqual([
    { type: 'tool-output-error', toolCallId: 'c1', errorText: expect.stringContaining('was not run') },
  ]);
  expect(parts[0]).toMatchObject({ state: 'output-error', errorText: expect.stringContaining(`The input of ${name}`) });
});

test('an input gets the types of its schema', async () => {
  const meet = vi.fn(() => 'ok');
  const remote = vi.fn(() => 'ok');
  await process([yes('meet', { at: '2026-01-02T03:04:05.000Z' }, 'a'), yes('remote', { id: 'x' }, 'b')], {
    meet,
    remote,
  });
  expect(meet).toHaveBeenCalledWith({ at: new Date('2026-01-02T03:04:05.000Z') }, expect.anything());
  expect(remote).toHaveBeenCalledWith({ id: 'x' }, expect.anything());
});

test('a call that stands twice in the message runs once and has one result', async () => {
  const pay = vi.fn(() => 'paid');
  const twice = [yes('pay', { amount: 5 }), no('pay', { amount: 5 }), yes('pay', { amount: 900 })];
  const { written, parts } = await process(twice, { pay });
  expect(pay.mock.calls).toEqual([[{ amount: 5 }, expect.anything()]]);
  expect(written).toHaveLength(1);
  expect(parts).toEqual([{ ...yes('pay', { amount: 5 }), output: 'paid' }]);
});

test.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])('a tool called %s is none', async (name) => {
  const pay = vi.fn();
  const part = yes(name, { amount: 5 });
  const { written, parts } = await process([part], { pay });
  expect(written).toEqual([]);
  expect(parts).toEqual([part]);
});

test.each([
  ['another output', { ...yes('pay', { amount: 5 }), output: 'Yes' }],
  ['no output yet', { ...yes('pay', { amount: 5 }), state: 'input-available', output: undefined }],
  ['a tool that has run by itself', yes('now', {})],
  ['a tool without a function here', yes('double', { n: 2 })],
  ['a part that is not a tool', { type: 'data-pay', output: APPROVAL.YES }],
])('%s stays unchanged', async (_what, part) => {
  const execute = vi.fn();
  const { written, parts } = await process([part], { pay: execute, now: execute });
  expect(execute).not.toHaveBeenCalled();
  expect(written).toEqual([]);
  expect(parts).toEqual([part]);
});

test('a name without a function is an error result', async () => {
  const { parts } = await process([yes('pay', { amount: 5 })], { pay: undefined });
  expect(parts[0]).toMatchObject({ state: 'output-error', errorText: expect.stringContaining('No execute function') });
});

test('only the last message counts, and only if the assistant wrote it', async () => {
  const pay = vi.fn();
  const mine = await process([yes('pay', { amount: 5 })], { pay }, { role: 'user' });
  expect(mine.result).toEqual(mine.messages);
  const after: UIMessage[] = [{ id: 'u2', role: 'user', parts: [{ type: 'text', text: 'And?' }] }];
  const earlier = await process([yes('pay', { amount: 5 })], { pay }, { after });
  expect(earlier.result).toEqual(earlier.messages);
  expect(await processToolCalls({ tools, writer: { write: () => undefined }, messages: [] }, {})).toEqual([]);
  expect(pay).not.toHaveBeenCalled();
});
