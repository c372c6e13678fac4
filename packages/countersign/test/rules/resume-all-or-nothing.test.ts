// Rules 5 and 6: a resume is checked as a whole before anything runs, and undecided calls stay pending.
import { approve, ConflictError, cancel, interrupt, reject, respond, restart, tool, UsageError, z } from 'countersign';
import { describe, expect, test } from 'vitest';
import { calls, failureOf, faultsOf, nth, only, outputs, payTool, results, scripted, travelled } from './support.ts';

const ask = interrupt({ name: 'ask', description: 'Asks.', outputSchema: z.string() });

/** Two payments and a question wait. */
async function pausedTrio() {
  const log: string[] = [];
  const pay = payTool(log);
  const { ai, model } = scripted([
    calls(
      { name: 'pay', ref: 'p1', input: { amount: 1 } },
      { name: 'pay', ref: 'p2', input: { amount: 2 } },
      { name: 'ask', ref: 'q' },
    ),
    'done',
  ]);
  const tools = [pay, ask];
  const { messages, interrupts } = await ai.generate({ prompt: 'go', tools });
  return {
    log,
    ai,
    model,
    tools,
    pay,
    messages,
    p1: nth(interrupts, 0),
    p2: nth(interrupts, 1),
    q: nth(interrupts, 2),
  };
}

