// Rule 16: a pause inside an agent or a tool pauses the whole run, is decided at the root, and resumes inside.
import {
  approve,
  ConflictError,
  type Countersign,
  cancel,
  type GenerateResponse,
  interrupt,
  reject,
  respond,
  restart,
  type Tool,
  tool,
  z,
} from 'countersign';
import { type ScriptStep, scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import {
  calls,
  failureOf,
  faultsOf,
  messagesOf,
  nth,
  only,
  outputs,
  payTool,
  pendingOf,
  requests,
  scripted,
  travelled,
} from './support.ts';

const ask = interrupt({ name: 'ask', description: 'Asks.', outputSchema: z.string() });
const HELP = calls({ name: 'helper', ref: 'h', input: { prompt: 'help' } });

/** A root agent whose model follows `root`, with a sub-agent `helper` whose model follows `inner`. */
function team(root: readonly ScriptStep[], inner: readonly ScriptStep[], tools: readonly Tool[], more: object = {}) {
  const { ai, model } = scripted(root);
  const innerModel = scriptedModel(inner);
  const helper = ai.defineAgent({ name: 'helper', model: innerModel, system: 'Help.', tools, ...more });
  return { ai, model, innerModel, helper };
}

describe('rule 16: sub-agents', () => {
  test('a pause inside pauses the whole run; the interrupt appears at the root, with its path', async () => {
    const { ai, helper, model } = team([HELP, 'done'], [calls({ name: 'ask', ref: 'q' }), 'helped'], [ask]);
    const paused = await ai.generate({ prompt: 'go', tools: [helper] });
    expect(paused.finishReason).toBe('interrupted');
    const part = only(paused.interrupts);
    expect(part.toolRequest).toMatchObject({ name: 'ask', ref: 'q' });
    expect(part.metadata?.path).toEqual(['h']);
    expect(model.requests).toHaveLength(1);
  });

  test('the run asks again for a final reply inside that does not match the schema, even without a store', async () => {
    const output = { schema: z.object({ n: z.number() }) };
    const { ai, helper, innerModel } = team([HELP, 'done'], ['nope', '{"n":0}'], [], { output });
    const failure = await failureOf(ai.generate({ prompt: 'go', tools: [helper] }));
    expect(failure).toMatchObject({ code: 'invalid-output' });
    const messages = travelled(messagesOf(failure));
    const response = await ai.generate({ messages, tools: [helper] });
    expect(outputs(response.messages)).toEqual([{ n: 0 }]);
    expect(innerModel.requests.map((request) => request.messages.at(-1)?.role)).toEqual(['user', 'user']);
  });

  test.each([
    ['unchanged', <T>(value: T) => value],
    ['through JSON', travelled],
  ])('a decision at the root resumes the inner run and then the outer one (%s)', async (_name, carry) => {
    const { ai, helper, innerModel } = team([HELP, 'done'], [calls({ name: 'ask', ref: 'q' }), 'helped'], [ask]);
    const paused = await ai.generate({ prompt: 'go', tools: [helper] });
    const done = await ai.generate({
      tools: [helper],
      messages: carry(paused.messages),
      resume: carry({ respond: ask.respond(only(paused.interrupts), 'yes') }),
    });
    expect(done.text).toBe('done');
    expect(outputs(done.messages)).toEqual(['helped']);
    expect(outputs(nth(innerModel.requests, 1).messages)).toEqual(['yes']);
    expect(nth(innerModel.requests, 1).messages.filter((message) => message.role === 'system')).toHaveLength(1);
  });

  test.each([
    ['approve', (part: any) => ({ approve: approve(part) }), ['paid 1']],
    ['approve, the interrupt itself', (part: any) => ({ approve: part }), ['paid 1']],
    ['edit', (part: any) => ({ approve: approve(part, { edit: { amount: 2 } }) }), ['paid 2']],
    ['reject', (part: any) => ({ reject: reject(part, 'no') }), []],
    ['cancel', (part: any) => ({ cancel: cancel(part) }), []],
    ['respond', (part: any) => ({ respond: respond(part, { paid: 0 }) }), []],
    ['restart', (part: any) => ({ restart: restart(part) }), ['paid 1']],
  ])('a gated call inside is decided at the root: %s', async (_name, decide, effects) => {
    const log: string[] = [];
    const pay = payTool(log);
    const { ai, helper } = team(
      [HELP, 'done'],
      [calls({ name: 'pay', ref: 'p', input: { amount: 1 } }), 'helped'],
      [pay],
    );
    const paused = await ai.generate({ prompt: 'go', tools: [helper] });
    const done = await ai.generate({
      tools: [helper],
      messages: travelled(paused.messages),
      resume: travelled(decide(only(paused.interrupts))),
    });
    expect(done.text).toBe('done');
    expect(log).toEqual(effects);
  });

  test.each<[string, (part: any) => any]>([
    [
      'a changed input',
      (part) => ({ approve: { ...part, toolRequest: { ...part.toolRequest, input: { amount: 9 } } } }),
    ],
    ['an edit that does not fit', (part) => ({ approve: approve(part, { edit: { amount: 'x' } }) })],
    ['no path', (part) => ({ approve: { ...part, metadata: { ...part.metadata, path: undefined } } })],
    ['another path', (part) => ({ approve: { ...part, metadata: { ...part.metadata, path: ['x'] } } })],
    ['a longer path', (part) => ({ approve: { ...part, metadata: { ...part.metadata, path: ['h', 'p'] } } })],
    ['two decisions', (part) => ({ approve: approve(part), reject: reject(part) })],
    ['another question', (part) => ({ approve: { ...part, metadata: { ...part.metadata, callId: 'call_other' } } })],
  ])('a decision inside with %s is rejected as a whole, and nothing runs, inside or outside', async (_name, decide) => {
    const log: string[] = [];
    const pay = payTool(log);
    const outer = payTool(log, { name: 'outer' });
    const { ai, helper } = team(
      [{ calls: [...(HELP.calls ?? []), { name: 'outer', ref: 'o', input: { amount: 7 } }] }, 'done'],
      [calls({ name: 'pay', ref: 'p', input: { amount: 1 } }), 'helped'],
      [pay],
    );
    const tools = [helper, outer];
    const paused = await ai.generate({ prompt: 'go', tools });
    const resume = decide(pendingOf(paused, 'pay'));
    const error = await failureOf(
      ai.generate({
        tools,
        messages: travelled(paused.messages),
        resume: { ...resume, restart: restart(pendingOf(paused, 'outer')) },
      }),
    );
    expect(faultsOf(error).length).toBeGreaterThan(0);
    expect(log).toEqual([]);
  });

  test('the agent itself cannot be answered or restarted while a question inside it waits', async () => {
    const { ai, helper } = team([HELP, 'done'], [calls({ name: 'ask', ref: 'q' }), 'helped'], [ask]);
    const paused = await ai.generate({ prompt: 'go', tools: [helper] });
    const outer = only(requests(paused.messages));
    for (const resume of [{ restart: restart(outer) }, { approve: approve(outer) }, { respond: respond(outer, 'x') }])
      await failureOf(ai.generate({ tools: [helper], messages: travelled(paused.messages), resume }));
  });

  test('two interrupts inside are decided one by one, in any order', async () => {
    for (const order of [
      ['p1', 'p2'],
      ['p2', 'p1'],
    ]) {
      const log: string[] = [];
      const pay = payTool(log);
      const { ai, helper, innerModel } = team(
        [HELP, 'done'],
        [
          calls({ name: 'pay', ref: 'p1', input: { amount: 1 } }, { name: 'pay', ref: 'p2', input: { amount: 2 } }),
          'helped',
        ],
        [pay],
      );
      let response: GenerateResponse = await ai.generate({ prompt: 'go', tools: [helper] });
      expect(response.interrupts).toHaveLength(2);
      for (const ref of order) {
        expect(innerModel.requests).toHaveLength(1);
        const part = only(response.interrupts.filter((pending) => pending.toolRequest.ref === ref));
        response = await ai.generate({
          tools: [helper],
          messages: travelled(response.messages),
          resume: { approve: approve(part) },
        });
      }
      expect(response.text).toBe('done');
      expect(log).toEqual(order.map((ref) => `paid ${ref.slice(1)}`));
    }
  });

  test('a decision inside that was applied already is a conflict, not a second run', async () => {
    const log: string[] = [];
    const pay = payTool(log);
    const { ai, helper } = team(
      [HELP, 'done'],
      [
        calls({ name: 'pay', ref: 'p1', input: { amount: 1 } }, { name: 'pay', ref: 'p2', input: { amount: 2 } }),
        'helped',
      ],
      [pay],
    );
    const paused = await ai.generate({ prompt: 'go', tools: [helper] });
    const first = approve(nth(paused.interrupts, 0));
    const half = await ai.generate({
      tools: [helper],
      messages: travelled(paused.messages),
      resume: { approve: first },
    });
    await expect(
      ai.generate({ tools: [helper], messages: travelled(half.messages), resume: { approve: first } }),
    ).rejects.toBeInstanceOf(ConflictError);
    expect(log).toEqual(['paid 1']);
  });

  test('a tool inside that asks again: the decision on its first question does not fit the second', async () => {
    const again = tool({ name: 'again', description: 'Asks twice.' }, (_input, { interrupt, resumed }) =>
      resumed === 2 ? 'ok' : interrupt({ resumed: resumed ?? null }),
    );
    const { ai, helper } = team([HELP, 'done'], [calls({ name: 'again', ref: 'a' }), 'helped'], [again]);
    const first = await ai.generate({ prompt: 'go', tools: [helper] });
    const second = await ai.generate({
      tools: [helper],
      messages: travelled(first.messages),
      resume: { restart: restart(only(first.interrupts), 1) },
    });
    expect(only(second.interrupts).metadata?.interrupt).toEqual({ resumed: 1 });
    await failureOf(
      ai.generate({
        tools: [helper],
        messages: travelled(second.messages),
        resume: { restart: restart(only(travelled(first.interrupts)), 2) },
      }),
    );
    const done = await ai.generate({
      tools: [helper],
      messages: travelled(second.messages),
      resume: { restart: restart(only(second.interrupts), 2) },
    });
    expect(done.text).toBe('done');
  });

  test('a second question inside after the first was answered is a new pause', async () => {
    const { ai, helper } = team(
      [HELP, 'done'],
      [calls({ name: 'ask', ref: 'q' }), calls({ name: 'ask', ref: 'q' }), 'helped'],
      [ask],
    );
    const first = await ai.generate({ prompt: 'go', tools: [helper] });
    const answer = respond(only(first.interrupts), 'one');
    const second = await ai.generate({
      tools: [helper],
      messages: travelled(first.messages),
      resume: { respond: answer },
    });
    expect(second.interrupts).toHaveLength(1);
    await failureOf(
      ai.generate({ tools: [helper], messages: travelled(second.messages), resume: { respond: answer } }),
    );
    const done = await ai.generate({
      tools: [helper],
      messages: travelled(second.messages),
      resume: { respond: respond(only(second.interrupts), 'two') },
    });
    expect(done.text).toBe('done');
  });

  test('beside an ordinary gated sibling, each is decided alone', async () => {
    for (const first of ['pay', 'ask'] as const) {
      const log: string[] = [];
      const pay = payTool(log);
      const { ai, helper, innerModel } = team(
        [{ calls: [...(HELP.calls ?? []), { name: 'pay', ref: 'p', input: { amount: 1 } }] }, 'done'],
        [calls({ name: 'ask', ref: 'q' }), 'helped'],
        [ask],
      );
      const tools = [helper, pay];
      let response: GenerateResponse = await ai.generate({ prompt: 'go', tools });
      const second = first === 'pay' ? 'ask' : 'pay';
      for (const name of [first, second]) {
        const part = pendingOf(response, name);
        response = await ai.generate({
          tools,
          messages: travelled(response.messages),
          resume: name === 'pay' ? { approve: part } : { respond: respond(part, 'yes') },
        });
      }
      expect(response.text).toBe('done');
      expect(outputs(response.messages)).toEqual(['helped', { paid: 1 }]);
      expect(log).toEqual(['paid 1']);
      expect(innerModel.requests).toHaveLength(2);
    }
  });

  test('two sub-agents of one turn pause and resume independently', async () => {
    const log: string[] = [];
    const pay = payTool(log);
    const { ai } = scripted([
      calls({ name: 'a', ref: 'a', input: { prompt: 'x' } }, { name: 'b', ref: 'b', input: { prompt: 'y' } }),
      'done',
    ]);
    const agents = ['a', 'b'].map((name, index) =>
      ai.defineAgent({
        name,
        model: scriptedModel([calls({ name: 'pay', ref: 'same', input: { amount: index } }), `${name} helped`]),
        tools: [pay],
      }),
    );
    const paused = await ai.generate({ prompt: 'go', tools: agents });
    expect(paused.interrupts.map((part) => part.metadata?.path)).toEqual([['a'], ['b']]);
    const half = await ai.generate({
      tools: agents,
      messages: travelled(paused.messages),
      resume: { approve: nth(paused.interrupts, 1) },
    });
    expect(log).toEqual(['paid 1']);
    const done = await ai.generate({
      tools: agents,
      messages: travelled(half.messages),
      resume: { reject: reject(only(half.interrupts)) },
    });
    expect(outputs(done.messages)).toEqual(['a helped', 'b helped']);
    expect(log).toEqual(['paid 1']);
  });

  /** root → middle → deep → pay and ask. */
  function threeLevels(log: string[]) {
    const pay = payTool(log);
    const { ai } = scripted([calls({ name: 'middle', ref: 'm', input: { prompt: 'x' } }), 'done']);
    const deep = ai.defineAgent({
      name: 'deep',
      model: scriptedModel([
        calls({ name: 'pay', ref: 'p', input: { amount: 1 } }, { name: 'ask', ref: 'q' }),
        'deep done',
      ]),
      tools: [pay, ask],
    });
    const middle = ai.defineAgent({
      name: 'middle',
      model: scriptedModel([calls({ name: 'deep', ref: 'd', input: { prompt: 'y' } }), 'middle done']),
      tools: [deep],
    });
    return { ai, middle };
  }

  test('two levels deep: the path leads there, and decisions arrive', async () => {
    const log: string[] = [];
    const { ai, middle } = threeLevels(log);
    const paused = await ai.generate({ prompt: 'go', tools: [middle] });
    expect(paused.interrupts.map((part) => part.metadata?.path)).toEqual([
      ['m', 'd'],
      ['m', 'd'],
    ]);
    const half = await ai.generate({
      tools: [middle],
      messages: travelled(paused.messages),
      resume: travelled({ respond: respond(pendingOf(paused, 'ask'), 'yes') }),
    });
    expect(only(half.interrupts).toolRequest.name).toBe('pay');
    const done = await ai.generate({
      tools: [middle],
      messages: travelled(half.messages),
      resume: travelled({ approve: approve(only(half.interrupts), { edit: { amount: 4 }, by: 'ann' }) }),
    });
    expect(done.text).toBe('done');
    expect(outputs(done.messages)).toEqual(['middle done']);
    expect(log).toEqual(['paid 4']);
  });

  test('two levels deep: an invalid answer is rejected before anything runs', async () => {
    const log: string[] = [];
    const { ai, middle } = threeLevels(log);
    const paused = await ai.generate({ prompt: 'go', tools: [middle] });
    const error = await failureOf(
      ai.generate({
        tools: [middle],
        messages: travelled(paused.messages),
        resume: { approve: pendingOf(paused, 'pay'), respond: respond(pendingOf(paused, 'ask'), 7) },
      }),
    );
    expect(only(faultsOf(error)).where).toBe('respond[0]');
    expect(log).toEqual([]);
  });

  test('two levels deep: a user message cancels everything inside', async () => {
    const log: string[] = [];
    const { ai, middle } = threeLevels(log);
    const paused = await ai.generate({ prompt: 'go', tools: [middle] });
    const done = await ai.generate({ tools: [middle], messages: travelled(paused.messages), prompt: 'never mind' });
    expect(done.text).toBe('done');
    expect(outputs(done.messages)[0]).toContain('cancelled');
    expect(log).toEqual([]);
  });

  test('a model that fails inside: the error has the messages of the root, and continuing runs nothing again', async () => {
    const log: string[] = [];
    const pay = payTool(log);
    const { ai, helper, model } = team(
      [HELP, 'done'],
      [calls({ name: 'pay', ref: 'p', input: { amount: 1 } }), { fail: { message: '503' } }, 'helped'],
      [pay],
    );
    const paused = await ai.generate({ prompt: 'go', tools: [helper] });
    const error = await failureOf(
      ai.generate({ tools: [helper], messages: travelled(paused.messages), resume: { approve: paused.interrupts } }),
    );
    expect(error.message).toContain('503');
    expect(nth(messagesOf(error), 0)).toEqual({ role: 'user', content: [{ text: 'go' }] });
    const done = await ai.generate({ tools: [helper], messages: travelled(messagesOf(error)) });
    expect(done.text).toBe('done');
    expect(outputs(done.messages)).toEqual(['helped']);
    expect(log).toEqual(['paid 1']);
    expect(model.requests).toHaveLength(2);
  });

  test('a model that fails two levels deep after an effect: the effect is not repeated', async () => {
    const log: string[] = [];
    const pay = payTool(log, { needsApproval: false });
    const { ai } = scripted([calls({ name: 'middle', ref: 'm', input: { prompt: 'x' } }), 'done']);
    const deep = ai.defineAgent({
      name: 'deep',
      model: scriptedModel([calls({ name: 'pay', input: { amount: 1 } }), { fail: {} }, { fail: {} }, 'deep done']),
      tools: [pay],
    });
    const middle = ai.defineAgent({
      name: 'middle',
      model: scriptedModel([calls({ name: 'deep', input: { prompt: 'y' } }), 'middle done']),
      tools: [deep],
    });
    const first = await failureOf(ai.generate({ prompt: 'go', tools: [middle] }));
    const second = await failureOf(ai.generate({ tools: [middle], messages: travelled(messagesOf(first)) }));
    const done = await ai.generate({ tools: [middle], messages: travelled(messagesOf(second)) });
    expect(done.text).toBe('done');
    expect(log).toEqual(['paid 1']);
  });

  test('a tool that throws inside with onToolError throw: the error has the messages of the root', async () => {
    const bad = tool({ name: 'bad', description: 'Bad.' }, () => {
      throw new Error('broken');
    });
    const { ai, helper } = team([HELP, 'done'], [calls({ name: 'bad' }), 'helped'], [bad], { onToolError: 'throw' });
    const error = await failureOf(ai.generate({ prompt: 'go', tools: [helper] }));
    expect(nth(messagesOf(error), 0)).toEqual({ role: 'user', content: [{ text: 'go' }] });
    const done = await ai.generate({ tools: [helper], messages: travelled(messagesOf(error)) });
    expect(done.text).toBe('done');
    expect(outputs(done.messages)).toEqual(['helped']);
  });

  test('a failure inside beside a waiting sibling: both are kept', async () => {
    const { ai, helper } = team(
      [{ calls: [...(HELP.calls ?? []), { name: 'ask', ref: 'q' }] }, 'done'],
      [{ fail: {} }, 'helped'],
      [],
    );
    const tools = [helper, ask];
    const error = await failureOf(ai.generate({ prompt: 'go', tools }));
    const waiting = await ai.generate({ tools, messages: travelled(messagesOf(error)) });
    const done = await ai.generate({
      tools,
      messages: travelled(waiting.messages),
      resume: { respond: respond(only(waiting.interrupts), 'yes') },
    });
    expect(outputs(done.messages)).toEqual(['helped', 'yes']);
  });

  test('an abort inside keeps the work finished inside, and the run continues there', async () => {
    const log: string[] = [];
    const controller = new AbortController();
    const pay = payTool(log, { needsApproval: false });
    const { ai, helper, innerModel } = team(
      [HELP, 'done'],
      [
        calls({ name: 'pay', input: { amount: 1 } }),
        () => {
          controller.abort();
          return { stall: true };
        },
        'helped',
      ],
      [pay],
    );
    const aborted = await ai.generate({ prompt: 'go', tools: [helper], abortSignal: controller.signal });
    expect(aborted.finishReason).toBe('aborted');
    const done = await ai.generate({ tools: [helper], messages: travelled(aborted.messages) });
    expect(done.text).toBe('done');
    expect(outputs(done.messages)).toEqual(['helped']);
    expect(log).toEqual(['paid 1']);
    expect(innerModel.requests).toHaveLength(3);
  });

  test('an abort while a tool inside runs leaves its outcome in doubt, asked at the root with its path', async () => {
    const log: string[] = [];
    const controller = new AbortController();
    const deaf = tool({ name: 'deaf', description: 'Deaf.' }, () => {
      log.push('acted');
      controller.abort();
      return new Promise<never>(() => undefined);
    });
    const { ai, helper } = team([HELP, 'done'], [calls({ name: 'deaf', ref: 'd' }), 'helped'], [deaf]);
    const aborted = await ai.generate({ prompt: 'go', tools: [helper], abortSignal: controller.signal });
    const doubt = await ai.generate({ tools: [helper], messages: travelled(aborted.messages) });
    const part = only(doubt.interrupts);
    expect(part.metadata).toMatchObject({ path: ['h'], interruptKind: 'doubt' });
    const done = await ai.generate({
      tools: [helper],
      messages: travelled(doubt.messages),
      resume: { respond: respond(part, 'it happened') },
    });
    expect(done.text).toBe('done');
    expect(log).toEqual(['acted']);
  });

  test('a user message after an abort inside: the model does not hear that nothing ran', async () => {
    const log: string[] = [];
    const controller = new AbortController();
    const pay = payTool(log, { needsApproval: false });
    const { ai, helper } = team(
      [HELP, 'done'],
      [
        calls({ name: 'pay', input: { amount: 1 } }),
        () => {
          controller.abort();
          return { stall: true };
        },
      ],
      [pay],
    );
    const aborted = await ai.generate({ prompt: 'go', tools: [helper], abortSignal: controller.signal });
    const done = await ai.generate({ tools: [helper], messages: travelled(aborted.messages), prompt: 'never mind' });
    expect(log).toEqual(['paid 1']);
    expect(outputs(done.messages)[0]).not.toContain('did not run');
  });

  test('a sub-agent that reaches its turn limit is a result for the model', async () => {
    const echo = tool({ name: 'echo', description: 'Echoes.' }, () => 'echo');
    const turn = calls({ name: 'echo' });
    const { ai, helper } = team([HELP, 'done'], [turn, turn, turn], [echo], { maxTurns: 2 });
    const done = await ai.generate({ prompt: 'go', tools: [helper] });
    expect(done.text).toBe('done');
    expect(outputs(done.messages)[0]).toContain('turn limit');
  });

  test.each(['length', 'blocked', 'error', 'other'] as const)(
    'a sub-agent whose last reply ends with %s has no output, and the model learns it',
    async (finishReason) => {
      const output = { schema: z.object({ total: z.number() }) };
      const { ai, helper } = team([HELP, 'done'], [{ text: '{"total": 1', finishReason }], [], { output });
      const done = await ai.generate({ prompt: 'go', tools: [helper] });
      expect(outputs(done.messages)[0]).toContain(`gave no output: its last reply ended with ${finishReason}`);
    },
  );

  test('a sub-agent handed out by returnToolRequests and restarted by the caller receives its prompt', async () => {
    const { ai, helper, innerModel } = team([HELP, 'done'], ['helped'], []);
    const out = await ai.generate({ prompt: 'go', tools: [helper], returnToolRequests: true });
    const done = await ai.generate({
      tools: [helper],
      messages: travelled(out.messages),
      resume: { restart: restart(only(out.toolRequests)) },
    });
    expect(outputs(done.messages)).toEqual(['helped']);
    expect(JSON.stringify(only(innerModel.requests).messages)).toContain('"help"');
  });

  test('a restarted sub-agent whose outcome is unknown receives its prompt', async () => {
    const { ai, helper, innerModel } = team(['done'], ['helped'], []);
    const request = {
      toolRequest: { name: 'helper', ref: 'h', input: { prompt: 'help' } },
      metadata: { started: true },
    };
    const doubt = await ai.generate({
      tools: [helper],
      messages: [
        { role: 'user', content: [{ text: 'go' }] },
        { role: 'model', content: [request] },
      ],
    });
    const done = await ai.generate({
      tools: [helper],
      messages: travelled(doubt.messages),
      resume: { restart: restart(only(doubt.interrupts)) },
    });
    expect(outputs(done.messages)).toEqual(['helped']);
    expect(JSON.stringify(only(innerModel.requests).messages)).toContain('"help"');
  });

  test('a decision inside that is aborted before it starts is kept, and its effect happens once', async () => {
    const log: string[] = [];
    const turn = calls({ name: 'pay', ref: 'p', input: { amount: 1 } });
    const { ai, helper } = team([HELP, 'done'], [turn, 'helped'], [payTool(log)]);
    const paused = await ai.generate({ prompt: 'go', tools: [helper] });
    const stopped = await ai.generate({
      tools: [helper],
      messages: travelled(paused.messages),
      resume: { approve: paused.interrupts },
      abortSignal: AbortSignal.abort(),
    });
    expect(log).toEqual([]);
    const done = await ai.generate({ tools: [helper], messages: travelled(stopped.messages) });
    expect(done.text).toBe('done');
    expect(log).toEqual(['paid 1']);
  });

  test('a decision on an agent that stopped in the middle does not start it again', async () => {
    const log: string[] = [];
    const controller = new AbortController();
    const turn = calls({ name: 'pay', input: { amount: 1 } });
    const { ai, helper } = team(
      [HELP, 'done'],
      [
        turn,
        () => {
          controller.abort();
          return { stall: true };
        },
        ({ messages }) => (messages.some((message) => message.role === 'tool') ? 'helped' : turn),
        'helped',
      ],
      [payTool(log, { needsApproval: false })],
    );
    const aborted = await ai.generate({ prompt: 'go', tools: [helper], abortSignal: controller.signal });
    const outer = only(requests(aborted.messages));
    await ai
      .generate({ tools: [helper], messages: travelled(aborted.messages), resume: { approve: approve(outer) } })
      .catch(() => undefined);
    expect(log).toEqual(['paid 1']);
  });

  test('the tools inside receive the context of the request, and no message contains it', async () => {
    const seen: unknown[] = [];
    const look = tool({ name: 'look', description: 'Looks.', needsApproval: true }, (_input, { context }) => {
      seen.push(context.uid);
    });
    const { ai, helper } = team([HELP, 'done'], [calls({ name: 'look' }), 'helped'], [look]);
    const paused = await ai.generate({ prompt: 'go', tools: [helper], context: { uid: 'secret-1' } });
    const done = await ai.generate({
      tools: [helper],
      messages: travelled(paused.messages),
      resume: { approve: paused.interrupts },
      context: { uid: 'secret-2' },
    });
    expect(seen).toEqual(['secret-2']);
    expect(JSON.stringify([paused, done])).not.toContain('secret');
  });

  test('agents in a circle are rejected', async () => {
    const { ai } = scripted([]);
    const tools: any[] = [];
    const one = ai.defineAgent({ name: 'one', tools });
    const two = ai.defineAgent({ name: 'two', tools: [one] });
    tools.push(two);
    expect((await failureOf(ai.generate({ prompt: 'go', tools: [one] }))).code).toBe('circular-agents');
    expect((await failureOf(one.generate('go'))).code).toBe('circular-agents');
  });
});

describe('rule 16: a generate inside a tool', () => {
  /** A tool with an inner conversation that passes its questions on. */
  function delegating(ai: Countersign, inner: readonly ScriptStep[], tools: readonly Tool[]) {
    const model = scriptedModel(inner);
    const delegate = tool({ name: 'delegate', description: 'Delegates.' }, async (_input, { interrupt, resumed }) => {
      const response = await ai.generate({ model, tools, ...(resumed ?? { prompt: 'inner' }) });
      if (response.interrupts.length > 0) interrupt(response);
      return response.text;
    });
    return { model, delegate };
  }

  test('its questions are decided at the root, one by one, and it continues from there', async () => {
    const log: string[] = [];
    const pay = payTool(log);
    const { ai } = scripted([calls({ name: 'delegate', ref: 'x' }), 'done']);
    const { delegate, model } = delegating(
      ai,
      [calls({ name: 'pay', ref: 'p', input: { amount: 1 } }, { name: 'ask', ref: 'q' }), 'inner done'],
      [pay, ask],
    );
    const paused = await ai.generate({ prompt: 'go', tools: [delegate] });
    expect(paused.interrupts.map((part) => part.metadata?.path)).toEqual([['x'], ['x']]);
    const half = await ai.generate({
      tools: [delegate],
      messages: travelled(paused.messages),
      resume: travelled({ approve: pendingOf(paused, 'pay') }),
    });
    expect(log).toEqual(['paid 1']);
    const done = await ai.generate({
      tools: [delegate],
      messages: travelled(half.messages),
      resume: { respond: respond(only(half.interrupts), 'yes') },
    });
    expect(done.text).toBe('done');
    expect(outputs(done.messages)).toEqual(['inner done']);
    expect(model.requests).toHaveLength(2);
    expect(log).toEqual(['paid 1']);
  });

  test('a saved response can be passed on like a live one', async () => {
    const { ai } = scripted([calls({ name: 'delegate', ref: 'x' }), 'done']);
    const model = scriptedModel([calls({ name: 'ask', ref: 'q' }), 'inner done']);
    const delegate = tool({ name: 'delegate', description: 'Delegates.' }, async (_input, { interrupt, resumed }) => {
      const response = await ai.generate({ model, tools: [ask], ...(resumed ?? { prompt: 'inner' }) });
      if (response.interrupts.length > 0) interrupt(travelled(response.toJSON()));
      return response.text;
    });
    const paused = await ai.generate({ prompt: 'go', tools: [delegate] });
    const done = await ai.generate({
      tools: [delegate],
      messages: travelled(paused.messages),
      resume: { respond: respond(only(paused.interrupts), 'yes') },
    });
    expect(outputs(done.messages)).toEqual(['inner done']);
  });

  test('a changed input inside is rejected before anything runs', async () => {
    const log: string[] = [];
    const { ai } = scripted([calls({ name: 'delegate', ref: 'x' }), 'done']);
    const turn = calls({ name: 'pay', ref: 'p', input: { amount: 1 } });
    const { delegate } = delegating(ai, [turn, 'inner done'], [payTool(log)]);
    const paused = await ai.generate({ prompt: 'go', tools: [delegate] });
    const part = only(travelled(paused.interrupts));
    const changed = { ...part, toolRequest: { ...part.toolRequest, input: { amount: 999 } } };
    await failureOf(
      ai.generate({ tools: [delegate], messages: travelled(paused.messages), resume: { approve: changed } }),
    );
    expect(log).toEqual([]);
  });

  test('an invalid answer that only the inner tool can detect does not lose the question', async () => {
    const { ai } = scripted([calls({ name: 'delegate', ref: 'x' }), 'done', 'done']);
    const { delegate } = delegating(ai, [calls({ name: 'ask', ref: 'q' }), 'inner done'], [ask]);
    const paused = await ai.generate({ prompt: 'go', tools: [delegate] });
    const wrong = await ai
      .generate({
        tools: [delegate],
        messages: travelled(paused.messages),
        resume: { respond: respond(only(paused.interrupts), 7) },
      })
      .catch(() => undefined);
    expect(wrong?.text).not.toBe('done');
  });

  test('an answer rejected two levels down does not undo an effect one level down', async () => {
    const log: string[] = [];
    const pay = payTool(log);
    const { ai } = scripted([calls({ name: 'outer', ref: 'o' }), 'done']);
    const level = (name: string, script: readonly ScriptStep[], tools: readonly Tool[]) => {
      const model = scriptedModel(script);
      return tool({ name, description: 'Delegates.' }, async (_input, { interrupt, resumed }) => {
        const response = await ai.generate({ model, tools, ...(resumed ?? { prompt: name }) });
        if (response.interrupts.length > 0) interrupt(response);
        return response.text;
      });
    };
    const deep = level('deep', [calls({ name: 'ask', ref: 'q' }), 'deep done'], [ask]);
    const turn = calls({ name: 'pay', ref: 'p', input: { amount: 1 } }, { name: 'deep', ref: 'd' });
    const outer = level('outer', [turn, 'outer done'], [pay, deep]);
    const paused = await ai.generate({ prompt: 'go', tools: [outer] });
    const error = await failureOf(
      ai.generate({
        tools: [outer],
        messages: travelled(paused.messages),
        resume: { approve: pendingOf(paused, 'pay'), respond: respond(pendingOf(paused, 'ask'), 7) },
      }),
    );
    expect(log).toEqual(['paid 1']);
    const waiting = await ai.generate({ tools: [outer], messages: travelled(messagesOf(error)) });
    expect(waiting.interrupts.map((part) => part.toolRequest.name)).toEqual(['ask']);
    const done = await ai.generate({
      tools: [outer],
      messages: travelled(waiting.messages),
      resume: { respond: respond(pendingOf(waiting, 'ask'), 'yes') },
    });
    expect(done.text).toBe('done');
    expect(log).toEqual(['paid 1']);
  });

  test('a tool of the root with the same name as an inner tool does not interfere', async () => {
    const numeric = interrupt({ name: 'ask', description: 'Asks for a number.', outputSchema: z.number() });
    const { ai } = scripted([calls({ name: 'delegate', ref: 'x' }), 'done']);
    const { delegate } = delegating(ai, [calls({ name: 'ask', ref: 'q' }), 'inner done'], [ask]);
    const paused = await ai.generate({ prompt: 'go', tools: [delegate, numeric] });
    const done = await ai.generate({
      tools: [delegate, numeric],
      messages: travelled(paused.messages),
      resume: { respond: respond(only(paused.interrupts), 'a text') },
    });
    expect(done.text).toBe('done');
  });

  test('a response without pending calls, passed on by mistake, does not leave a stuck run', async () => {
    const { ai } = scripted([calls({ name: 'odd', ref: 'x' }), 'done']);
    const odd = tool({ name: 'odd', description: 'Odd.' }, (_input, { interrupt }) =>
      interrupt({ finishReason: 'interrupted', messages: [] }),
    );
    const response = await ai.generate({ prompt: 'go', tools: [odd] });
    const stuck = response.finishReason === 'interrupted' && response.interrupts.length === 0;
    expect(stuck).toBe(false);
  });
});
