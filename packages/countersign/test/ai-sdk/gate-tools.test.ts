// Tools behind the gate: which calls ask, and which behaviour stays unchanged.
import { createAgentUIStream, generateText, readUIMessageStream, ToolLoopAgent, tool } from 'ai';
import { countersign, memoryStore } from 'countersign';
import { gateTools } from 'countersign/ai-sdk';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { type Part, userMessage } from './bank.ts';
import { calling, inputSchema, talk, toolsOf } from './conversation.ts';

const who = { key: 'chat-1', by: 'ann' };
const SECRET = 'a secret that is long enough to be one';

describe('which calls ask', () => {
  const store = memoryStore();
  const cases = [
    { what: 'needsApproval: true', needsApproval: true, asks: true },
    { what: 'needsApproval: false', needsApproval: false, asks: false },
    { what: 'needsApproval: always', needsApproval: 'always' as never, asks: true },
    { what: 'needsApproval: 1', needsApproval: 1 as never, asks: true },
    { what: 'a rule that says yes', needsApproval: ({ amount }: { amount: number }) => amount > 5, asks: true },
    { what: 'a rule that says no', needsApproval: ({ amount }: { amount: number }) => amount > 50, asks: false },
    {
      what: 'a rule that throws',
      needsApproval: () => {
        throw new Error('no rules today');
      },
      asks: true,
    },
    { what: 'a name', approve: ['pay'], asks: true },
    { what: 'no name', approve: [], asks: false },
    { what: 'a predicate', approve: (name: string, input: unknown) => name === 'pay' && input !== null, asks: true },
    { what: 'a predicate that says nothing', approve: (() => undefined) as never, asks: true },
    { what: 'a predicate that says NaN', approve: (() => Number.NaN) as never, asks: true },
    { what: 'a predicate that says no later', approve: async () => false, asks: false },
    { what: 'a predicate that says no', approve: () => false, asks: false },
    { what: 'nothing', asks: false },
  ];
  test.each(cases)('$what: $asks', async ({ what, needsApproval, approve, asks }) => {
    const pay = vi.fn(() => 'paid');
    const tools = {
      pay: tool({ inputSchema, execute: pay, ...(needsApproval !== undefined && { needsApproval }) }),
    };
    const gated = gateTools(tools, { ai: countersign({ store }), key: what, by: 'ann', ...(approve && { approve }) });
    const { content } = await generateText({ model: calling().model, prompt: 'pay', tools: gated.tools });
    expect(content.some(({ type }) => type === 'tool-approval-request')).toBe(asks);
    expect(pay).toHaveBeenCalledTimes(asks ? 0 : 1);
  });
});

test.each([
  ['another input', 'pay', { amount: 1_000 }],
  ['another tool', 'withdraw', { amount: 10 }],
] as const)('an ungated call lets nothing else run under its id: %s', async (_what, name, input) => {
  const ran: unknown[] = [];
  const execute = (given: unknown) => ran.push(given);
  const pay = tool({ inputSchema, needsApproval: ({ amount }) => amount > 50, execute });
  const withdraw = tool({ inputSchema, needsApproval: true, execute });
  const tools: Record<string, any> = gateTools(
    { pay, withdraw },
    { ...who, ai: countersign({ store: memoryStore() }) },
  ).tools;
  const call = { toolCallId: 'call-1', messages: [] };
  await tools.pay.onInputAvailable({ ...call, input: { amount: 10 } });
  expect(() => tools[name].execute(input, call)).toThrow('It was not run.');
  expect(ran).toEqual([]);
  tools.pay.execute({ amount: 10 }, call);
  expect(ran).toEqual([{ amount: 10 }]);
});

test('an ungated tool that streams its results still streams them', async () => {
  const search = tool({
    inputSchema: z.object({ amount: z.number() }),
    async *execute() {
      yield 'looking';
      yield 'found';
    },
  });
  const gated = gateTools({ pay: search }, { ...who, ai: countersign({ store: memoryStore() }) });
  const seen: unknown[] = [];
  const { toolResults } = await generateText({
    model: calling().model,
    prompt: 'pay',
    tools: { pay: { ...gated.tools.pay, execute: watched(gated.tools.pay.execute, seen) } as any },
  });
  expect(toolResults).toMatchObject([{ output: 'found' }]);
  expect(seen).toEqual(['looking', 'found']);
});

