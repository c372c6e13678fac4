// Rule 12: a call that started and has no result is in doubt; Countersign asks about it and never guesses.
import {
  approve,
  ConflictError,
  cancel,
  type Message,
  reject,
  respond,
  restart,
  type ToolConfig,
  tool,
  z,
} from 'countersign';
import { describe, expect, test } from 'vitest';
import {
  AMOUNT,
  calls,
  FALSY,
  failureOf,
  nth,
  only,
  outputs,
  requests,
  results,
  scripted,
  travelled,
} from './support.ts';

type Transfer = ToolConfig<typeof AMOUNT>;

/**
 * A transfer that stops in the middle: its body may have acted and never returns.
 * From the second run on it returns.
 */
async function stopped(config: Partial<Transfer> = {}, script: readonly any[] = ['done']) {
  const log: string[] = [];
  const keys: string[] = [];
  const controller = new AbortController();
  const transfer = tool(
    { name: 'transfer', description: 'Transfers.', inputSchema: AMOUNT, ...config },
    ({ amount }, { idempotencyKey }) => {
      log.push(`sent ${amount}`);
      keys.push(idempotencyKey);
      if (controller.signal.aborted) return { sent: amount };
      controller.abort();
      return new Promise<never>(() => undefined);
    },
  );
  const { ai, model } = scripted([calls({ name: 'transfer', ref: 't', input: { amount: 5 } }), ...script]);
  const tools = [transfer];
  let response = await ai.generate({ prompt: 'go', tools, abortSignal: controller.signal });
  if (response.interrupts.length > 0)
    response = await ai.generate({
      tools,
      messages: travelled(response.messages),
      resume: { approve: response.interrupts },
      abortSignal: controller.signal,
    });
  expect(response.finishReason).toBe('aborted');
  return { log, keys, ai, model, transfer, tools, messages: travelled(response.messages) };
}

async function asked(config: Partial<Transfer> = {}, script: readonly any[] = ['done']) {
  const all = await stopped(config, script);
  const response = await all.ai.generate({ tools: all.tools, messages: all.messages });
  return { ...all, response, part: only(response.interrupts), messages: travelled(response.messages) };
}

