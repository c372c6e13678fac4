// The gate with a secret: which seals are accepted.
import { convertToModelMessages, stepCountIs, streamText, tool } from 'ai';
import { countersign, memoryStore } from 'countersign';
import { gateTools, type SealGateOptions } from 'countersign/ai-sdk';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { applied, type BankOptions, type ChatMessage, changed, type Part, userMessage } from './bank.ts';
import { talk } from './conversation.ts';
import { type Said, saying } from './model.ts';
import { open } from './run-attacks.ts';

const who = { key: 'chat-1', by: 'ann' };
const SECRET = 'a secret that is long enough to be one';

const lastPrompt = (prompts: readonly unknown[]): string => JSON.stringify(prompts.at(-1));

const hour = 60 * 60 * 1000;
type BankGate = NonNullable<BankOptions['gate']>;
const keyed = (secret: SealGateOptions['secret'], later = 0): BankGate => {
  return (tools, who) => gateTools(tools, { ...who, secret, clock: () => 1_000_000 + later });
};
const june = { kid: 'june', secret: 'the key of june, which is long enough' };
const july = { kid: 'july', secret: 'the key of july, which is long enough' };

/** Asked with one gate, approved with another. */
async function approve(
  asking: BankGate,
  approving: BankGate,
  change: (part: Part) => Part | undefined = (part) => part,
  way: 'recipe' | 'approval' = 'approval',
) {
  let current = asking;
  const bank = await open({ way, gate: (tools, who) => current(tools, who) });
  const { messages } = await bank.say('pay');
  current = approving;
  const answer = await bank.post(changed(bank.decided(messages, true), change));
  return { bank, ...answer };
}
const errorOf = (chunks: readonly any[]) => chunks.find(({ type }) => type === 'tool-output-error')?.errorText;

test.each(['approval', 'recipe'] as const)('an approved call runs (%s)', async (way) => {
  const { bank } = await approve(keyed(SECRET), keyed(SECRET), undefined, way);
  expect(bank.moved).toEqual([{ to: 'bob', amount: 10 }]);
});

test.each(['approval', 'recipe'] as const)('a result that was sent out is accepted again (%s)', async (way) => {
  const { bank, messages } = await approve(keyed(SECRET), keyed(SECRET), undefined, way);
  await bank.say('And?', {}, messages);
  expect(lastPrompt(bank.prompts)).toContain('"receipt":1');
});

