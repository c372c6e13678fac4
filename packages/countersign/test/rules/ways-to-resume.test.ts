// Other ways to resume: tools by name, toolResponses, calls handed out, system again, chats, invalid histories.
import { interrupt, type Message, respond, restart, tool, toolResponse, z } from 'countersign';
import { describe, expect, test } from 'vitest';
import { calls, failureOf, nth, only, outputs, payTool, scripted, travelled } from './support.ts';

const ask = interrupt({ name: 'ask', description: 'Asks.' });

describe('ways to resume', () => {
  test('tools by name, answered through toolResponses, single or in a list', async () => {
    for (const list of [true, false]) {
      const { ai } = scripted([calls({ name: 'ask_question' }), 'done']);
      ai.defineInterrupt({ name: 'ask_question', description: 'Asks.' });
      const paused = await ai.generate({ prompt: 'go', tools: ['ask_question'] });
      const answer = toolResponse(only(paused.interrupts), 'yes');
      const done = await ai.generate({
        tools: ['ask_question'],
        messages: travelled(paused.messages),
        toolResponses: list ? [answer] : answer,
      });
      expect(outputs(done.messages)).toEqual(['yes']);
    }
  });

  test('unknown and duplicate names are rejected, and the error lists the known names', async () => {
    const { ai } = scripted([]);
    ai.defineInterrupt({ name: 'known', description: 'Asks.' });
    const unknown = await failureOf(ai.generate({ prompt: 'go', tools: ['unknwon'] }));
    expect(unknown.code).toBe('unknown-tool');
    expect(unknown.message).toContain('known');
    expect((await failureOf(ai.generate({ prompt: 'go', tools: ['known', 'known'] }))).code).toBe('duplicate-tool');
    expect((await failureOf(ai.generate({ prompt: 'go', tools: [ask, ask] }))).code).toBe('duplicate-tool');
  });

  test('the same system prompt is not duplicated, and a new one replaces it', async () => {
    const { ai, model } = scripted([calls({ name: 'ask' }), 'done', 'again']);
    const paused = await ai.generate({ system: 'Be kind.', prompt: 'go', tools: [ask] });
    const done = await ai.generate({
      system: 'Be kind.',
      tools: [ask],
      messages: travelled(paused.messages),
      resume: { respond: respond(only(paused.interrupts), 1) },
    });
    await ai.generate({ system: 'Be brief.', messages: travelled(done.messages), prompt: 'more' });
    const systems = model.requests.map((request) => request.messages.filter((message) => message.role === 'system'));
    const said = (text: string) => [{ role: 'system', content: [{ text }] }];
    expect(systems).toEqual([said('Be kind.'), said('Be kind.'), said('Be brief.')]);
  });

  test('returnToolRequests hands the calls out; nothing runs and no question is asked', async () => {
    const log: string[] = [];
    const pay = payTool(log);
    const plain = payTool(log, { name: 'plain', needsApproval: false });
    const { ai } = scripted([
      calls({ name: 'pay', ref: 'a', input: { amount: 1 } }, { name: 'plain', ref: 'b', input: { amount: 2 } }),
      'done',
    ]);
    const tools = [pay, plain, ask];
    const out = await ai.generate({ prompt: 'go', tools, returnToolRequests: true });
    expect(out.toolRequests.map((part) => part.toolRequest.ref)).toEqual(['a', 'b']);
    expect(out.interrupts).toEqual([]);
    expect(log).toEqual([]);
    const done = await ai.generate({
      tools,
      messages: travelled(out.messages),
      resume: { respond: respond(nth(out.toolRequests, 0), 'mine'), restart: restart(nth(out.toolRequests, 1)) },
    });
    expect(outputs(done.messages)).toEqual(['mine', { paid: 2 }]);
    expect(log).toEqual(['paid 2']);
  });

  test('undecided calls that were handed out are held while the flag is on, and gated when it is off', async () => {
    const log: string[] = [];
    const pay = payTool(log);
    const { ai } = scripted([
      calls({ name: 'pay', ref: 'a', input: { amount: 1 } }, { name: 'pay', ref: 'b', input: { amount: 2 } }),
      'done',
    ]);
    const tools = [pay];
    const out = await ai.generate({ prompt: 'go', tools, returnToolRequests: true });
    const half = await ai.generate({
      tools,
      messages: travelled(out.messages),
      returnToolRequests: true,
      resume: { respond: respond(nth(out.toolRequests, 0), 'mine') },
    });
    expect(log).toEqual([]);
    const gated = await ai.generate({ tools, messages: travelled(half.messages) });
    expect(only(gated.interrupts).toolRequest.ref).toBe('b');
    expect(log).toEqual([]);
  });

  test('a second decision on a call that was handed out is rejected', async () => {
    const { ai } = scripted([calls({ name: 'ask', ref: 'a' }, { name: 'ask', ref: 'b' }), 'done']);
    const out = await ai.generate({ prompt: 'go', tools: [ask], returnToolRequests: true });
    const answer = respond(nth(out.toolRequests, 0), 'one');
    const half = await ai.generate({ tools: [ask], messages: travelled(out.messages), resume: { respond: answer } });
    expect(only(half.interrupts).toolRequest.ref).toBe('b');
    await failureOf(ai.generate({ tools: [ask], messages: travelled(half.messages), resume: { respond: answer } }));
  });

  test('a restart of a handed-out call is bound to its input', async () => {
    const log: string[] = [];
    const pay = payTool(log);
    const { ai } = scripted([calls({ name: 'pay', ref: 'a', input: { amount: 1 } }), 'done']);
    const out = await ai.generate({ prompt: 'go', tools: [pay], returnToolRequests: true });
    const part = only(out.toolRequests);
    const changed = { ...part, toolRequest: { ...part.toolRequest, input: { amount: 999 } } };
    await failureOf(ai.generate({ tools: [pay], messages: travelled(out.messages), resume: { restart: changed } }));
    expect(log).toEqual([]);
  });

  test.each(['approve', 'restart'] as const)(
    'a handed-out call runs with what its schema makes of the input when it is decided (%s)',
    async (verb) => {
      const paid: unknown[] = [];
      const payTo = (amount: number) =>
        tool(
          {
            name: 'pay',
            description: '',
            inputSchema: z.object({ to: z.string(), amount: z.number().default(amount) }),
            needsApproval: true,
          },
          (input) => void paid.push(input),
        );
      const { ai } = scripted([calls({ name: 'pay', ref: 'a', input: { to: 'ann' } }), 'done']);
      const pay = payTo(10);
      const out = await ai.generate({ prompt: 'go', tools: [pay], returnToolRequests: true });
      const options = { tools: [pay], messages: travelled(out.messages), resume: { [verb]: out.toolRequests } };
      const stopped = await ai.generate({ ...options, abortSignal: AbortSignal.abort() });
      expect(paid).toEqual([]);
      await ai.generate(options);
      expect(paid).toEqual([{ to: 'ann', amount: 10 }]);
      const { ai: later } = scripted(['done']);
      await later.generate({ tools: [payTo(1_000)], messages: travelled(stopped.messages) });
      expect(paid.slice(1)).toEqual([{ to: 'ann', amount: 10 }]);
    },
  );

  test('overlapping sends of a chat run one after the other', async () => {
    const { ai, model } = scripted(['one', 'two', 'three']);
    const chat = ai.chat();
    const replies = await Promise.all([chat.send('a'), chat.send('b'), chat.send('c')]);
    expect(replies.map((reply) => reply.text)).toEqual(['one', 'two', 'three']);
    expect(nth(model.requests, 2).messages).toHaveLength(5);
  });

  test('a chat whose model fails keeps its messages', async () => {
    const log: string[] = [];
    const pay = payTool(log);
    const { ai } = scripted([calls({ name: 'pay', input: { amount: 1 } }), { fail: {} }, 'done']);
    const chat = ai.chat({ tools: [pay] });
    await chat.send('go');
    await failureOf(chat.send({ resume: { approve: chat.interrupts } }));
    expect((await chat.send('and?')).text).toBe('done');
    expect(log).toEqual(['paid 1']);
  });
});

