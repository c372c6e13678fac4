// Rule 4: the messages, decisions and options that are passed in never change.
import {
  approve,
  type GenerateOptions,
  interrupt,
  type Message,
  memoryStore,
  respond,
  restart,
  tool,
  z,
} from 'countersign';
import { describe, expect, test } from 'vitest';
import { calls, deepFreeze, failureOf, nth, only, outputs, payTool, requests, scripted, travelled } from './support.ts';

const ask = interrupt({ name: 'ask', description: 'Asks.' });

/** Frozen messages, and their JSON. */
function sealed(messages: readonly Message[]): { readonly messages: readonly Message[]; readonly before: string } {
  return { messages: deepFreeze(travelled(messages)), before: JSON.stringify(messages) };
}

describe('rule 4: no argument is changed', () => {
  test('a resume works on deeply frozen messages, options and decisions', async () => {
    const log: string[] = [];
    const pay = payTool(log);
    const { ai } = scripted([
      calls({ name: 'pay', ref: 'p', input: { amount: 1 } }, { name: 'ask', ref: 'q' }),
      'done',
    ]);
    const paused = await ai.generate(deepFreeze({ prompt: 'go', tools: [pay, ask] }));
    const { messages, before } = sealed(paused.messages);
    const resume = deepFreeze(
      travelled({
        approve: approve(nth(paused.interrupts, 0), { edit: { amount: 2 }, by: 'ann' }),
        respond: [respond(nth(paused.interrupts, 1), { deep: [1] })],
        metadata: { by: { name: 'ann' } },
      }),
    );
    const done = await ai.generate({ tools: [pay, ask], messages, resume });
    expect(done.finishReason).toBe('stop');
    expect(log).toEqual(['paid 2']);
    expect(JSON.stringify(messages)).toBe(before);
  });

  test('the messages of an earlier response stay unchanged when it is resumed', async () => {
    const { ai } = scripted([calls({ name: 'ask', ref: 'a' }, { name: 'ask', ref: 'b' }), 'done', 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [ask] });
    const before = JSON.stringify(paused);
    const half = await ai.generate({
      tools: [ask],
      messages: paused.messages,
      resume: { respond: respond(nth(paused.interrupts, 0), 1) },
    });
    const halfBefore = JSON.stringify(half);
    await ai.generate({
      tools: [ask],
      messages: half.messages,
      resume: { respond: respond(only(half.interrupts), 2) },
    });
    await ai.generate({ tools: [ask], messages: half.messages, prompt: 'never mind' });
    expect(JSON.stringify(paused)).toBe(before);
    expect(JSON.stringify(half)).toBe(halfBefore);
  });

  test('continuing twice from one response gives two independent conversations', async () => {
    const { ai } = scripted(['hello', 'left', 'right']);
    const first = await ai.generate('go');
    const left = await ai.generate({ messages: first.messages, prompt: 'left?' });
    const right = await ai.generate({ messages: first.messages, prompt: 'right?' });
    expect(first.messages).toHaveLength(2);
    expect(left.text).toBe('left');
    expect(right.text).toBe('right');
    expect(right.messages).toHaveLength(4);
    expect(JSON.stringify(left.messages)).not.toContain('right');
    expect(JSON.stringify(right.messages)).not.toContain('left');
  });

  test('a rejected resume changes nothing', async () => {
    const { ai } = scripted([calls({ name: 'ask', ref: 'a' })]);
    const paused = await ai.generate({ prompt: 'go', tools: [ask] });
    const { messages, before } = sealed(paused.messages);
    const part = only(paused.interrupts);
    await failureOf(ai.generate({ tools: [ask], messages, resume: { respond: [respond(part, 1), respond(part, 2)] } }));
    expect(JSON.stringify(messages)).toBe(before);
  });

  test('a failing model changes nothing that was passed in', async () => {
    const { ai } = scripted([{ fail: { message: 'down' } }]);
    const { messages, before } = sealed([{ role: 'user', content: [{ text: 'go' }] }]);
    await failureOf(ai.generate({ messages }));
    expect(JSON.stringify(messages)).toBe(before);
  });

  test('the turn limit is marked on a copy', async () => {
    const echo = tool({ name: 'echo', description: 'Echoes.' }, () => 'echo');
    const { ai } = scripted([calls({ name: 'echo' }), 'done']);
    const limited = await ai.generate({ prompt: 'go', tools: [echo], maxTurns: 1 });
    const { messages, before } = sealed(limited.messages.slice(0, 3).map(({ metadata: _metadata, ...rest }) => rest));
    const again = await ai.generate({ messages, tools: [echo], maxTurns: 1 });
    expect(again.finishReason).toBe('max-turns');
    expect(JSON.stringify(messages)).toBe(before);
  });

  test('a pause inside a sub-agent is resumed from frozen messages', async () => {
    const { ai } = scripted([
      calls({ name: 'helper', ref: 'h', input: { prompt: 'help' } }),
      calls({ name: 'ask', ref: 'q' }),
      'inner done',
      'done',
    ]);
    const helper = ai.defineAgent({ name: 'helper', tools: [ask] });
    const paused = await ai.generate({ prompt: 'go', tools: [helper] });
    const { messages, before } = sealed(paused.messages);
    const done = await ai.generate({
      tools: [helper],
      messages,
      resume: deepFreeze({ respond: respond(only(travelled(paused.interrupts)), 'yes') }),
    });
    expect(done.text).toBe('done');
    expect(JSON.stringify(messages)).toBe(before);
  });

  test('doubt, cancelling, queueing and a new system prompt work on frozen messages', async () => {
    const controller = new AbortController();
    const stuck = tool({ name: 'stuck', description: 'Hangs.' }, () => {
      controller.abort();
      return new Promise<never>(() => undefined);
    });
    const { ai } = scripted([calls({ name: 'stuck' }), 'done']);
    const aborted = await ai.generate({ prompt: 'go', tools: [stuck], abortSignal: controller.signal });
    for (const more of [
      {},
      { prompt: 'and?', whilePending: 'queue' },
      { system: 'Be brief.' },
      { prompt: 'never mind' },
    ] satisfies readonly GenerateOptions[]) {
      const { messages, before } = sealed(aborted.messages);
      await ai.generate({ tools: [stuck], messages, ...more });
      expect(JSON.stringify(messages)).toBe(before);
    }
  });

  test.each([
    ['no schema', {}],
    ['a JSON Schema', { inputSchema: { type: 'object' } }],
    [
      'a schema that passes objects through',
      { inputSchema: z.custom<{ to: string[] }>(() => true), inputJsonSchema: { type: 'object' } },
    ],
  ] as const)('a body that changes its input changes only its own copy (%s)', async (_name, schema) => {
    const edit = tool(
      { name: 'edit', description: 'Edits.', ...schema, needsApproval: true } as never,
      (input: any) => {
        input.to.push('mallory');
        input.extra = true;
        return 'ok';
      },
    );
    const { ai } = scripted([calls({ name: 'edit', input: { to: ['ann'] } }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [edit] });
    const messages = travelled(paused.messages);
    const before = JSON.stringify(messages);
    const done = await ai.generate({ tools: [edit], messages, resume: { approve: only(paused.interrupts) } });
    expect(JSON.stringify(messages)).toBe(before);
    expect(only(requests(done.messages)).toolRequest.input).toEqual({ to: ['ann'] });
  });

  test('a body that changes its input works on frozen messages too', async () => {
    const edit = tool({ name: 'edit', description: 'Edits.', needsApproval: true }, (input) => {
      input.to.push('bob');
      return input.to;
    });
    const { ai } = scripted([calls({ name: 'edit', input: { to: ['ann'] } }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [edit] });
    const done = await ai.generate({
      tools: [edit],
      messages: deepFreeze(travelled(paused.messages)),
      resume: { approve: only(paused.interrupts) },
    });
    expect(JSON.stringify(done.messages)).not.toContain('read only');
    expect(JSON.stringify(done.messages)).not.toContain('not extensible');
  });

  test('a body that changes the result of a step changes only its own copy', async () => {
    const seen: unknown[] = [];
    const work = tool({ name: 'work', description: 'Works.' }, async (_input, { interrupt, resumed, step }) => {
      const order = await step('order', () => ({ lines: 1 }));
      seen.push({ ...order });
      order.lines += 1;
      if (resumed !== 'enough') interrupt();
      return order;
    });
    const { ai } = scripted([calls({ name: 'work' }), 'done']);
    const first = await ai.generate({ prompt: 'go', tools: [work] });
    const second = await ai.generate({
      tools: [work],
      messages: travelled(first.messages),
      resume: { restart: restart(only(first.interrupts), 'once more') },
    });
    await ai.generate({
      tools: [work],
      messages: travelled(second.messages),
      resume: { restart: restart(only(second.interrupts), 'enough') },
    });
    expect(seen).toEqual([{ lines: 1 }, { lines: 1 }, { lines: 1 }]);
  });

  test('an output that its tool mutates later stays unchanged in the history', async () => {
    const kept: string[] = ['first'];
    const list = tool({ name: 'list', description: 'Lists.' }, () => kept);
    const { ai } = scripted([calls({ name: 'list' }, { name: 'ask' }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [list, ask] });
    kept.push('later');
    expect(nth(requests(paused.messages), 0).metadata?.pendingOutput).toEqual(['first']);
  });

  test.each([undefined, 'run'])('a listener that mutates an event changes nothing (stored: %s)', async (runId) => {
    const spoil = (value: any): void => {
      for (const [key, item] of Object.entries(value))
        if (typeof item === 'object' && item !== null) spoil(item);
        else value[key] = 'spoilt';
    };
    const log: string[] = [];
    const pay = payTool(log, { needsApproval: () => ({ show: { amount: 5 } }) });
    const { ai } = scripted([calls({ name: 'pay', ref: 'p', input: { amount: 5 } }), 'done'], { store: memoryStore() });
    const clerk = ai.defineAgent({ name: 'clerk', tools: [pay], onEvent: spoil });
    const chat = clerk.chat(runId === undefined ? {} : { runId });
    const paused = await chat.send({ prompt: 'go', onChunk: spoil });
    expect(JSON.stringify(paused.messages)).not.toContain('spoilt');
    const done = await chat.send({ resume: { approve: paused.interrupts }, onChunk: spoil });
    expect(JSON.stringify(done.messages)).not.toContain('spoilt');
    expect(log).toEqual(['paid 5']);
  });

  test('foreign metadata on parts and messages survives a pause', async () => {
    const { ai, model } = scripted([
      { calls: [{ name: 'ask', ref: 'q', metadata: { thoughtSignature: 'sig', nested: { n: 0 } } }] },
      'done',
    ]);
    const paused = await ai.generate({
      messages: [{ role: 'user', content: [{ text: 'go', metadata: { mine: 1 } }], metadata: { trace: 't' } }],
      tools: [ask],
    });
    const done = await ai.generate({
      tools: [ask],
      messages: travelled(paused.messages),
      resume: { respond: respond(only(paused.interrupts), 'yes') },
    });
    expect(nth(done.messages, 0)).toEqual(nth(paused.messages, 0));
    expect(only(requests(nth(model.requests, 1).messages)).metadata).toMatchObject({
      thoughtSignature: 'sig',
      nested: { n: 0 },
    });
  });

  test.each([true, false])('a schema that mutates its value changes no decision (stored: %s)', async (stored) => {
    const paid: unknown[] = [];
    const doubled = z.any().transform((given) => {
      given.amount *= 2;
      return given;
    });
    const schemas = { inputSchema: doubled, outputSchema: doubled, inputJsonSchema: {}, outputJsonSchema: {} };
    const config = { description: '', ...schemas };
    const pay = tool({ name: 'pay', needsApproval: true, ...config }, (input) => {
      paid.push({ ...input });
      return { amount: 0 };
    });
    const count = interrupt({ name: 'count', ...config });
    const asked = calls({ name: 'pay', ref: 'a', input: { amount: 1 } }, { name: 'count', ref: 'b' });
    const { ai } = scripted([asked, 'done'], stored ? { store: memoryStore() } : {});
    const chat = ai.defineAgent({ name: 'clerk', tools: [pay, count] }).chat(stored ? { runId: 'run' } : {});
    const { interrupts } = await chat.send('go');
    const edit = { amount: 5 };
    const answer = { amount: 3 };
    const done = await chat.send({
      resume: {
        approve: pay.approve(nth(interrupts, 0), { edit }),
        respond: count.respond(nth(interrupts, 1), answer),
      },
    });
    expect([edit, answer]).toEqual([{ amount: 5 }, { amount: 3 }]);
    expect(paid).toEqual([{ amount: 10 }]);
    expect(outputs(done.messages)[1]).toEqual({ amount: 3 });
  });
});