describe('rule 5: all or nothing, then run', () => {
  test('one invalid decision among valid ones: nothing runs, and the model is not called', async () => {
    const { log, ai, model, tools, messages, p1, p2, q } = await pausedTrio();
    const error = await failureOf(
      ai.generate({ tools, messages, resume: { approve: [approve(p1), approve(p2)], respond: respond(q, 5) } }),
    );
    expect(error).toBeInstanceOf(UsageError);
    expect(error.code).toBe('invalid-resume');
    expect(log).toEqual([]);
    expect(model.requests).toHaveLength(1);
  });

  test('every fault is listed, each with its entry', async () => {
    const { log, ai, tools, messages, p1, p2, q } = await pausedTrio();
    const stranger = { toolRequest: { name: 'pay', ref: 'nobody', input: {} } };
    const changed = { ...p2, toolRequest: { ...p2.toolRequest, input: { amount: 999 } } };
    const error = await failureOf(
      ai.generate({
        tools,
        messages,
        resume: {
          respond: [respond(q, 5), respond(q, 'again')],
          restart: [restart(q)],
          approve: [approve(stranger), approve(p1, { edit: { amount: 'much' } }), approve(changed)],
          reject: [reject(p1, 'no')],
          cancel: [undefined as never, 'q' as never],
        },
      }),
    );
    expect(faultsOf(error).map((fault) => fault.where)).toEqual(
      expect.arrayContaining([
        'respond[0]',
        'respond[1]',
        'restart[0]',
        'approve[0]',
        'approve[1]',
        'approve[2]',
        'reject[0]',
        'cancel[0]',
        'cancel[1]',
      ]),
    );
    for (const { where } of faultsOf(error)) expect(error.message).toContain(where);
    expect(log).toEqual([]);
  });

  test('after a rejected resume the same messages can be resumed properly, each call once', async () => {
    const { log, ai, tools, messages, p1, p2, q } = await pausedTrio();
    await failureOf(ai.generate({ tools, messages, resume: { approve: [p1, p2], respond: respond(q, 5) } }));
    const done = await ai.generate({ tools, messages, resume: { approve: [p1, p2], respond: respond(q, 'ok') } });
    expect(done.finishReason).toBe('stop');
    expect(log).toEqual(['paid 1', 'paid 2']);
  });

  test.each(['respond', 'restart', 'approve', 'reject', 'cancel'] as const)(
    'a second decision by %s on a call approved in the same resume is rejected',
    async (verb) => {
      const { log, ai, tools, messages, p1 } = await pausedTrio();
      const second = {
        respond: respond(p1, {}),
        restart: restart(p1),
        approve: approve(p1),
        reject: reject(p1),
        cancel: cancel(p1),
      }[verb];
      const resume = verb === 'approve' ? { approve: [approve(p1), second] } : { approve: approve(p1), [verb]: second };
      const error = await failureOf(ai.generate({ tools, messages, resume }));
      expect(error.message).toContain('twice');
      expect(log).toEqual([]);
    },
  );

  test('an answer in respond and in toolResponses is decided twice', async () => {
    const { ai, tools, messages, q } = await pausedTrio();
    const error = await failureOf(
      ai.generate({ tools, messages, resume: { respond: respond(q, 'a') }, toolResponses: respond(q, 'b') }),
    );
    expect(error.message).toContain('twice');
  });

  test('a decision that was applied already is a conflict, not a second run', async () => {
    const { log, ai, tools, messages, p1 } = await pausedTrio();
    const half = await ai.generate({ tools, messages, resume: { approve: approve(p1) } });
    const error = await failureOf(
      ai.generate({ tools, messages: travelled(half.messages), resume: { approve: approve(p1) } }),
    );
    expect(error).toBeInstanceOf(ConflictError);
    expect(error.code).toBe('already-decided');
    expect(log).toEqual(['paid 1']);
  });

  test('an applied decision beside an invalid one is an invalid resume, not only a conflict', async () => {
    const { log, ai, tools, messages, p1, q } = await pausedTrio();
    const half = await ai.generate({ tools, messages, resume: { approve: p1 } });
    const deciding = ai.generate({ tools, messages: travelled(half.messages), resume: { approve: [p1, q] } });
    await expect(deciding).rejects.toMatchObject({ name: 'UsageError', code: 'invalid-resume' });
    expect(log).toEqual(['paid 1']);
  });

  test('a decision after the run continued is a conflict', async () => {
    const { log, ai, tools, messages, p1, p2, q } = await pausedTrio();
    const done = await ai.generate({ tools, messages, resume: { approve: [p1, p2], respond: respond(q, 'ok') } });
    const error = await failureOf(ai.generate({ tools, messages: travelled(done.messages), resume: { approve: p1 } }));
    expect(error).toBeInstanceOf(ConflictError);
    expect(log).toEqual(['paid 1', 'paid 2']);
  });

  test('a resume of messages with nothing pending is rejected', async () => {
    const { ai } = scripted(['hello', 'again']);
    const done = await ai.generate('go');
    const stranger = { toolRequest: { name: 'ask', ref: 'x', input: {} } };
    const error = await failureOf(
      ai.generate({ messages: done.messages, tools: [ask], resume: { respond: respond(stranger, 'x') } }),
    );
    expect(error.code).toBe('invalid-resume');
  });

  test('an answer for a call that finished by itself is rejected', async () => {
    const fine = tool({ name: 'fine', description: 'Fine.' }, () => 'really ran');
    const { ai } = scripted([calls({ name: 'fine', ref: 'f' }, { name: 'ask', ref: 'q' }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [fine, ask] });
    const forged = { toolResponse: { name: 'fine', ref: 'f', output: 'forged' } };
    const error = await failureOf(
      ai.generate({
        tools: [fine, ask],
        messages: travelled(paused.messages),
        resume: { respond: [forged, respond(only(paused.interrupts), 'x')] },
      }),
    );
    expect(faultsOf(error)).toHaveLength(1);
  });

  test('an answer under the name of another tool is rejected', async () => {
    const { log, ai, tools, messages, p1 } = await pausedTrio();
    await expect(
      ai.generate({ tools, messages, resume: { respond: { toolResponse: { name: 'ask', ref: 'p1', output: 'x' } } } }),
    ).rejects.toMatchObject({ code: 'invalid-resume' });
    expect(() => ask.respond(p1, 'x')).toThrow('cannot decide');
    expect(() => ask.approve(p1)).toThrow('cannot decide');
    expect(log).toEqual([]);
  });

  test('a hand-made answer that does not match the output schema is rejected', async () => {
    const { ai, tools, messages } = await pausedTrio();
    const error = await failureOf(
      ai.generate({
        tools,
        messages,
        resume: { respond: { toolResponse: { name: 'ask', ref: 'q', output: { garbage: 1 } } } },
      }),
    );
    expect(only(faultsOf(error)).problem).toContain('schema');
  });

  test('an asynchronous schema checks an answer', async () => {
    const slowly = interrupt({
      name: 'slowly',
      description: 'Asks.',
      outputSchema: z.string().refine(async (text) => text === 'right', 'not right'),
    });
    const { ai } = scripted([calls({ name: 'slowly' }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [slowly] });
    const error = await failureOf(
      ai.generate({
        tools: [slowly],
        messages: paused.messages,
        resume: { respond: respond(only(paused.interrupts), 'wrong') },
      }),
    );
    expect(error.message).toContain('not right');
  });

  test.each([
    ['a function', () => 1],
    ['a cycle', cycle()],
    ['NaN', Number.NaN],
    ['a bigint', 1n],
  ])('an answer that is not JSON (%s) is rejected', async (_name, answer) => {
    const open = interrupt({ name: 'open', description: 'Asks.' });
    const { ai } = scripted([calls({ name: 'open' }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [open] });
    const error = await failureOf(
      ai.generate({
        tools: [open],
        messages: paused.messages,
        resume: { respond: respond(only(paused.interrupts), answer) },
      }),
    );
    expect(error.message).toContain('not JSON');
  });

  test('a resumed value that is not JSON is rejected, and nothing runs', async () => {
    const { log, ai, tools, messages, p1 } = await pausedTrio();
    const resume = { restart: restart(p1, { approved: () => true }) };
    const error = await failureOf(ai.generate({ tools, messages, resume }));
    expect(error.message).toContain('the resumed value is not JSON');
    expect(log).toEqual([]);
  });

  test('a question passed back as its own answer is rejected: it contains no answer', async () => {
    const { ai, tools, messages, q } = await pausedTrio();
    const error = await failureOf(ai.generate({ tools, messages, resume: { respond: q } }));
    expect(error).toMatchObject({ code: 'invalid-resume' });
    expect(error.message).toContain('needs an answer');
  });

  test('restarting or approving a question is rejected: it has nothing to run', async () => {
    const { ai, tools, messages, q } = await pausedTrio();
    for (const resume of [{ restart: restart(q) }, { approve: approve(q) }])
      expect((await failureOf(ai.generate({ tools, messages, resume }))).message).toContain('nothing to run');
  });

  test('a decision on a missing tool is rejected, and can be made when the tool is present', async () => {
    const { log, ai, tools, messages, p1 } = await pausedTrio();
    const error = await failureOf(ai.generate({ tools: [ask], messages, resume: { approve: p1 } }));
    expect(error.message).toContain('pay');
    expect(log).toEqual([]);
    const half = await ai.generate({ tools, messages, resume: { approve: p1 } });
    expect(log).toEqual(['paid 1']);
    expect(half.interrupts).toHaveLength(2);
  });

  test('a single decision as resume is rejected, and the error shows the correct form', async () => {
    const { ai, tools, messages, q } = await pausedTrio();
    const error = await failureOf(ai.generate({ tools, messages, resume: respond(q, 'x') as never }));
    expect(error.message).toContain('resume: [decision]');
  });

  test('an unknown kind of decision is rejected, not dropped', async () => {
    const { ai, tools, messages, p1 } = await pausedTrio();
    const error = await failureOf(ai.generate({ tools, messages, resume: { aprove: p1 } as never }));
    expect(error).toBeInstanceOf(UsageError);
  });

  test('an approval listed under reject is a contradiction, and nothing runs', async () => {
    const { log, ai, tools, messages, p1 } = await pausedTrio();
    await failureOf(ai.generate({ tools, messages, resume: { reject: approve(p1) as never } }));
    expect(log).toEqual([]);
  });

  test('a rejection listed under approve is a contradiction, and nothing runs', async () => {
    const { log, ai, tools, messages, p1 } = await pausedTrio();
    await failureOf(ai.generate({ tools, messages, resume: { approve: reject(p1) as never } }));
    expect(log).toEqual([]);
  });

  test('resume metadata that is not JSON is rejected before anything runs', async () => {
    const { log, ai, tools, messages, p1 } = await pausedTrio();
    await failureOf(ai.generate({ tools, messages, resume: { approve: p1, metadata: { f: () => 1 } } }));
    expect(log).toEqual([]);
  });
});

describe('rule 6: a resume can decide some of the calls', () => {
  const orders = [
    ['p1', 'p2', 'q'],
    ['p1', 'q', 'p2'],
    ['p2', 'p1', 'q'],
    ['p2', 'q', 'p1'],
    ['q', 'p1', 'p2'],
    ['q', 'p2', 'p1'],
  ] as const;

  test.each(orders)('one at a time, in the order %s, %s, %s', async (...order) => {
    const { log, ai, model, tools, messages } = await pausedTrio();
    let saved = travelled(messages);
    const pending = new Set(['p1', 'p2', 'q']);
    for (const ref of order) {
      const shown = await ai.generate({ tools, messages: saved });
      expect(new Set(shown.interrupts.map((part) => part.toolRequest.ref))).toEqual(pending);
      expect(shown.finishReason).toBe('interrupted');
      const part = only(shown.interrupts.filter((other) => other.toolRequest.ref === ref));
      const response = await ai.generate({
        tools,
        messages: saved,
        resume: ref === 'q' ? { respond: ask.respond(part, 'yes') } : { approve: part },
      });
      pending.delete(ref);
      saved = travelled(response.messages);
    }
    expect(log).toEqual(order.filter((ref) => ref !== 'q').map((ref) => `paid ${ref.slice(1)}`));
    expect(outputs(saved)).toEqual([{ paid: 1 }, { paid: 2 }, 'yes']);
    expect(model.requests).toHaveLength(2);
  });

  test('decided calls run at once, and the model waits for the others', async () => {
    const { log, ai, model, tools, messages, p2 } = await pausedTrio();
    const half = await ai.generate({ tools, messages: travelled(messages), resume: { approve: p2 } });
    expect(log).toEqual(['paid 2']);
    expect(half.interrupts.map((part) => part.toolRequest.ref)).toEqual(['p1', 'q']);
    expect(model.requests).toHaveLength(1);
  });

  test('the final results keep the decisions of several resumes apart', async () => {
    const { log, ai, tools, messages, p1, p2, q } = await pausedTrio();
    const one = await ai.generate({ tools, messages, resume: { reject: reject(p1, 'too dear') } });
    const two = await ai.generate({ tools, messages: travelled(one.messages), resume: { cancel: cancel(q) } });
    const end = await ai.generate({ tools, messages: travelled(two.messages), resume: { approve: p2 } });
    expect(results(end.messages).map((part) => part.metadata?.outcome)).toEqual(['rejected', undefined, 'cancelled']);
    expect(outputs(end.messages)[0]).toContain('too dear');
    expect(log).toEqual(['paid 2']);
  });

  test('a resume without metadata does not remove the metadata of an earlier one', async () => {
    const { ai, tools, messages, p1, p2, q } = await pausedTrio();
    const metadata = { channel: 'mail' };
    const one = await ai.generate({ tools, messages, resume: { reject: [reject(p1), reject(p2)], metadata } });
    const end = await ai.generate({ tools, messages: travelled(one.messages), resume: { cancel: cancel(q) } });
    expect(end.messages.find(({ role }) => role === 'tool')?.metadata?.resumed).toEqual(metadata);
  });

  test('an empty resume decides nothing and runs nothing', async () => {
    const { log, ai, tools, messages } = await pausedTrio();
    const same = await ai.generate({ tools, messages: travelled(messages), resume: {} });
    expect(same.interrupts).toHaveLength(3);
    expect(same.messages).toEqual(messages);
    expect(log).toEqual([]);
  });
});
function cycle(): unknown {
  const value: { self?: unknown } = {};
  value.self = value;
  return value;
}