describe('invalid histories', () => {
  const user: Message = { role: 'user', content: [{ text: 'go' }] };
  const call = (ref: string): Message => ({
    role: 'model',
    content: [{ toolRequest: { name: 'ask', ref, input: {} } }],
  });
  const answer = (ref: string): Message => ({
    role: 'tool',
    content: [{ toolResponse: { name: 'ask', ref, output: 1 } }],
  });

  test.each<[string, unknown]>([
    ['an answer without a call', [user, answer('a')]],
    ['a call answered twice', [user, call('a'), answer('a'), answer('a')]],
    ['an answer to another call', [user, call('a'), answer('b')]],
    ['a call without an answer in the middle', [user, call('a'), user, { role: 'model', content: [{ text: 'x' }] }]],
    ['a message that is null', [user, null]],
    ['a role that does not exist', [{ role: 'assistant', content: [{ text: 'x' }] }]],
    ['content that is a text', [{ role: 'user', content: 'x' }]],
    ['no list', { length: 1, 0: user }],
  ])('%s is a clear error, and the model is not called', async (_name, messages) => {
    const { ai, model } = scripted(['done']);
    const error = await failureOf(ai.generate({ messages: messages as never, tools: [ask] }));
    expect(error.code).toBe('invalid-history');
    expect(error.message).toMatch(/messages/);
    expect(model.requests).toHaveLength(0);
  });

  test('nothing to generate from is a clear error', async () => {
    const { ai } = scripted(['done']);
    expect((await failureOf(ai.generate({}))).code).toBe('invalid-options');
    expect((await failureOf(ai.generate({ messages: [] }))).code).toBe('invalid-options');
  });

  test('an input of a megabyte and a history of ten thousand messages are paused and resumed', async () => {
    const seen: number[] = [];
    const big = tool({ name: 'big', description: 'Big.', needsApproval: true }, (input) => {
      seen.push(input.text.length);
    });
    const { ai } = scripted([calls({ name: 'big', input: { text: 'x'.repeat(1_000_000) } }), 'done']);
    const history: Message[] = Array.from({ length: 10_000 }, (_value, index) =>
      index % 2 === 0 ? user : { role: 'model', content: [{ text: 'yes' }] },
    );
    const paused = await ai.generate({ messages: history, prompt: 'go', tools: [big] });
    const done = await ai.generate({
      tools: [big],
      messages: travelled(paused.messages),
      resume: { approve: travelled(paused.interrupts) },
    });
    expect(done.text).toBe('done');
    expect(seen).toEqual([1_000_000]);
  });
});
