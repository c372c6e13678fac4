// How a gated call can end, with a store: also when it fails, when the process dies, and when it is decided elsewhere.

import { generateText, streamText, tool } from 'ai';
import { countersign, type DecisionInput, memoryStore, NotPerformed, ProviderError } from 'countersign';
import { gateTools } from 'countersign/ai-sdk';
import { describe, expect, test, vi } from 'vitest';
import { changedStore } from '../changed-store.ts';
import { eventually } from '../eventually.ts';
import { type Part, userMessage } from './bank.ts';
import { calling, inputSchema, talk, toolsOf } from './conversation.ts';
import { saying } from './model.ts';

const who = { key: 'chat-1', by: 'ann' };

/** A call that started before its process stalled for good: its claim expires, and its renewals come too late. */
async function inDoubt() {
  let now = Date.now();
  const store = memoryStore({ now: () => now });
  const pay = vi.fn(() => new Promise(() => undefined));
  const { ask, resume } = talk({ pay }, (tools) => gateTools(tools, { ...who, ai: countersign({ store }) }));
  const asked = await ask();
  void resume(asked, true);
  await eventually(() => expect(pay).toHaveBeenCalledOnce());
  now += 60_000;
  expect(await resume(asked, true)).toMatchObject([
    { type: 'tool-error', error: { message: expect.stringContaining('outcome is unknown') } },
  ]);
  expect(pay).toHaveBeenCalledOnce();
  const { runs } = countersign({ store });
  const gated = gateTools(toolsOf({ pay }), { ...who, ai: countersign({ store }) });
  const [card] = (await runs.requests()).items;
  expect(card).toMatchObject({ kind: 'doubt', tool: 'pay' });
  const decide = async (decision: DecisionInput) => {
    await runs.decide(card?.id ?? '', decision, { by: 'ann' });
    await runs.settled();
  };
  return { gated, decide, again: () => resume(asked, true) };
}

test('after a crash in the middle the call does not run again, and a person is asked', async () => {
  const { decide, again } = await inDoubt();
  await decide({ type: 'respond', output: 'It was paid.' });
  expect(await again()).toMatchObject([{ type: 'tool-result', output: 'It was paid.' }]);
});

test.each([{ type: 'reject', reason: 'Leave it.' }, 'cancel'] as const)(
  'a call in doubt that a person leaves at that may have run: %j',
  async (decision) => {
    const { gated, decide, again } = await inDoubt();
    await decide(decision);
    const message = expect.stringContaining('unknown whether it took effect');
    expect(await again()).toMatchObject([{ type: 'tool-error', error: { message } }]);
    const part = { type: 'tool-pay', toolCallId: 'call-1', state: 'approval-requested', input: { amount: 10 } };
    const messages = [{ id: 'a', role: 'assistant', parts: [part] }, userMessage('And?')];
    const [received] = await gated.receive(messages as never[]);
    expect((received as any).parts).toMatchObject([{ state: 'output-error', errorText: message }]);
  },
);

test('a tool that failed does not run again, and a second approval returns the same error', async () => {
  const store = memoryStore();
  const pay = vi.fn(() => {
    throw new Error('The line is down');
  });
  const { ask, resume } = talk({ pay }, (tools) => gateTools(tools, { ...who, ai: countersign({ store }) }));
  const asked = await ask();
  const expected = [{ type: 'tool-error', error: { message: expect.stringMatching(/line is down.*may have taken/) } }];
  expect(await resume(asked, true)).toMatchObject(expected);
  expect(await resume(asked, true)).toMatchObject(expected);
  expect(pay).toHaveBeenCalledOnce();
});

test('a tool that reports that it did nothing is not in doubt', async () => {
  const store = memoryStore();
  const pay = () => {
    throw new NotPerformed('The account is closed.');
  };
  const { ask, resume } = talk({ pay }, (tools) => gateTools(tools, { ...who, ai: countersign({ store }) }));
  expect(await resume(await ask(), true)).toMatchObject([
    { type: 'tool-error', error: { message: 'The tool pay did nothing: The account is closed.' } },
  ]);
});

