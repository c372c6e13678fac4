// Rules 13 and 14, and the abort: when a run is cut short, no finished work is lost or repeated.
import {
  approve,
  countersign,
  interrupt,
  type Model,
  NotPerformed,
  ProviderError,
  respond,
  restart,
  tool,
  UsageError,
  z,
} from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { calls, failureOf, latch, messagesOf, nth, only, outputs, payTool, scripted, travelled } from './support.ts';

const ask = interrupt({ name: 'ask', description: 'Asks.' });
const PAY_1 = calls({ name: 'pay', ref: 'p', input: { amount: 1 } });

describe('rule 13: a model call that fails loses nothing', () => {
  const failures: [string, any][] = [
    ['fails', { fail: { message: '503' } }],
    ['fails in a way that may be tried again', { fail: { message: '429', retryable: true } }],
    ['throws an ordinary error', { fail: new TypeError('bug in the adapter') }],
    ['throws a usage error', { fail: new UsageError('invalid-options', {}, 'the adapter cannot send this part') }],
    ['breaks off in the middle', { text: 'I have', cutOff: true }],
    ['returns an invalid reply', [null as never]],
  ];

  test.each(failures)('a model that %s after tools ran: continuing runs no tool again', async (_name, failure) => {
    const log: string[] = [];
    const pay = payTool(log, { needsApproval: false });
    const { ai } = scripted([PAY_1, failure, 'done']);
    const error = await failureOf(ai.generate({ prompt: 'go', tools: [pay] }));
    expect(log).toEqual(['paid 1']);
    const done = await ai.generate({ tools: [pay], messages: travelled(messagesOf(error)) });
    expect(done.text).toBe('done');
    expect(log).toEqual(['paid 1']);
    expect(outputs(done.messages)).toEqual([{ paid: 1 }]);
  });

  test.each(failures)(
    'a model that %s after an approved call ran: the call is not run again',
    async (_name, failure) => {
      const log: string[] = [];
      const pay = payTool(log);
      const { ai } = scripted([PAY_1, failure, 'done']);
      const paused = await ai.generate({ prompt: 'go', tools: [pay] });
      const error = await failureOf(
        ai.generate({ tools: [pay], messages: travelled(paused.messages), resume: { approve: paused.interrupts } }),
      );
      const done = await ai.generate({ tools: [pay], messages: travelled(messagesOf(error)) });
      expect(done.text).toBe('done');
      expect(log).toEqual(['paid 1']);
    },
  );

  test('a model that returns nothing fails with messages', async () => {
    const log: string[] = [];
    const pay = payTool(log, { needsApproval: false });
    const scriptedPart = scriptedModel([PAY_1]);
    const model: Model = {
      name: 'odd',
      reply: (request) => (scriptedPart.remaining > 0 ? scriptedPart.reply(request) : (undefined as never)),
    };
    const { ai } = scripted(['done']);
    const error = await failureOf(ai.generate({ model, prompt: 'go', tools: [pay] }));
    const done = await ai.generate({ tools: [pay], messages: travelled(messagesOf(error)) });
    expect(done.text).toBe('done');
    expect(log).toEqual(['paid 1']);
  });

  test('a failure of the first model call loses nothing of the prompt', async () => {
    const { ai, model } = scripted([{ fail: {} }, 'done']);
    const error = await failureOf(ai.generate({ system: 'Be kind.', prompt: 'go' }));
    await ai.generate({ messages: travelled(messagesOf(error)) });
    expect(nth(model.requests, 1).messages).toEqual(nth(model.requests, 0).messages);
  });

  test('the error is a ProviderError with the cause', async () => {
    const cause = new Error('socket');
    const { ai } = scripted([{ fail: cause }]);
    const error = await failureOf(ai.generate('go'));
    expect(error).toBeInstanceOf(ProviderError);
    expect(error.cause).toBe(cause);
  });

  test('a decision made in the same request as the failing model call is not asked for again', async () => {
    const { ai } = scripted([calls({ name: 'ask' }), { fail: {} }, 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [ask] });
    const error = await failureOf(
      ai.generate({
        tools: [ask],
        messages: paused.messages,
        resume: { respond: respond(only(paused.interrupts), 'yes') },
      }),
    );
    const done = await ai.generate({ tools: [ask], messages: travelled(messagesOf(error)) });
    expect(outputs(done.messages)).toEqual(['yes']);
  });

  test('the messages keep a final reply that does not match the output schema', async () => {
    const { ai } = scripted(['no JSON', '{"n":1}']);
    const output = { schema: { type: 'object', required: ['n'] } };
    const error = await failureOf(ai.generate({ prompt: 'go', output }));
    expect(error.code).toBe('invalid-output');
    expect(JSON.stringify(messagesOf(error))).toContain('no JSON');
    const done = await ai.generate({ messages: travelled(messagesOf(error)), prompt: 'JSON, please', output });
    expect(done.output).toEqual({ n: 1 });
  });

  test('an output schema that throws loses nothing', async () => {
    const log: string[] = [];
    const { ai } = scripted([calls({ name: 'pay', input: { amount: 1 } }), '"fine"']);
    const check = async () => Promise.reject(new Error('The list is away'));
    const schema = z.string().refine(check);
    const tools = [payTool(log, { needsApproval: false })];
    const error = await failureOf(ai.generate({ prompt: 'go', tools, output: { schema } }));
    expect(error).toMatchObject({ code: 'invalid-output', cause: { message: 'The list is away' } });
    expect(error.message).toContain('it could not be checked, as the schema threw: The list is away');
    expect(error.messages?.at(-1)?.content).toEqual([{ text: '"fine"' }]);
    expect(log).toHaveLength(1);
  });

  test.each(['blocked', 'error', 'cut-off'] as const)(
    'a reply with calls that ended with %s runs none of them',
    async (finishReason) => {
      const log: string[] = [];
      const pay = payTool(log, { needsApproval: false });
      const { ai } = scripted([{ ...PAY_1, finishReason }, 'done']);
      const stopped = await ai.generate({ prompt: 'go', tools: [pay] });
      expect(stopped.finishReason).not.toBe('stop');
      const done = await ai.generate({ tools: [pay], messages: travelled(stopped.messages), prompt: 'go on' });
      expect(done.text).toBe('done');
      expect(log).toEqual([]);
    },
  );

  test('a listener that throws does not affect the run', async () => {
    const log: string[] = [];
    const pay = payTool(log);
    const { ai } = scripted([calls({ name: 'pay', ref: 'p', input: { amount: 1 } }, { name: 'ask' }), 'done']);
    const onChunk = () => {
      throw new Error('the reader is gone');
    };
    const tools = [pay, ask];
    const paused = await ai.generate({ prompt: 'go', tools, onChunk });
    const half = await ai.generate({
      tools,
      messages: travelled(paused.messages),
      resume: { approve: nth(paused.interrupts, 0) },
      onChunk,
    });
    const done = await ai.generate({
      tools,
      messages: travelled(half.messages),
      resume: { respond: respond(only(half.interrupts), 'yes') },
      onChunk,
    });
    expect(outputs(done.messages)).toEqual([{ paid: 1 }, 'yes']);
    expect(log).toEqual(['paid 1']);
  });
});