test('an ungated tool may have an input that is not JSON', async () => {
  const look = vi.fn(({ amount }: { amount: Map<string, number> }) => amount.get('euro'));
  const inputSchema = z.object({ amount: z.number().transform((euro) => new Map([['euro', euro]])) });
  const tools = { pay: tool({ inputSchema, execute: look }) };
  const gated = gateTools(tools, { ...who, ai: countersign({ store: memoryStore() }) });
  const { toolResults } = await generateText({ model: calling().model, prompt: 'look', tools: gated.tools });
  expect(toolResults).toMatchObject([{ output: 10 }]);
  // A gated input must be shown and stored.
  const asking = gateTools(tools, { ...who, ai: countersign({ store: memoryStore() }), approve: ['pay'] });
  await expect(generateText({ model: calling().model, prompt: 'look', tools: asking.tools })).rejects.toMatchObject({
    code: 'not-json',
  });
  expect(look).toHaveBeenCalledOnce();
});

test('the last streamed result is the result of an approved call', async () => {
  async function* pay() {
    yield 'paying';
    yield 'paid';
  }
  const store = memoryStore();
  const { ask, resume } = talk({ pay }, (tools) => gateTools(tools, { ...who, ai: countersign({ store }) }));
  expect(await resume(await ask(), true)).toMatchObject([{ type: 'tool-result', output: 'paid' }]);
});

test('an approved call receives the options of the AI SDK', async () => {
  const pay = vi.fn(() => 'paid');
  const store = memoryStore();
  const { ask, resume } = talk({ pay }, (tools) => gateTools(tools, { ...who, ai: countersign({ store }) }));
  await resume(await ask(), true);
  expect(pay).toHaveBeenCalledWith(
    { amount: 10 },
    expect.objectContaining({ toolCallId: 'call-1', messages: expect.any(Array) }),
  );
});

test('a gated call that a rule of the route runs at once does not run', async () => {
  const pay = vi.fn(() => 'paid');
  const gated = gateTools(toolsOf({ pay }), { ...who, ai: countersign({ store: memoryStore() }) });
  const { content } = await generateText({
    model: calling().model,
    prompt: 'pay',
    tools: gated.tools,
    toolApproval: { pay: 'approved' },
  });
  expect(pay).not.toHaveBeenCalled();
  expect(content.find(({ type }) => type === 'tool-error')).toMatchObject({
    error: { message: 'pay is waiting for approval. It was not run.' },
  });
});

test("version 7's toolApproval works beside the gate", async () => {
  const pay = vi.fn(() => 'paid');
  const store = memoryStore();
  const ungated = { pay: tool({ inputSchema, execute: pay }) };
  const { model } = calling();
  const talking = { model, toolApproval: { pay: 'user-approval' } } as const;
  const { tools } = gateTools(ungated, { ...who, ai: countersign({ store }), approve: ['pay'] });
  const prompt = [{ role: 'user' as const, content: 'pay' }];
  const { content, response } = await generateText({ ...talking, messages: prompt, tools });
  const { approvalId } = content.find(({ type }) => type === 'tool-approval-request') as { approvalId: string };
  const answer = { type: 'tool-approval-response' as const, approvalId, approved: true };
  const messages = [...prompt, ...response.messages, { role: 'tool' as const, content: [answer] }];
  for (let times = 0; times < 2; times++)
    await generateText({
      ...talking,
      messages,
      tools: gateTools(ungated, { ...who, ai: countersign({ store }), approve: ['pay'] }).tools,
    });
  expect(pay).toHaveBeenCalledOnce();
});

test('an agent of the AI SDK works with gated tools', async () => {
  const store = memoryStore();
  const pay = vi.fn(() => 'paid');
  const { model } = calling();
  const turn = async (messages: any[]) => {
    const gated = gateTools(toolsOf({ pay }), { ...who, ai: countersign({ store }) });
    const agent = new ToolLoopAgent({ model, tools: gated.tools });
    const uiMessages = await gated.receive(messages);
    const stream = await createAgentUIStream({ agent, uiMessages });
    let latest: any = messages.at(-1)?.role === 'assistant' ? messages.at(-1) : undefined;
    for await (const message of readUIMessageStream({ message: structuredClone(latest), stream: stream as any }))
      latest = message;
    return latest;
  };
  const user = { id: 'u', role: 'user', parts: [{ type: 'text', text: 'pay' }] };
  const asked = await turn([user]);
  const approved = {
    ...asked,
    parts: asked.parts.map((part: Part) =>
      part.approval ? { ...part, state: 'approval-responded', approval: { ...part.approval, approved: true } } : part,
    ),
  };
  for (let times = 0; times < 2; times++)
    expect((await turn([user, approved])).parts).toContainEqual(
      expect.objectContaining({ toolCallId: 'call-1', state: 'output-available', output: 'paid' }),
    );
  expect(pay).toHaveBeenCalledOnce();
});