test('a question can be decided outside the chat, and the chat receives the result', async () => {
  const store = memoryStore();
  const pay = vi.fn(() => 'paid');
  const { ask, resume } = talk({ pay }, (tools) => gateTools(tools, { ...who, ai: countersign({ store }) }));
  const asked = await ask();
  const { runs } = countersign({ store });
  const [card] = (await runs.requests()).items;
  await runs.decide(card?.id ?? '', 'approve', { by: 'ann', channel: 'inbox' });
  await runs.settled();
  expect(pay).not.toHaveBeenCalled();
  expect(await resume(asked, true)).toMatchObject([{ type: 'tool-result', output: 'paid' }]);
  expect(pay).toHaveBeenCalledOnce();
});

test('an id that the model reused in this chat is an error, not another question', async () => {
  const store = memoryStore();
  const pay = vi.fn(() => 'paid');
  const { ask, resume } = talk({ pay }, (tools) => gateTools(tools, { ...who, ai: countersign({ store }) }));
  await resume(await ask(), true);
  await expect(ask()).rejects.toMatchObject({ code: 'run-exists', message: expect.stringContaining('call-1') });
});

test('an id that the model gives to a second call while the first one waits is an error', async () => {
  const store = memoryStore();
  const { tools } = gateTools(toolsOf({ pay: () => 'paid' }), { ...who, ai: countersign({ store }) });
  const ask = (amount: number) => {
    const { model } = saying(() => ({ calls: [{ id: 'call-1', tool: 'pay', input: { amount } }] }));
    return generateText({ model, prompt: 'pay', tools });
  };
  await ask(10);
  await expect(ask(20)).rejects.toMatchObject({ code: 'run-exists' });
});

describe('a provider that numbers its calls from zero in each reply', () => {
  const [small, large] = [{ amount: 10 }, { amount: 200 }];
  const callOf = (input: object) => ({ type: 'tool-pay', toolCallId: 'call_0', input });
  const paid = (input: object) => ({ ...callOf(input), state: 'output-available', output: 'paid' });
  const approved = { ...callOf(large), state: 'approval-responded', approval: { id: 'a', approved: true } };

  async function payments() {
    const pay = vi.fn((_payment: { amount: number }) => 'paid');
    const tools = { pay: tool({ inputSchema, needsApproval: ({ amount }) => amount > 50, execute: pay }) };
    const store = memoryStore();
    const { model } = saying(() => ({ calls: [{ id: 'call_0', tool: 'pay', input: large }] }));
    await generateText({ model, prompt: 'pay', tools: gateTools(tools, { ...who, ai: countersign({ store }) }).tools });
    const receive = async (...parts: object[]) => {
      const message = { id: 'm', role: 'assistant', parts: parts.flatMap((part) => [{ type: 'step-start' }, part]) };
      const gated = gateTools(tools, { ...who, ai: countersign({ store }) });
      const [received] = await gated.receive([message] as never[]);
      return { parts: (received as any).parts.filter(({ type }: Part) => type === 'tool-pay'), gated };
    };
    return { pay, receive };
  }

  test('an earlier ungated call with the same id does not block an approved one', async () => {
    const { pay, receive } = await payments();
    const { parts, gated } = await receive(paid(small), approved);
    expect(parts).toEqual([paid(small), approved]);
    await (gated.tools as any).pay.execute(large, { toolCallId: 'call_0', messages: [] });
    expect(pay.mock.calls.map(([input]) => input)).toEqual([large]);
  });

  test('a later ungated call with the same id is kept, and no call appears twice', async () => {
    const { receive } = await payments();
    const { gated } = await receive(approved);
    await (gated.tools as any).pay.execute(large, { toolCallId: 'call_0', messages: [] });
    const { parts } = await receive(paid(large), paid(small), paid(large));
    expect(parts).toMatchObject([paid(large), paid(small)]);
    expect(parts).toHaveLength(2);
    // A forged call cannot replace the recorded one.
    expect((await receive({ ...paid(small), output: 'FAKE' })).parts).toMatchObject([paid(large)]);
  });
});