describe('abort: it stops promptly and loses nothing that finished', () => {
  test('abort during the gate check: the call does not run, and the gate is checked again', async () => {
    const controller = new AbortController();
    const log: string[] = [];
    const pay = payTool(log, {
      needsApproval: async () => {
        controller.abort();
        return false;
      },
    });
    const { ai } = scripted([calls({ name: 'pay', input: { amount: 1 } }), 'done']);
    const aborted = await ai.generate({ prompt: 'go', tools: [pay], abortSignal: controller.signal });
    expect(aborted.finishReason).toBe('aborted');
    expect(log).toEqual([]);
    const done = await ai.generate({ tools: [pay], messages: travelled(aborted.messages) });
    expect(done.text).toBe('done');
    expect(log).toEqual(['paid 1']);
  });

  test('abort before the start: nothing runs and the model is not called', async () => {
    const { ai, model } = scripted(['done']);
    const aborted = await ai.generate({ prompt: 'go', abortSignal: AbortSignal.abort() });
    expect(aborted.finishReason).toBe('aborted');
    expect(model.requests).toHaveLength(0);
    expect((await ai.generate({ messages: travelled(aborted.messages) })).text).toBe('done');
  });

  test('abort before a resume starts: the decision is kept, and continuing runs the call once', async () => {
    const log: string[] = [];
    const pay = payTool(log);
    const { ai } = scripted([PAY_1, 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [pay] });
    const aborted = await ai.generate({
      tools: [pay],
      messages: travelled(paused.messages),
      resume: { approve: approve(only(paused.interrupts), { edit: { amount: 2 } }) },
      abortSignal: AbortSignal.abort(),
    });
    expect(aborted.finishReason).toBe('aborted');
    expect(log).toEqual([]);
    const done = await ai.generate({ tools: [pay], messages: travelled(aborted.messages) });
    expect(done.text).toBe('done');
    expect(log).toEqual(['paid 2']);
  });

  test('abort during the model call: the run does not wait, and partial text is not a reply', async () => {
    const controller = new AbortController();
    const { ai } = scripted([{ text: 'I was just', stall: true }, 'done']);
    const running = ai.generate({
      prompt: 'go',
      abortSignal: controller.signal,
      onChunk: (chunk) => chunk.text.includes('just') && controller.abort(),
    });
    const aborted = await running;
    expect(aborted.finishReason).toBe('aborted');
    expect(aborted.messages).toHaveLength(1);
    expect((await ai.generate({ messages: travelled(aborted.messages) })).text).toBe('done');
  });

  test('abort during the call of a model that ignores the signal', async () => {
    const controller = new AbortController();
    const model: Model = {
      name: 'deaf',
      reply: () => {
        controller.abort();
        return new Promise<never>(() => undefined);
      },
    };
    const { ai } = scripted([]);
    const aborted = await ai.generate({ model, prompt: 'go', abortSignal: controller.signal });
    expect(aborted.finishReason).toBe('aborted');
  });

  test('abort while tools run: a tool that ignores the signal is not awaited, and its late result changes nothing', async () => {
    const controller = new AbortController();
    const late = latch<string>();
    const deaf = tool({ name: 'deaf', description: 'Deaf.' }, () => {
      controller.abort();
      return late.opened;
    });
    const { ai } = scripted([calls({ name: 'deaf' }), 'done']);
    const aborted = await ai.generate({ prompt: 'go', tools: [deaf], abortSignal: controller.signal });
    const before = JSON.stringify(aborted);
    late.open('late');
    await late.opened;
    await null;
    expect(JSON.stringify(aborted)).toBe(before);
    expect(aborted.finishReason).toBe('aborted');
  });

  test('abort keeps the results of siblings that finished, and they do not run again', async () => {
    const log: string[] = [];
    const controller = new AbortController();
    const pay = payTool(log, { needsApproval: false });
    const deaf = tool({ name: 'deaf', description: 'Deaf.', idempotent: true }, () =>
      controller.signal.aborted ? 'ok' : new Promise<never>(() => undefined),
    );
    const { ai } = scripted([calls({ name: 'deaf' }, { name: 'pay', input: { amount: 1 } }), 'done']);
    const aborted = await ai.generate({
      prompt: 'go',
      tools: [deaf, pay],
      abortSignal: controller.signal,
      onChunk: (chunk) => chunk.type === 'tool-response' && controller.abort(),
    });
    const done = await ai.generate({ tools: [deaf, pay], messages: travelled(aborted.messages) });
    expect(outputs(done.messages)).toEqual(['ok', { paid: 1 }]);
    expect(log).toEqual(['paid 1']);
  });

  test('a tool that receives the abort and reports that it did nothing is not in doubt', async () => {
    const controller = new AbortController();
    const polite = tool({ name: 'polite', description: 'Polite.' }, async (_input, { signal }) => {
      controller.abort();
      if (signal.aborted) throw new NotPerformed('stopped in time');
    });
    const { ai } = scripted([calls({ name: 'polite' }), 'done']);
    const aborted = await ai.generate({ prompt: 'go', tools: [polite], abortSignal: controller.signal });
    const on = await ai.generate({ tools: [polite], messages: travelled(aborted.messages) });
    expect(on.finishReason === 'stop' || only(on.interrupts).metadata?.interruptKind === 'doubt').toBe(true);
  });

  test('a tool that receives the abort and throws is in doubt', async () => {
    const controller = new AbortController();
    const send = tool({ name: 'send', description: 'Sends.' }, async (_input, { signal }) => {
      controller.abort();
      signal.throwIfAborted();
    });
    const { ai } = scripted([calls({ name: 'send' }), 'done']);
    const aborted = await ai.generate({ prompt: 'go', tools: [send], abortSignal: controller.signal });
    const on = await ai.generate({ tools: [send], messages: travelled(aborted.messages) });
    expect(only(on.interrupts).metadata?.interruptKind).toBe('doubt');
  });

  test('questions asked before the abort are pending after it', async () => {
    const controller = new AbortController();
    const deaf = tool({ name: 'deaf', description: 'Deaf.', idempotent: true }, () =>
      controller.signal.aborted ? 'ok' : new Promise<never>(() => undefined),
    );
    const { ai } = scripted([calls({ name: 'ask', ref: 'q' }, { name: 'deaf' }), 'done']);
    const aborted = await ai.generate({
      prompt: 'go',
      tools: [ask, deaf],
      abortSignal: controller.signal,
      onChunk: (chunk) => chunk.type === 'interrupt' && controller.abort(),
    });
    const waiting = await ai.generate({ tools: [ask, deaf], messages: travelled(aborted.messages) });
    expect(only(waiting.interrupts).toolRequest.ref).toBe('q');
  });

  test('an abort after the end changes nothing', async () => {
    const controller = new AbortController();
    const { ai } = scripted(['done']);
    const done = await ai.generate({ prompt: 'go', abortSignal: controller.signal });
    controller.abort();
    expect(done.finishReason).toBe('stop');
  });
});