test('a result is accepted again even if the provider then gave its id to an ungated call', async () => {
  const inputSchema = z.object({});
  const look = tool({ inputSchema, execute: () => 'looked' });
  const tools = { look, pay: tool({ inputSchema, needsApproval: true, execute: () => 'paid' }) };
  const callOf = (name: string): Said => ({ calls: [{ id: 'call_0', tool: name, input: {} }] });
  const replies = [callOf('pay'), callOf('look'), { text: 'Paid.' }, { text: 'Yes.' }];
  const { model, prompts } = saying(() => replies.shift() ?? { text: '' });
  const post = async (messages: ChatMessage[]) => {
    const gated = gateTools(tools, { ...who, secret: SECRET });
    const received = await gated.receive(messages as never[]);
    const answer = { model, tools: gated.tools, stopWhen: stepCountIs(3) };
    const result = streamText({ ...answer, messages: await convertToModelMessages(received) });
    const stream = gated.send(result.toUIMessageStream({ originalMessages: received }));
    const chunks: unknown[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    return applied(messages, chunks);
  };
  const asked = await post([userMessage('pay')]);
  const paid = await post(
    changed(asked, (part) =>
      part.approval ? { ...part, state: 'approval-responded', approval: { ...part.approval, approved: true } } : part,
    ),
  );
  await post([...paid, userMessage('And?')]);
  expect(lastPrompt(prompts)).toContain('looked');
  expect(lastPrompt(prompts)).toContain('"paid"');
});

test('a seal is rejected if the clock returns no time', async () => {
  const { bank, chunks } = await approve(keyed(SECRET), keyed(SECRET, Number.NaN));
  expect(bank.moved).toEqual([]);
  expect(errorOf(chunks)).toBeDefined();
});

test('a seal older than an hour is rejected', async () => {
  const { bank, chunks } = await approve(keyed(SECRET), keyed(SECRET, hour));
  expect(bank.moved).toEqual([]);
  expect(errorOf(chunks)).toContain('The time to approve this call of transfer has expired.');
  expect((await approve(keyed(SECRET), keyed(SECRET, hour - 1))).bank.moved).toHaveLength(1);
});

test('a seal of another key is rejected', async () => {
  const { bank, chunks } = await approve(keyed([june]), keyed([july]));
  expect(bank.moved).toEqual([]);
  expect(errorOf(chunks)).toContain('There is no proof that the model asked for this call of transfer');
});

test('a seal of the previous key is accepted while that key is listed', async () => {
  expect((await approve(keyed([june]), keyed([july, june]))).bank.moved).toHaveLength(1);
});

test('a call matches its seal even if its keys come back in another order, as from some databases', async () => {
  const turn = (value: object) => Object.fromEntries(Object.entries(value).reverse());
  const reorder = (part: Part): Part => (part.input ? { ...part, input: turn(part.input) } : part);
  for (const way of ['approval', 'recipe'] as const) {
    const { bank } = await approve(keyed(SECRET), keyed(SECRET), reorder, way);
    expect(bank.moved).toEqual([{ to: 'bob', amount: 10 }]);
  }
});

test('a call whose seal was stripped is rejected', async () => {
  const strip = (part: Part) => (part.type === 'data-seal' ? undefined : part);
  for (const way of ['approval', 'recipe'] as const) {
    const { bank, chunks } = await approve(keyed(SECRET), keyed(SECRET), strip, way);
    expect(bank.moved).toEqual([]);
    expect(errorOf(chunks)).toContain('There is no proof that the model asked for this call of transfer');
  }
});

test('the seal of a result is not a seal of a call', async () => {
  const { bank, messages } = await approve(keyed(SECRET), keyed(SECRET));
  const seal = messages.at(-1)?.parts.find((part) => part.id === 'call-1/outcome');
  expect(seal).toBeDefined();
  const [user, assistant] = messages as [ChatMessage, ChatMessage];
  const parts = [
    { type: 'step-start' },
    bank.approvedPart('call-1', { to: 'bob', amount: 10 }),
    { type: 'data-seal', id: 'call-1', data: seal?.data },
  ];
  const { chunks } = await bank.post([user, { ...assistant, parts }]);
  expect(errorOf(chunks)).toContain('There is no proof that the model asked for this call of transfer');
  expect(bank.moved).toHaveLength(1);
});

test('a call that did not pass through receive does not run', async () => {
  const pay = vi.fn(() => 'paid');
  const { ask, resume } = talk({ pay }, (tools) => gateTools(tools, { ...who, secret: SECRET }));
  expect(await resume(await ask(), true)).toMatchObject([
    { type: 'tool-error', error: { message: 'This call of pay did not come through `receive`. It was not run.' } },
  ]);
  expect(pay).not.toHaveBeenCalled();
});

test.each([
  ['a secret', { ...who, secret: SECRET }],
  ['a store', { ...who, ai: countersign({ store: memoryStore() }) }],
])('with %s, endlessly nested input is rejected with a message', async (_what, options) => {
  const pay = vi.fn(() => 'paid');
  const tools = { pay: tool({ inputSchema: z.any(), needsApproval: true, execute: pay }) };
  const deep = JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`);
  for (const said of [{ input: deep }, { input: {}, state: 'output-available', output: deep }]) {
    const part = {
      type: 'tool-pay',
      toolCallId: 'call-1',
      state: 'approval-requested',
      approval: { id: 'a' },
      ...said,
    };
    const posted = [{ id: 'm', role: 'assistant', parts: [part] }] as never;
    await expect(gateTools(tools, options as SealGateOptions).receive(posted)).rejects.toMatchObject({
      code: 'invalid-request',
      details: { status: 400, toolCallId: 'call-1' },
    });
  }
  expect(pay).not.toHaveBeenCalled();
});