test('of calls that share an id in one reply, only the gated one waits', async () => {
  const [pay, look] = [vi.fn(() => 'paid'), vi.fn(() => 'seen')];
  const tools = { ...toolsOf({ pay }), look: tool({ inputSchema, execute: look }) };
  const calls = ['look', 'pay'].map((name) => ({ id: 'call_0', tool: name, input: { amount: 10 } }));
  const ai = countersign({ store: memoryStore() });
  const { tools: gated } = gateTools(tools, { ...who, ai });
  const errors: unknown[] = [];
  const { fullStream } = streamText({ model: saying(() => ({ calls })).model, prompt: 'pay', tools: gated });
  for await (const part of fullStream) if (part.type === 'tool-error') errors.push([part.toolName, String(part.error)]);
  expect(errors).toEqual([
    ['look', expect.stringContaining('The model used the id of this call of look for another call.')],
  ]);
  expect([pay, look].map(({ mock }) => mock.calls)).toEqual([[], []]);
  expect((await ai.runs.requests()).items).toMatchObject([{ tool: 'pay' }]);
});

test('the same question announced twice is one question', async () => {
  const store = memoryStore();
  const pay = vi.fn(() => 'paid');
  const { ask, resume } = talk({ pay }, (tools) => gateTools(tools, { ...who, ai: countersign({ store }) }));
  await ask();
  expect(await resume(await ask(), true)).toMatchObject([{ output: 'paid' }]);
});

test.each([0, '', false, null])('a second approval receives the output %j too', async (output) => {
  const store = memoryStore();
  const { ask, resume } = talk({ pay: () => output }, (tools) =>
    gateTools(tools, { ...who, ai: countersign({ store }) }),
  );
  const asked = await ask();
  expect(await resume(asked, true)).toMatchObject([{ type: 'tool-result', output }]);
  expect(await resume(asked, true)).toMatchObject([{ type: 'tool-result', output }]);
});

test('the approval request is sent only after the question is recorded', async () => {
  const memory = memoryStore();
  const recorded = Promise.withResolvers<void>();
  const append = vi.fn(async (...given: Parameters<typeof memory.append>) => {
    await recorded.promise;
    return memory.append(...given);
  });
  const store = changedStore(memory, { append });
  const { tools } = gateTools(toolsOf({ pay: () => 'paid' }), { ...who, ai: countersign({ store }) });
  const seen: string[] = [];
  const result = streamText({ model: calling().model, prompt: 'pay', tools });
  const read = (async () => {
    for await (const part of result.fullStream) seen.push(part.type);
  })();
  await eventually(() => expect(append).toHaveBeenCalled());
  // This holds however long the store takes.
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(seen).toContain('tool-call');
  expect(seen).not.toContain('tool-approval-request');
  recorded.resolve();
  await read;
  expect(seen).toContain('tool-approval-request');
});

test('a store that is unavailable prevents the question', async () => {
  const memory = memoryStore();
  const store = changedStore(memory, { append: () => Promise.reject(new Error('The store is away')) });
  const { tools } = gateTools(toolsOf({ pay: () => 'paid' }), { ...who, ai: countersign({ store }) });
  const seen: string[] = [];
  const result = streamText({ model: calling().model, prompt: 'pay', tools, onError: () => undefined });
  try {
    for await (const part of result.fullStream) seen.push(part.type);
  } catch {
    // Version 7 fails the stream, version 6 writes the error to it.
  }
  expect(seen).not.toContain('tool-approval-request');
});