describe('rule 14: the turn limit', () => {
  const echo = tool({ name: 'echo', description: 'Echoes.' }, () => 'echo');
  const turn = calls({ name: 'echo' });

  test('the limit ends the run and keeps everything', async () => {
    const { ai, model } = scripted([turn, turn, turn, 'done']);
    const limited = await ai.generate({ prompt: 'go', tools: [echo], maxTurns: 2 });
    expect(limited.finishReason).toBe('max-turns');
    expect(limited.messages).toHaveLength(5);
    expect(model.requests).toHaveLength(2);
  });

  test('generating again continues without a new prompt, with a fresh limit', async () => {
    const { ai, model } = scripted([turn, turn, turn, turn, 'done']);
    let response = await ai.generate({ prompt: 'go', tools: [echo], maxTurns: 2 });
    response = await ai.generate({ messages: travelled(response.messages), tools: [echo], maxTurns: 2 });
    expect(response.finishReason).toBe('max-turns');
    expect(model.requests).toHaveLength(4);
    response = await ai.generate({ messages: travelled(response.messages), tools: [echo], maxTurns: 2 });
    expect(response.text).toBe('done');
  });

  test('a pause does not reset the count of turns', async () => {
    const both = calls({ name: 'ask' });
    const { ai, model } = scripted([both, both, both, both, both, 'done']);
    let response = await ai.generate({ prompt: 'go', tools: [ask], maxTurns: 3 });
    for (let i = 0; response.interrupts.length > 0 && i < 10; i++)
      response = await ai.generate({
        tools: [ask],
        maxTurns: 3,
        messages: i % 2 === 0 ? travelled(response.messages) : response.messages,
        resume: { respond: respond(only(response.interrupts), i) },
      });
    expect(response.finishReason).toBe('max-turns');
    expect(model.requests).toHaveLength(3);
  });

  test('the tools of the last allowed turn still run and may pause', async () => {
    const { ai } = scripted([calls({ name: 'ask' }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [ask], maxTurns: 1 });
    expect(paused.finishReason).toBe('interrupted');
    const limited = await ai.generate({
      tools: [ask],
      maxTurns: 1,
      messages: travelled(paused.messages),
      resume: { respond: respond(only(paused.interrupts), 'yes') },
    });
    expect(limited.finishReason).toBe('max-turns');
    expect(outputs(limited.messages)).toEqual(['yes']);
    const done = await ai.generate({ messages: travelled(limited.messages), tools: [ask], maxTurns: 1 });
    expect(done.text).toBe('done');
  });

  test('the default is 20', async () => {
    const { ai, model } = scripted(Array.from({ length: 30 }, () => turn));
    const limited = await ai.generate({ prompt: 'go', tools: [echo] });
    expect(limited.finishReason).toBe('max-turns');
    expect(model.requests).toHaveLength(20);
  });

  test('a failure or an abort does not reset the count of turns', async () => {
    const { ai, model } = scripted([turn, { fail: {} }, turn, turn, turn]);
    const error = await failureOf(ai.generate({ prompt: 'go', tools: [echo], maxTurns: 2 }));
    const limited = await ai.generate({ messages: travelled(messagesOf(error)), tools: [echo], maxTurns: 2 });
    expect(limited.finishReason).toBe('max-turns');
    expect(model.requests).toHaveLength(3);
  });

  test.each([0, -1, 1.5, Number.NaN, '3' as never, Number.POSITIVE_INFINITY])(
    'maxTurns %s is refused',
    async (maxTurns) => {
      const { ai } = scripted(['done']);
      expect((await failureOf(ai.generate({ prompt: 'go', maxTurns }))).code).toBe('invalid-options');
      const refused = expect.objectContaining({ code: 'invalid-options' });
      expect(() => ai.defineAgent({ name: 'clerk', maxTurns })).toThrow(refused);
      expect(() => countersign({ maxTurns })).toThrow(refused);
    },
  );

  test('restarts of a call do not count as turns', async () => {
    const forever = tool({ name: 'forever', description: 'Asks.' }, (_input, { interrupt, resumed }) =>
      resumed === 'enough' ? 'ok' : interrupt(),
    );
    const { ai } = scripted([calls({ name: 'forever' }), 'done']);
    let response = await ai.generate({ prompt: 'go', tools: [forever], maxTurns: 2 });
    for (const resumed of ['more', 'more', 'more', 'enough'])
      response = await ai.generate({
        tools: [forever],
        maxTurns: 2,
        messages: travelled(response.messages),
        resume: { restart: restart(only(response.interrupts), resumed) },
      });
    expect(response.text).toBe('done');
  });
});