test.each([
  ['no chat', { ...who, key: '', ai: countersign({ store: memoryStore() }) }],
  ['a chat that is undefined', { ...who, key: undefined as never, ai: countersign({ store: memoryStore() }) }],
  ['nobody', { ...who, by: '', secret: SECRET }],
  ['a short secret', { ...who, secret: 'short' }],
  ['no key', { ...who, secret: [] }],
])('%s is rejected when the gate is created', (_what, options) => {
  expect(() => gateTools({}, options as never)).toThrow(expect.objectContaining({ code: 'invalid-options' }));
});

test.each([
  [{ approve: ['pya'] }, '`gateTools` names pya, which is not one of its tools: pay.'],
  [{ approve: ['constructor'] }, '`gateTools` names constructor'],
  [{ approve: new Set(['pay']) }, '`approve` must be an array of tool names, or a function.'],
  [{ approve: { pay: 'user-approval' } }, '`approve` must be an array'],
  [{ approve: true }, '`approve` must be an array'],
  [{ approve: null }, '`approve` must be an array'],
  [{ approves: ['pay'] }, '`gateTools` has no option approves (it takes '],
  [{ needsApproval: ['pay'] }, '`gateTools` has no option needsApproval ('],
  [{ toolApproval: { pay: 'user-approval' } }, '`gateTools` has no option toolApproval ('],
])('%o would leave a tool without a gate, and is rejected', (options, message) => {
  const refused = expect.objectContaining({ code: 'invalid-options', message: expect.stringContaining(message) });
  for (const kept of [{ ai: countersign({ store: memoryStore() }) }, { secret: SECRET }])
    expect(() => gateTools(toolsOf({ pay: () => 'paid' }), { ...who, ...kept, ...options } as never)).toThrow(refused);
});

test.each([
  [{}, '`gateTools` needs `ai`, or a `secret` of at least 32 bytes.'],
  [{ secret: undefined }, '`gateTools` needs `ai`, or a `secret`'],
  [{ secret: 7 }, '`secret` must be a string, or an array of keys with a secret and a kid'],
  [{ secret: [SECRET] }, '`secret` must be a string, or an array of keys'],
  [{ secret: [1, 2].map((n) => ({ kid: 'may', secret: SECRET + n })) }, 'Two keys of `secret` have the same kid.'],
  [{ secret: SECRET, expiresIn: '60000' }, '`expiresIn` of `gateTools` must be a number of milliseconds'],
  [{ secret: SECRET, expiresIn: Number.POSITIVE_INFINITY }, '`expiresIn` of `gateTools` must be a number'],
  [{ secret: SECRET, clock: 7 }, '`clock` of `gateTools` must be a function'],
])('%o would let no person decide anything, and is rejected', (options, message) => {
  const refused = expect.objectContaining({ code: 'invalid-options', message: expect.stringContaining(message) });
  expect(() => gateTools({}, { ...who, ...options } as never)).toThrow(refused);
});

test('with a store, a gated tool needs a name that the engine accepts', async () => {
  const store = memoryStore();
  const pay = tool({ inputSchema, execute: () => 'paid' });
  const refused = expect.objectContaining({ code: 'invalid-options', message: expect.stringContaining('"bank.pay"') });
  for (const asking of [{ needsApproval: true }, { execute: undefined }])
    expect(() =>
      gateTools({ 'bank.pay': { ...pay, ...asking } as any }, { ...who, ai: countersign({ store }) }),
    ).toThrow(refused);
  expect(() => gateTools({ 'bank.pay': pay }, { ...who, ai: countersign({ store }), approve: ['bank.pay'] })).toThrow(
    refused,
  );
  expect(gateTools({ 'bank.pay': pay }, { ...who, ai: countersign({ store }) }).tools['bank.pay']).toBeDefined();
  expect(gateTools({ 'bank.pay': pay }, { ...who, secret: SECRET, approve: ['bank.pay'] })).toBeDefined();
});

/** Collects the values that a streaming tool yields. */
function watched(execute: any, seen: unknown[]) {
  return async function* (...given: unknown[]) {
    for await (const item of execute(...given)) {
      seen.push(item);
      yield item;
    }
  };
}