describe('rule 12: doubt', () => {
  test('a call without a result becomes a question and does not run again', async () => {
    const { log, model, part } = await asked();
    expect(part.metadata).toMatchObject({
      interruptKind: 'doubt',
      interrupt: { message: expect.stringContaining('transfer') },
    });
    expect(log).toEqual(['sent 5']);
    expect(model.requests).toHaveLength(1);
  });

  test('asking repeatedly changes nothing', async () => {
    const { log, ai, tools, messages, part } = await asked();
    const again = await ai.generate({ tools, messages });
    expect(again.messages).toEqual(messages);
    expect(travelled(only(again.interrupts))).toEqual(travelled(part));
    expect(log).toEqual(['sent 5']);
  });

  test('answer 1: the call happened, with this result', async () => {
    const { log, ai, tools, transfer, messages, part } = await asked();
    const done = await ai.generate({
      tools,
      messages,
      resume: { respond: transfer.respond(part, { sent: 5 }) },
    });
    expect(outputs(done.messages)).toEqual([{ sent: 5 }]);
    expect(log).toEqual(['sent 5']);
  });

  test.each(FALSY)('answer 1 with the result %j', async (value) => {
    const { ai, tools, messages, part } = await asked();
    const done = await ai.generate({ tools, messages, resume: travelled({ respond: respond(part, value) }) });
    expect(outputs(done.messages)).toEqual([value]);
  });

  test('answer 1 must match the output schema', async () => {
    const { ai, tools, messages, part } = await asked({ outputSchema: z.object({ sent: z.number() }) });
    const error = await failureOf(ai.generate({ tools, messages, resume: { respond: respond(part, 'sent') } }));
    expect(error.code).toBe('invalid-resume');
  });

  test.each([
    ['approve', (part: any) => ({ approve: approve(part) })],
    ['restart', (part: any) => ({ restart: restart(part) })],
    ['the question itself', (part: any) => ({ approve: part })],
  ])('answer 2: the call did not happen, so run it (%s)', async (_name, decide) => {
    const { log, keys, ai, tools, messages, part } = await asked();
    const done = await ai.generate({ tools, messages, resume: travelled(decide(part)) });
    expect(outputs(done.messages)).toEqual([{ sent: 5 }]);
    expect(log).toEqual(['sent 5', 'sent 5']);
    expect(new Set(keys).size).toBe(1);
  });

  test.each([
    ['reject', (part: any) => ({ reject: reject(part, 'leave it') })],
    ['cancel', (part: any) => ({ cancel: cancel(part, 'leave it') })],
  ])('answer 3: leave the call and inform the model (%s)', async (_name, decide) => {
    const { log, ai, model, tools, messages, part } = await asked();
    await ai.generate({ tools, messages, resume: decide(part) });
    const [told] = outputs(nth(model.requests, 1).messages);
    expect(told).toMatch(/unknown whether it took effect/);
    expect(told).not.toMatch(/did not run/);
    expect(log).toEqual(['sent 5']);
  });

  test('the next card of the tool mentions a call whose outcome was left unknown', async () => {
    const again = calls({ name: 'transfer', ref: 't2', input: { amount: 5 } });
    const { ai, tools, messages, part } = await asked({ needsApproval: true }, [again]);
    const next = await ai.generate({ tools, messages, resume: { reject: reject(part, 'leave it') } });
    expect(only(next.interrupts).metadata?.interrupt).toMatchObject({ mayHaveActed: [{ ref: 't' }] });
  });

  test('a new user message settles the doubt: the model learns that the outcome is unknown', async () => {
    const { log, ai, model, tools, messages } = await stopped();
    await ai.generate({ tools, messages, prompt: 'never mind' });
    expect(outputs(nth(model.requests, 1).messages)[0]).toMatch(/unknown whether it took effect/);
    expect(log).toEqual(['sent 5']);
  });

  test('messages do not show whether a committing tool committed: a person is asked', async () => {
    const { log, part } = await asked({ commits: true });
    expect(part.metadata).toMatchObject({ interruptKind: 'doubt' });
    expect(log).toEqual(['sent 5']);
  });

  test('an idempotent tool runs again, with the same key', async () => {
    const { log, keys, ai, tools, messages } = await stopped({ idempotent: true });
    const done = await ai.generate({ tools, messages });
    expect(done.text).toBe('done');
    expect(log).toEqual(['sent 5', 'sent 5']);
    expect(new Set(keys).size).toBe(1);
  });

  test('an approved idempotent tool with a gate is not asked about again', async () => {
    const { ai, tools, messages } = await stopped({ idempotent: true, needsApproval: true });
    expect((await ai.generate({ tools, messages })).text).toBe('done');
  });

  test.each([{ sent: 5 }, ...FALSY])(
    'verify that finds the result %j: it is taken, and nothing runs',
    async (output) => {
      const asked: unknown[] = [];
      const { log, keys, ai, tools, messages } = await stopped({
        verify: (input, { idempotencyKey, context }) => {
          asked.push(input, idempotencyKey, context);
          return { output };
        },
      });
      const done = await ai.generate({ tools, messages, context: { uid: 'u' } });
      expect(outputs(done.messages)).toEqual([output]);
      expect(log).toEqual(['sent 5']);
      expect(asked).toEqual([{ amount: 5 }, keys[0], { uid: 'u' }]);
    },
  );

  test.each<[string, () => unknown]>([
    ['finds nothing', () => undefined],
    ['finds nothing, later', async () => undefined],
    ['gives null', () => null],
    ['wraps a missing result', () => ({ output: undefined })],
    [
      'throws',
      () => {
        throw new Error('ledger down');
      },
    ],
    ['rejects with what cannot be read', () => Promise.reject(Object.create(null))],
  ])('verify that %s proves nothing: a person is asked', async (_name, verify) => {
    const { log, part } = await asked({ verify: verify as never });
    expect(part.metadata?.interruptKind).toBe('doubt');
    expect(log).toEqual(['sent 5']);
  });

  test('the person sees the reply of verify', async () => {
    const silent = await asked({ verify: () => undefined });
    expect(JSON.stringify(silent.part.metadata?.interrupt)).toContain('no trace');
    const broken = await asked({ verify: () => Promise.reject(new Error('ledger down')) });
    expect(JSON.stringify(broken.part.metadata?.interrupt)).toContain('ledger down');
  });

  test('verify is not called for a call that has not started or that is done', async () => {
    let verified = 0;
    const act = tool(
      { name: 'act', description: 'Acts.', needsApproval: true, verify: () => ({ output: ++verified }) },
      () => 1,
    );
    const { ai } = scripted([calls({ name: 'act' }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [act] });
    await ai.generate({ tools: [act], messages: travelled(paused.messages), resume: { approve: paused.interrupts } });
    expect(verified).toBe(0);
  });

  test('a call in doubt whose tool is missing is asked about, not run and not reported as unknown', async () => {
    const { log, ai, messages } = await stopped();
    const waiting = await ai.generate({ tools: [], messages });
    expect(only(waiting.interrupts).metadata?.interruptKind).toBe('doubt');
    expect(log).toEqual(['sent 5']);
  });

  test('the approval that started the call does not answer the doubt about it', async () => {
    const log: string[] = [];
    const controller = new AbortController();
    const pay = tool({ name: 'pay', description: 'Pays.', needsApproval: true }, () => {
      log.push('paid');
      controller.abort();
      return new Promise<never>(() => undefined);
    });
    const { ai } = scripted([calls({ name: 'pay', ref: 'p' }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [pay] });
    const approval = approve(only(paused.interrupts));
    const aborted = await ai.generate({
      tools: [pay],
      messages: paused.messages,
      resume: { approve: approval },
      abortSignal: controller.signal,
    });
    const doubt = await ai.generate({ tools: [pay], messages: travelled(aborted.messages) });
    const error = await failureOf(
      ai.generate({ tools: [pay], messages: travelled(doubt.messages), resume: { approve: approval } }),
    );
    expect(error).toBeInstanceOf(ConflictError);
    await failureOf(
      ai.generate({ tools: [pay], messages: travelled(aborted.messages), resume: { approve: approval } }),
    );
    expect(log).toEqual(['paid']);
  });

  test('a body that runs again after the doubt receives the value it was restarted with', async () => {
    const seen: unknown[] = [];
    const controller = new AbortController();
    const confirm = tool({ name: 'confirm', description: 'Asks.' }, (_input, { interrupt, resumed }) => {
      seen.push(resumed);
      if (resumed === undefined) interrupt();
      if (controller.signal.aborted) return 'ok';
      controller.abort();
      return new Promise<never>(() => undefined);
    });
    const { ai } = scripted([calls({ name: 'confirm' }), 'done']);
    const tools = [confirm];
    const paused = await ai.generate({ prompt: 'go', tools });
    const aborted = await ai.generate({
      tools,
      messages: travelled(paused.messages),
      resume: { restart: restart(only(paused.interrupts), { status: 'APPROVED' }) },
      abortSignal: controller.signal,
    });
    const doubt = await ai.generate({ tools, messages: travelled(aborted.messages) });
    const done = await ai.generate({
      tools,
      messages: travelled(doubt.messages),
      resume: { approve: doubt.interrupts },
    });
    expect(done.text).toBe('done');
    expect(seen).toEqual([undefined, { status: 'APPROVED' }, { status: 'APPROVED' }]);
  });

  test('the question about an edited call in doubt shows the input that was started', async () => {
    const controller = new AbortController();
    const pay = tool({ name: 'pay', description: 'Pays.', inputSchema: AMOUNT, needsApproval: true }, () => {
      controller.abort();
      return new Promise<never>(() => undefined);
    });
    const { ai } = scripted([calls({ name: 'pay', input: { amount: 5 } }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [pay] });
    const aborted = await ai.generate({
      tools: [pay],
      messages: paused.messages,
      resume: { approve: pay.approve(only(paused.interrupts), { edit: { amount: 3 } }) },
      abortSignal: controller.signal,
    });
    const doubt = await ai.generate({ tools: [pay], messages: travelled(aborted.messages) });
    expect(only(doubt.interrupts).toolRequest.input).toEqual({ amount: 3 });
    expect(only(doubt.interrupts).metadata?.replacedInput).toEqual({ amount: 5 });
  });

  test('calls that finished before the stop are kept, and calls that had not started are not in doubt', async () => {
    const log: string[] = [];
    const controller = new AbortController();
    const quick = tool({ name: 'quick', description: 'Quick.' }, () => {
      log.push('quick');
      return 0;
    });
    const stuck = tool({ name: 'stuck', description: 'Hangs.' }, async () => {
      await null;
      await null;
      log.push('stuck');
      controller.abort();
      return new Promise<never>(() => undefined);
    });
    const gated = tool({ name: 'gated', description: 'Gated.', needsApproval: true }, () => {
      log.push('gated');
    });
    const tools = [quick, stuck, gated];
    const { ai } = scripted([calls({ name: 'quick' }, { name: 'stuck' }, { name: 'gated' }), 'done']);
    const aborted = await ai.generate({ prompt: 'go', tools, abortSignal: controller.signal });
    const asked = await ai.generate({ tools, messages: travelled(aborted.messages) });
    expect(asked.interrupts.map((part) => part.metadata?.interruptKind)).toEqual(['doubt', 'approval']);
    const done = await ai.generate({
      tools,
      messages: travelled(asked.messages),
      resume: { respond: respond(nth(asked.interrupts, 0), 1), reject: reject(nth(asked.interrupts, 1)) },
    });
    expect(outputs(done.messages)).toEqual([0, 1, expect.stringContaining('rejected')]);
    expect(log).toEqual(['quick', 'stuck']);
  });

  test('a history saved by a process that died in the middle gives the same questions', async () => {
    const log: string[] = [];
    const act = tool({ name: 'act', description: 'Acts.' }, () => {
      log.push('acted');
    });
    const { ai } = scripted(['done']);
    const messages: Message[] = [
      { role: 'user', content: [{ text: 'go' }] },
      {
        role: 'model',
        content: [{ toolRequest: { name: 'act', ref: 'a', input: {} }, metadata: { callId: 'call_1', started: true } }],
      },
    ];
    const waiting = await ai.generate({ tools: [act], messages });
    expect(waiting.interrupts).toHaveLength(1);
    expect(log).toEqual([]);
  });

  test('the history records how a doubt was settled', async () => {
    const { ai, tools, messages, part } = await asked();
    const done = await ai.generate({ tools, messages, resume: { respond: respond(part, 1, { by: 'ann' }) } });
    expect(only(requests(done.messages)).metadata).toMatchObject({
      resolvedInterrupt: { message: expect.any(String) },
      decision: { type: 'respond', by: 'ann' },
    });
    expect(only(results(done.messages)).metadata).toHaveProperty('interruptResponse');
  });
});
