// Weaknesses found by trial in Genkit 1.42 (6.1 to 6.22), tried here. If only a store can prevent
// one, the test shows what stateless use does instead.
import { approve, ConflictError, interrupt, type Message, reject, respond, restart, tool, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import {
  AMOUNT,
  calls,
  deepFreeze,
  FALSY,
  failureOf,
  messagesOf,
  nth,
  only,
  outputs,
  payTool,
  requests,
  results,
  scripted,
  travelled,
} from './support.ts';

const ask = interrupt({ name: 'ask', description: 'Asks.', outputSchema: z.string() });
const PAY_500 = calls({ name: 'pay', ref: 'p', input: { amount: 500 } });

/** Like the `pay` of the trials: asks above 100, and sends its key to a bank that accepts each key once. */
function keyedPay(bank: Map<string, number>) {
  return tool(
    { name: 'pay', description: 'Pays.', inputSchema: AMOUNT },
    ({ amount }, { idempotencyKey, interrupt, resumed }) => {
      if (amount > 100 && resumed === undefined) interrupt({ message: 'confirm > $100' });
      bank.set(idempotencyKey, amount);
      return { status: `DONE:${amount}` };
    },
  );
}

describe('genkit 6.1: answering the same interrupt twice', () => {
  test('two decisions on one interrupt in one resume are rejected, both named', async () => {
    const { ai } = scripted([calls({ name: 'ask', ref: 'q' }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [ask] });
    const part = only(paused.interrupts);
    const error = await failureOf(
      ai.generate({
        tools: [ask],
        messages: paused.messages,
        resume: { respond: [respond(part, 'a'), respond(part, 'b')] },
      }),
    );
    expect(error.message).toMatch(/twice.*respond\[0\]/);
  });

  test('an answer and a restart of one interrupt are rejected, and nothing runs', async () => {
    const bank = new Map<string, number>();
    const pay = keyedPay(bank);
    const { ai } = scripted([PAY_500, 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [pay] });
    const part = only(paused.interrupts);
    await failureOf(
      ai.generate({
        tools: [pay],
        messages: paused.messages,
        resume: { respond: respond(part, {}), restart: restart(part) },
      }),
    );
    expect(bank.size).toBe(0);
  });

  test('on the messages after the first answer, the second answer is a conflict', async () => {
    const { ai } = scripted([calls({ name: 'ask', ref: 'q' }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [ask] });
    const part = only(paused.interrupts);
    const done = await ai.generate({
      tools: [ask],
      messages: paused.messages,
      resume: { respond: respond(part, 'a') },
    });
    await expect(
      ai.generate({ tools: [ask], messages: travelled(done.messages), resume: { respond: respond(part, 'b') } }),
    ).rejects.toBeInstanceOf(ConflictError);
  });

  test('needs a store: on the same saved messages both answers are accepted, each in a separate conversation', async () => {
    const { ai } = scripted([calls({ name: 'ask', ref: 'q' }), 'done a', 'done b']);
    const paused = await ai.generate({ prompt: 'go', tools: [ask] });
    const saved = JSON.stringify(paused.messages);
    const texts = [];
    for (const answer of ['a', 'b']) {
      const resume = { respond: respond(only(paused.interrupts), answer) };
      const done = await ai.generate({ tools: [ask], messages: JSON.parse(saved), resume });
      texts.push([done.text, ...outputs(done.messages)]);
    }
    expect(texts).toEqual([
      ['done a', 'a'],
      ['done b', 'b'],
    ]);
  });
});

test('genkit 6.2, needs a store: two concurrent resumes both run with one key, so a bank accepts it once', async () => {
  const bank = new Map<string, number>();
  const pay = keyedPay(bank);
  const { ai } = scripted([PAY_500, 'done', 'done']);
  const paused = await ai.generate({ prompt: 'go', tools: [pay] });
  const resume = { restart: restart(only(paused.interrupts)) };
  await Promise.all([
    ai.generate({ tools: [pay], messages: travelled(paused.messages), resume }),
    ai.generate({ tools: [pay], messages: paused.messages, resume }),
  ]);
  expect([...bank.values()]).toEqual([500]);
});

test('genkit 6.3: the tool ran, then the model failed: a retry from the messages of the error does not run it again', async () => {
  const log: string[] = [];
  const pay = payTool(log);
  const { ai } = scripted([PAY_500, { fail: { message: '503' } }, 'done']);
  const paused = await ai.generate({ prompt: 'go', tools: [pay] });
  const error = await failureOf(
    ai.generate({ tools: [pay], messages: travelled(paused.messages), resume: { approve: paused.interrupts } }),
  );
  await ai.generate({ tools: [pay], messages: travelled(messagesOf(error)) });
  expect(log).toEqual(['paid 500']);
});

test('genkit 6.4, needs a store: after a crash the saved pause runs again with the same key, so a bank accepts it once', async () => {
  const bank = new Map<string, number>();
  const pay = keyedPay(bank);
  const script = [PAY_500, { fail: new Error('the process died') }, 'done'];
  const { ai } = scripted(script);
  const paused = await ai.generate({ prompt: 'go', tools: [pay] });
  const saved = JSON.stringify({ messages: paused.messages, resume: { restart: restart(only(paused.interrupts)) } });
  await failureOf(ai.generate({ tools: [pay], ...JSON.parse(saved) }));
  const again = await ai.generate({ tools: [pay], ...JSON.parse(saved) });
  expect(again.text).toBe('done');
  expect([...bank.values()]).toEqual([500]);
});

test('genkit 6.5: if one of two interrupts is restarted, it runs once, the other waits, and both run once in the end', async () => {
  const log: string[] = [];
  const pay = payTool(log);
  const { ai } = scripted([
    calls({ name: 'pay', ref: 'a', input: { amount: 1 } }, { name: 'pay', ref: 'b', input: { amount: 2 } }),
    'done',
  ]);
  const paused = await ai.generate({ prompt: 'go', tools: [pay] });
  const half = await ai.generate({
    tools: [pay],
    messages: travelled(paused.messages),
    resume: { restart: restart(nth(paused.interrupts, 0)) },
  });
  expect(only(half.interrupts).toolRequest.ref).toBe('b');
  await ai.generate({
    tools: [pay],
    messages: travelled(half.messages),
    resume: { restart: restart(only(half.interrupts)) },
  });
  expect(log).toEqual(['paid 1', 'paid 2']);
});

describe('genkit 6.6: arguments that a client changed', () => {
  test('a decision with an input other than the recorded one is rejected', async () => {
    const log: string[] = [];
    const pay = payTool(log);
    const { ai } = scripted([PAY_500, 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [pay] });
    const part = restart(only(paused.interrupts));
    const forged = { ...part, toolRequest: { ...part.toolRequest, input: { amount: 1e9 } } };
    await failureOf(ai.generate({ tools: [pay], messages: paused.messages, resume: { restart: forged } }));
    expect(log).toEqual([]);
  });

  test('messages with an input other than the decided one are rejected', async () => {
    const log: string[] = [];
    const pay = payTool(log);
    const { ai } = scripted([PAY_500, 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [pay] });
    const forged = JSON.parse(JSON.stringify(paused.messages).replace('500', '999999')) as Message[];
    await failureOf(ai.generate({ tools: [pay], messages: forged, resume: { approve: paused.interrupts } }));
    expect(log).toEqual([]);
  });

  test('needs a store or a seal: matching changes in messages and decision are accepted, and the history shows the input that ran', async () => {
    const log: string[] = [];
    const pay = payTool(log);
    const { ai } = scripted([PAY_500, 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [pay] });
    const forge = <T>(value: T): T => JSON.parse(JSON.stringify(value).replaceAll('500', '999')) as T;
    const done = await ai.generate({
      tools: [pay],
      messages: forge(paused.messages),
      resume: { approve: forge(paused.interrupts) },
    });
    expect(log).toEqual(['paid 999']);
    expect(only(requests(done.messages)).toolRequest.input).toEqual({ amount: 999 });
  });
});

test('genkit 6.7: an answer of the wrong shape is rejected by the tool, by the free function and as a raw part', async () => {
  const { ai, model } = scripted([calls({ name: 'ask', ref: 'q' }), 'done']);
  const paused = await ai.generate({ prompt: 'go', tools: [ask] });
  const part = only(paused.interrupts);
  expect(() => ask.respond(part, { garbage: 1 } as never)).toThrow('does not fit');
  for (const answer of [
    respond(part, { garbage: 1 }),
    { toolResponse: { name: 'ask', ref: 'q', output: { garbage: 1 } } },
  ])
    await failureOf(ai.generate({ tools: [ask], messages: paused.messages, resume: { respond: answer } }));
  expect(model.requests).toHaveLength(1);
});

describe('genkit 6.8: a restarted tool that asks again', () => {
  test('the second question is a new pause, and the results of siblings are kept', async () => {
    const log: string[] = [];
    const pay = payTool(log);
    const twice = tool({ name: 'twice', description: 'Asks twice.' }, (_input, { interrupt, resumed }) =>
      resumed === 2 ? 'ok' : interrupt(),
    );
    const { ai } = scripted([{ calls: [...(PAY_500.calls ?? []), { name: 'twice', ref: 't' }] }, 'done']);
    const tools = [pay, twice];
    const first = await ai.generate({ prompt: 'go', tools });
    const second = await ai.generate({
      tools,
      messages: travelled(first.messages),
      resume: { approve: nth(first.interrupts, 0), restart: restart(nth(first.interrupts, 1), 1) },
    });
    const done = await ai.generate({
      tools,
      messages: travelled(second.messages),
      resume: { restart: restart(only(second.interrupts), 2) },
    });
    expect(outputs(done.messages)).toEqual([{ paid: 500 }, 'ok']);
    expect(log).toEqual(['paid 500']);
  });

  test('the restart of a question without a body is a clear error', async () => {
    const { ai } = scripted([calls({ name: 'ask', ref: 'q' })]);
    const paused = await ai.generate({ prompt: 'go', tools: [ask] });
    const error = await failureOf(
      ai.generate({ tools: [ask], messages: paused.messages, resume: { restart: paused.interrupts } }),
    );
    expect(error.message).toContain('use respond');
  });
});

test('genkit 6.9: the history shows a replaced input, with the old one and the editor', async () => {
  const { ai } = scripted([PAY_500, 'done']);
  const pay = payTool([]);
  const paused = await ai.generate({ prompt: 'go', tools: [pay] });
  const done = await ai.generate({
    tools: [pay],
    messages: travelled(paused.messages),
    resume: { restart: pay.restart(only(paused.interrupts), true, { replaceInput: { amount: 5 }, by: 'ann' }) },
  });
  expect(only(requests(done.messages))).toMatchObject({
    toolRequest: { input: { amount: 5 } },
    metadata: { replacedInput: { amount: 500 }, decision: { type: 'edit', by: 'ann' } },
  });
  expect(outputs(done.messages)).toEqual([{ paid: 5 }]);
});

test.each([...FALSY, undefined])(
  'genkit 6.10: a finished sibling that returned %j is resumed by an answer alone',
  async (value) => {
    let runs = 0;
    const give = tool({ name: 'give', description: 'Gives.' }, () => {
      runs += 1;
      return value as never;
    });
    const { ai } = scripted([calls({ name: 'give' }, { name: 'ask' }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [give, ask] });
    const done = await ai.generate({
      tools: [give, ask],
      messages: travelled(paused.messages),
      resume: { respond: respond(only(paused.interrupts), 'yes') },
    });
    expect(outputs(done.messages)).toEqual([value ?? (value === undefined ? null : value), 'yes']);
    expect(runs).toBe(1);
  },
);

test('genkit 6.11: two calls of one tool, without ids or with equal ids, each get their own decision', async () => {
  for (const ref of [undefined, 'same']) {
    const log: string[] = [];
    const pay = payTool(log);
    const { ai } = scripted([
      calls(...[500, 900].map((amount) => ({ name: 'pay', input: { amount }, ...(ref !== undefined && { ref }) }))),
      'done',
    ]);
    const paused = await ai.generate({ prompt: 'go', tools: [pay] });
    await ai.generate({
      tools: [pay],
      messages: travelled(paused.messages),
      resume: { restart: paused.interrupts.map((part) => restart(part)) },
    });
    expect(log).toEqual(['paid 500', 'paid 900']);
  }
});

test('genkit 6.12: the result of a finished sibling is complete after the pause', async () => {
  const whole = { output: { n: 1 }, content: [{ media: { url: 'data:,x' } }], metadata: { page: 0 } };
  const parts = tool({ name: 'parts', description: 'Gives parts.' }, () => whole);
  const { ai } = scripted([calls({ name: 'parts', metadata: { thoughtSignature: 's' } }, { name: 'ask' }), 'done']);
  const paused = await ai.generate({ prompt: 'go', tools: [parts, ask] });
  const done = await ai.generate({
    tools: [parts, ask],
    messages: travelled(paused.messages),
    resume: { respond: respond(only(paused.interrupts), 'yes') },
  });
  expect(outputs(done.messages)[0]).toEqual(whole);
  expect(nth(requests(done.messages), 0).metadata?.thoughtSignature).toBe('s');
});

test("genkit 6.13: the caller's messages stay unchanged, whether the resume succeeds or not", async () => {
  const { ai } = scripted([calls({ name: 'ask', ref: 'q' }), 'done']);
  const paused = await ai.generate({ prompt: 'go', tools: [ask] });
  const messages = deepFreeze(travelled(paused.messages));
  const part = only(paused.interrupts);
  await failureOf(ai.generate({ tools: [ask], messages, resume: { respond: respond(part, 5) } }));
  await ai.generate({ tools: [ask], messages, resume: { respond: respond(part, 'yes') } });
  expect(messages).toEqual(paused.messages);
});

test('genkit 6.14: a sibling that throws becomes a result, and the run waits for the others and keeps their work', async () => {
  const log: string[] = [];
  const bad = tool({ name: 'bad', description: 'Bad.' }, () => {
    throw new Error('broken');
  });
  const slow = tool({ name: 'slow', description: 'Slow.' }, async () => {
    for (let i = 0; i < 20; i++) await null;
    log.push('slow');
    return 'slow';
  });
  const { ai } = scripted([calls({ name: 'bad' }, { name: 'slow' }), 'done']);
  const done = await ai.generate({ prompt: 'go', tools: [bad, slow] });
  expect(outputs(done.messages)).toEqual([expect.stringContaining('broken'), 'slow']);
  expect(log).toEqual(['slow']);
});

test('genkit 6.15: a try/catch in a tool does not swallow the pause', async () => {
  const sly = tool({ name: 'sly', description: 'Sly.' }, (_input, { interrupt }) => {
    try {
      return interrupt();
    } catch {
      return 'swallowed';
    }
  });
  const { ai } = scripted([calls({ name: 'sly' })]);
  expect((await ai.generate({ prompt: 'go', tools: [sly] })).finishReason).toBe('interrupted');
});

test('genkit 6.16: a step that finished before interrupt() does not run again', async () => {
  const log: string[] = [];
  const work = tool({ name: 'work', description: 'Works.' }, async (_input, { interrupt, resumed, step }) => {
    await step('reserve', () => log.push('reserved'));
    if (resumed === undefined) interrupt();
    return 'ok';
  });
  const { ai } = scripted([calls({ name: 'work' }), 'done']);
  const paused = await ai.generate({ prompt: 'go', tools: [work] });
  await ai.generate({ tools: [work], messages: travelled(paused.messages), resume: { restart: paused.interrupts } });
  expect(log).toEqual(['reserved']);
});

test('genkit 6.17, needs a store to link the two: the resume has its own context and names the decider', async () => {
  const seen: unknown[] = [];
  const look = tool({ name: 'look', description: 'Looks.', needsApproval: true }, (_input, { context }) => {
    seen.push(context);
  });
  const { ai } = scripted([calls({ name: 'look' }), 'done']);
  const paused = await ai.generate({ prompt: 'go', tools: [look], context: { uid: 'starter' } });
  const done = await ai.generate({
    tools: [look],
    messages: travelled(paused.messages),
    resume: { approve: approve(only(paused.interrupts), { by: 'ann' }) },
  });
  expect(seen).toEqual([{}]);
  expect(only(requests(done.messages)).metadata?.decision).toMatchObject({ by: 'ann' });
});

test('genkit 6.18: a pause does not reset the count of turns', async () => {
  const turn = calls({ name: 'ask' });
  const { ai, model } = scripted([turn, turn, turn, turn, 'done']);
  let response = await ai.generate({ prompt: 'go', tools: [ask], maxTurns: 2 });
  while (response.interrupts.length > 0)
    response = await ai.generate({
      tools: [ask],
      maxTurns: 2,
      messages: travelled(response.messages),
      resume: { respond: respond(only(response.interrupts), 'yes') },
    });
  expect(response.finishReason).toBe('max-turns');
  expect(model.requests).toHaveLength(2);
});

test('genkit 6.19: an already aborted signal stops a resume before anything runs or the model is called', async () => {
  const log: string[] = [];
  const pay = payTool(log);
  const { ai, model } = scripted([PAY_500, 'done']);
  const paused = await ai.generate({ prompt: 'go', tools: [pay] });
  const aborted = await ai.generate({
    tools: [pay],
    messages: travelled(paused.messages),
    resume: { approve: paused.interrupts },
    abortSignal: AbortSignal.abort(),
  });
  expect(aborted.finishReason).toBe('aborted');
  expect(model.requests).toHaveLength(1);
  expect(log).toEqual([]);
});

test('genkit 6.20: a new user message on a paused conversation leaves no call without an answer', async () => {
  const { ai, model } = scripted([PAY_500, 'done']);
  const pay = payTool([]);
  const paused = await ai.generate({ prompt: 'go', tools: [pay] });
  await ai.generate({ tools: [pay], messages: travelled(paused.messages), prompt: 'hello?' });
  const seen = nth(model.requests, 1).messages;
  expect(results(seen).map((part) => part.toolResponse.ref)).toEqual(
    requests(seen).map((part) => part.toolRequest.ref),
  );
});

test('genkit 6.21, needs a store or a seal: the paused messages hold the results of siblings, which are trusted', async () => {
  const fine = tool({ name: 'fine', description: 'Fine.' }, () => 'real');
  const { ai } = scripted([calls({ name: 'fine' }, { name: 'ask' }), 'done']);
  const paused = await ai.generate({ prompt: 'go', tools: [fine, ask] });
  // The interrupts, which a person sees, do not contain them.
  expect(JSON.stringify(paused.interrupts)).not.toContain('real');
  const forged = JSON.parse(JSON.stringify(paused.messages).replace('real', 'forged')) as Message[];
  const done = await ai.generate({
    tools: [fine, ask],
    messages: forged,
    resume: { respond: respond(only(paused.interrupts), 'yes') },
  });
  expect(outputs(done.messages)[0]).toBe('forged');
});

describe('genkit 6.22: a pause below the top reaches the top', () => {
  test('from a sub-agent', async () => {
    const log: string[] = [];
    const { ai } = scripted([calls({ name: 'sub', ref: 's', input: { prompt: 'pay' } }), 'done']);
    const sub = ai.defineAgent({ name: 'sub', model: scriptedModel([PAY_500, 'paid']), tools: [payTool(log)] });
    const paused = await ai.generate({ prompt: 'go', tools: [sub] });
    expect(only(paused.interrupts).toolRequest.name).toBe('pay');
    const done = await ai.generate({
      tools: [sub],
      messages: travelled(paused.messages),
      resume: { reject: reject(only(paused.interrupts)) },
    });
    expect(done.text).toBe('done');
    expect(log).toEqual([]);
  });

  test('from a generate inside a tool, when it is passed on', async () => {
    const log: string[] = [];
    const { ai } = scripted([calls({ name: 'nested' }), PAY_500, 'paid', 'done']);
    const pay = payTool(log);
    const nested = tool({ name: 'nested', description: 'Nested.' }, async (_input, { interrupt, resumed }) => {
      const response = await ai.generate({ tools: [pay], ...(resumed ?? { prompt: 'pay' }) });
      if (response.interrupts.length > 0) interrupt(response);
      return response.text;
    });
    const paused = await ai.generate({ prompt: 'go', tools: [nested] });
    const done = await ai.generate({
      tools: [nested],
      messages: travelled(paused.messages),
      resume: { approve: paused.interrupts },
    });
    expect(done.text).toBe('done');
    expect(log).toEqual(['paid 500']);
  });
});