test.each([undefined, null, 'hello', { 0: 'hello' }, [null], ['hello'], [[]]])(
  'invalid messages are rejected with a clear error: %j',
  async (messages) => {
    const gated = gateTools(toolsOf({ pay: () => 'paid' }), { ...who, ai: countersign({ store: memoryStore() }) });
    const refused = { code: 'invalid-request', details: { status: 400 } };
    await expect(gated.receive(messages as never)).rejects.toMatchObject(refused);
  },
);

test('invalid parts are left to the AI SDK', async () => {
  const gated = gateTools(toolsOf({ pay: () => 'paid' }), { ...who, ai: countersign({ store: memoryStore() }) });
  const messages = [{ id: 'a', role: 'assistant', parts: [null, 'hello', { type: 7 }] }, { role: 'assistant' }];
  expect(await gated.receive(messages as never)).toEqual(messages);
});

describe('title', () => {
  const titled = async (options: object, title?: string) => {
    const store = memoryStore();
    const tools = { pay: tool({ inputSchema, needsApproval: true, execute: () => 'paid', ...(title && { title }) }) };
    const gated = gateTools(tools, { ...who, ai: countersign({ store }), ...options });
    await generateText({ model: calling().model, prompt: 'pay', tools: gated.tools });
    return (await countersign({ store }).runs.requests()).items[0]?.title;
  };

  test('a request has the title that the gate makes of its input', async () => {
    const title = { pay: ({ amount }: { amount: number }) => `Pay €${amount}` };
    expect(await titled({ title }, 'Payment')).toBe('Pay €10');
    expect(await titled({ title: { pay: 'Pay an invoice' } })).toBe('Pay an invoice');
  });

  test('the title of the AI SDK tool is the default', async () => {
    expect(await titled({}, 'Payment')).toBe('Payment');
    expect(await titled({}, 'x'.repeat(201))).toBeNull();
    expect(await titled({})).toBeNull();
  });

  test('an unknown tool or an invalid title is refused', () => {
    const tools = { pay: tool({ inputSchema, needsApproval: true, execute: () => 'paid' }) };
    const store = memoryStore();
    expect(() => gateTools(tools, { ...who, ai: countersign({ store }), title: { pya: 'Pay' } as never })).toThrow(
      'names pya',
    );
    expect(() => gateTools(tools, { ...who, ai: countersign({ store }), title: { pay: 5 } as never })).toThrow('title');
  });
});

describe('preview', () => {
  /** Asks, lets the balance change, approves in the inbox, and runs the call as the AI SDK does. */
  const approved = async (change: number) => {
    const store = memoryStore();
    const account = { balance: 100, paid: 0 };
    const pay = tool({ inputSchema, needsApproval: true, execute: () => ++account.paid });
    const preview = { pay: ({ amount }: { amount: number }) => ({ left: account.balance - amount }) };
    const ai = countersign({ store });
    const { tools, receive } = gateTools({ pay }, { ...who, ai, preview });
    await generateText({ model: calling().model, prompt: 'pay', tools });
    const [request] = (await ai.runs.requests()).items;
    expect(request?.preview).toEqual({ value: { left: 90 } });
    account.balance += change;
    await ai.runs.decide(request?.id ?? '', 'approve', { by: 'ann' });
    const part = { type: 'tool-pay', toolCallId: 'call-1', state: 'approval-requested', input: { amount: 10 } };
    await receive([{ id: 'a', role: 'assistant', parts: [part] }, userMessage('And?')] as never[]);
    return { paid: account.paid, pending: (await ai.runs.requests()).items };
  };

  test('a request shows the preview, and an approved call runs while it is true', async () => {
    expect(await approved(0)).toEqual({ paid: 1, pending: [] });
  });

  test('a changed preview rejects the call, because the AI SDK cannot ask twice', async () => {
    expect(await approved(-20)).toEqual({ paid: 0, pending: [] });
  });

  test('an unknown tool or anything but a function is refused', () => {
    const tools = { pay: tool({ inputSchema, needsApproval: true, execute: () => 'paid' }) };
    const options = { ...who, ai: countersign({ store: memoryStore() }) };
    expect(() => gateTools(tools, { ...options, preview: { pya: () => 1 } as never })).toThrow('names pya');
    expect(() => gateTools(tools, { ...options, preview: { pay: 5 } as never })).toThrow('preview');
  });
});
