// Rule 15: the user sends a message while a decision is pending.
import { approve, ConflictError, interrupt, type Message, reject, respond, restart, tool } from 'countersign';
import { describe, expect, test } from 'vitest';
import { calls, failureOf, nth, only, outputs, payTool, results, scripted, travelled } from './support.ts';

const ask = interrupt({ name: 'ask', description: 'Asks.' });

/** A payment and a question wait; `script` is the model's next output. */
async function paused(...script: readonly any[]) {
  const log: string[] = [];
  const pay = payTool(log);
  const { ai, model } = scripted([
    calls({ name: 'pay', ref: 'p', input: { amount: 1 } }, { name: 'ask', ref: 'q' }),
    ...script,
  ]);
  const tools = [pay, ask];
  const { messages, interrupts } = await ai.generate({ prompt: 'go', tools });
  return { log, ai, model, tools, messages: travelled(messages), p: nth(interrupts, 0), q: nth(interrupts, 1) };
}

const roles = (messages: readonly Message[]) => messages.map((message) => message.role);

describe('rule 15: the user speaks while a decision is pending', () => {
  test('by default the pending calls are cancelled, the model learns it, and the conversation continues', async () => {
    const { log, ai, model, tools, messages } = await paused('sure');
    const done = await ai.generate({ tools, messages, prompt: 'what time is it?' });
    expect(done.text).toBe('sure');
    expect(log).toEqual([]);
    const seen = nth(model.requests, 1).messages;
    expect(roles(seen)).toEqual(['user', 'model', 'tool', 'user']);
    expect(results(seen).map((part) => part.metadata?.outcome)).toEqual(['cancelled', 'cancelled']);
    expect(outputs(seen)[0]).toMatch(/cancelled.*did not run/);
  });

  test('a decision on a cancelled call comes too late', async () => {
    const { log, ai, tools, messages, p } = await paused('sure');
    const done = await ai.generate({ tools, messages, prompt: 'never mind' });
    const error = await failureOf(
      ai.generate({ tools, messages: travelled(done.messages), resume: { approve: approve(p) } }),
    );
    expect(error).toBeInstanceOf(ConflictError);
    expect(log).toEqual([]);
  });

  test('a user message appended to the messages counts as a new message', async () => {
    const { log, ai, tools, messages } = await paused('sure');
    const done = await ai.generate({ tools, messages: [...messages, { role: 'user', content: [{ text: 'wait' }] }] });
    expect(done.text).toBe('sure');
    expect(roles(done.messages)).toEqual(['user', 'model', 'tool', 'user', 'model']);
    expect(log).toEqual([]);
  });

  test('refuse: nothing runs, nothing changes, and the error lists the pending calls', async () => {
    const { log, ai, model, tools, messages } = await paused('sure');
    const error = await failureOf(ai.generate({ tools, messages, prompt: 'hello?', whilePending: 'refuse' }));
    expect(error.code).toBe('decision-pending');
    expect(error.message).toMatch(/pay.*ask/);
    expect(model.requests).toHaveLength(1);
    expect(log).toEqual([]);
  });

  test('refuse accepts a message once everything is decided, even in the same call', async () => {
    const { ai, tools, messages, p, q } = await paused('sure');
    const done = await ai.generate({
      tools,
      messages,
      prompt: 'and hurry',
      whilePending: 'refuse',
      resume: { approve: p, respond: respond(q, 'yes') },
    });
    expect(roles(done.messages)).toEqual(['user', 'model', 'tool', 'user', 'model']);
  });

  test('queue: the message waits, survives JSON, and reaches the model after the decisions', async () => {
    const { log, ai, model, tools, messages, p, q } = await paused('sure');
    const waiting = await ai.generate({ tools, messages, prompt: 'and hurry', whilePending: 'queue' });
    expect(waiting.finishReason).toBe('interrupted');
    expect(waiting.interrupts).toHaveLength(2);
    expect(model.requests).toHaveLength(1);
    const half = await ai.generate({ tools, messages: travelled(waiting.messages), resume: { approve: p } });
    expect(model.requests).toHaveLength(1);
    const done = await ai.generate({
      tools,
      messages: travelled(half.messages),
      resume: { respond: respond(q, 'yes') },
    });
    expect(log).toEqual(['paid 1']);
    const seen = nth(model.requests, 1).messages;
    expect(roles(seen)).toEqual(['user', 'model', 'tool', 'user']);
    expect(nth(seen, 3)).toEqual({ role: 'user', content: [{ text: 'and hurry' }] });
    expect(done.text).toBe('sure');
  });

  test('queue: several messages reach the model in their order', async () => {
    const { ai, model, tools, messages, p, q } = await paused('sure');
    const one = await ai.generate({ tools, messages, prompt: 'one', whilePending: 'queue' });
    const two = await ai.generate({ tools, messages: travelled(one.messages), prompt: 'two', whilePending: 'queue' });
    await ai.generate({
      tools,
      messages: travelled(two.messages),
      resume: { reject: reject(p), respond: respond(q, 'yes') },
      prompt: 'three',
      whilePending: 'queue',
    });
    const said = nth(model.requests, 1).messages.slice(3);
    expect(said.map((message) => message.content)).toEqual([[{ text: 'one' }], [{ text: 'two' }], [{ text: 'three' }]]);
  });

  test('a queued message reaches the model when the user cancels after all', async () => {
    const { log, ai, model, tools, messages } = await paused('sure');
    const waiting = await ai.generate({ tools, messages, prompt: 'one', whilePending: 'queue' });
    await ai.generate({ tools, messages: travelled(waiting.messages), prompt: 'two' });
    const seen = nth(model.requests, 1).messages;
    expect(roles(seen)).toEqual(['user', 'model', 'tool', 'user', 'user']);
    expect(log).toEqual([]);
  });

  test('a prompt together with a resume: decided calls run, the others are cancelled, and the prompt follows', async () => {
    const { log, ai, model, tools, messages, p } = await paused('sure');
    const done = await ai.generate({ tools, messages, resume: { approve: p }, prompt: 'forget the question' });
    expect(log).toEqual(['paid 1']);
    expect(done.text).toBe('sure');
    const seen = nth(model.requests, 1).messages;
    expect(roles(seen)).toEqual(['user', 'model', 'tool', 'user']);
    expect(outputs(seen)).toEqual([{ paid: 1 }, expect.stringContaining('cancelled')]);
  });

  test('a prompt together with a rejected resume: nothing is cancelled', async () => {
    const { log, ai, tools, messages, p, q } = await paused('sure');
    await failureOf(ai.generate({ tools, messages, resume: { approve: [p, p] }, prompt: 'x' }));
    const waiting = await ai.generate({ tools, messages });
    expect(waiting.interrupts).toHaveLength(2);
    expect(log).toEqual([]);
    expect(q.toolRequest.ref).toBe('q');
  });

  test('a restarted tool that asks again after a user message stays pending, and the message is kept', async () => {
    const again = tool({ name: 'again', description: 'Asks twice.' }, (_input, { interrupt, resumed }) =>
      resumed === 2 ? 'ok' : interrupt(),
    );
    const { ai, model } = scripted([calls({ name: 'again' }), 'done']);
    const first = await ai.generate({ prompt: 'go', tools: [again] });
    const second = await ai.generate({
      tools: [again],
      messages: travelled(first.messages),
      resume: { restart: restart(only(first.interrupts), 1) },
      prompt: 'hello?',
    });
    expect(second.finishReason).toBe('interrupted');
    const done = await ai.generate({
      tools: [again],
      messages: travelled(second.messages),
      resume: { restart: restart(only(second.interrupts), 2) },
    });
    expect(done.text).toBe('done');
    expect(roles(nth(model.requests, 1).messages)).toEqual(['user', 'model', 'tool', 'user']);
  });

  test('a chat follows the same rule, and resumes itself', async () => {
    const log: string[] = [];
    const pay = payTool(log);
    const turn = (ref: string) => calls({ name: 'pay', ref, input: { amount: 1 } });
    const { ai } = scripted([turn('p1'), turn('p2'), 'paid']);
    const chat = ai.chat({ tools: [pay] });
    await chat.send('pay');
    const [stale] = chat.interrupts;
    await chat.send('no, the other one');
    expect(log).toEqual([]);
    if (!stale) throw new Error('The chat did not pause.');
    await failureOf(chat.send({ resume: { approve: approve(stale) } }));
    const done = await chat.send({ resume: { approve: chat.interrupts } });
    expect(done.text).toBe('paid');
    expect(log).toEqual(['paid 1']);
  });
});