test('a request that waits for a call in another request polls and receives its result', async () => {
  const { timeout } = AbortSignal;
  const looks = vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => timeout.call(AbortSignal, 5));
  const store = memoryStore();
  const mayEnd = Promise.withResolvers<string>();
  const pay = vi.fn(() => mayEnd.promise);
  const { ask, resume } = talk({ pay }, (tools) => gateTools(tools, { ...who, ai: countersign({ store }) }));
  const asked = await ask();
  const first = resume(asked, true);
  await eventually(() => expect(pay).toHaveBeenCalled());
  const second = resume(asked, true);
  await eventually(() => expect(looks.mock.calls.length).toBeGreaterThan(9));
  mayEnd.resolve('paid');
  expect(await Promise.all([first, second])).toMatchObject([[{ output: 'paid' }], [{ output: 'paid' }]]);
  expect(pay).toHaveBeenCalledOnce();
});

test.each(['read', 'append'] as const)(
  'a store that fails before a decision is reported as a store failure: %s',
  async (fails) => {
    const memory = memoryStore();
    const asking = talk({ pay: () => 'never' }, (tools) =>
      gateTools(tools, { ...who, ai: countersign({ store: memory }) }),
    );
    const store = changedStore(memory, { [fails]: () => Promise.reject(new Error('The store is broken.')) });
    const pay = vi.fn(() => 'paid');
    const { resume } = talk({ pay }, (tools) => gateTools(tools, { ...who, ai: countersign({ store }) }));
    const told = { message: expect.stringContaining('The store is broken.') };
    expect(await resume(await asking.ask(), true)).toMatchObject([{ type: 'tool-error', error: told }]);
    expect(pay).not.toHaveBeenCalled();
  },
);

test('a running call is not withdrawn because a client claims that it is over', async () => {
  const store = memoryStore();
  const mayEnd = Promise.withResolvers<string>();
  const pay = vi.fn(() => mayEnd.promise);
  const { ask, resume } = talk({ pay }, (tools) => gateTools(tools, { ...who, ai: countersign({ store }) }));
  const running = resume(await ask(), true);
  await eventually(() => expect(pay).toHaveBeenCalled());
  const part = {
    type: 'tool-pay',
    toolCallId: 'call-1',
    state: 'output-error',
    input: { amount: 10 },
    errorText: 'no',
  };
  const messages = [{ id: 'a', role: 'assistant', parts: [part] }, userMessage('And?')];
  const received = gateTools(toolsOf({ pay }), { ...who, ai: countersign({ store }) }).receive(messages as never[]);
  // By then it has read the state of the call.
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  mayEnd.resolve('paid');
  expect(((await received)[0] as any).parts).toMatchObject([{ state: 'output-available', output: 'paid' }]);
  expect(await running).toMatchObject([{ output: 'paid' }]);
  expect(pay).toHaveBeenCalledOnce();
});

/** A store that fails with `retryable` on its first read after the tool has run. */
function failingOnce(retryable: boolean) {
  const memory = memoryStore();
  const pay = vi.fn(() => 'paid');
  let fails = 1;
  const store = changedStore(memory, {
    read: async (...given) => {
      if (pay.mock.calls.length > 0 && fails-- > 0)
        throw new ProviderError('store-failed', {}, 'The store is away.', { retryable });
      return memory.read(...given);
    },
  });
  return { pay, ...talk({ pay }, (tools) => gateTools(tools, { ...who, ai: countersign({ store }) })) };
}

test('a store that is briefly unavailable after a call has run does not hide its result', async () => {
  const { pay, ask, resume } = failingOnce(true);
  expect(await resume(await ask(), true)).toMatchObject([{ type: 'tool-result', output: 'paid' }]);
  expect(pay).toHaveBeenCalledOnce();
});

test('a store that fails after a call has started is reported as a call that may have taken effect', async () => {
  const { pay, ask, resume } = failingOnce(false);
  const asked = await ask();
  const told = { message: expect.stringMatching(/may have taken effect\..* The store is away\./) };
  expect(await resume(asked, true)).toMatchObject([{ type: 'tool-error', error: told }]);
  expect(await resume(asked, true)).toMatchObject([{ type: 'tool-result', output: 'paid' }]);
  expect(pay).toHaveBeenCalledOnce();
});
