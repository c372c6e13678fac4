// Rules 1 and 2: every call is separate, and results reach the model in the order of its calls.
import { approve, countersign, interrupt, respond, restart, tool, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { calls, latch, nth, outputs, payTool, requests, results, scripted, travelled } from './support.ts';

const ask = interrupt({ name: 'ask', description: 'Asks.', outputSchema: z.string() });

describe('rule 1: ids', () => {
  test('two calls without an id are two calls, each with its own answer', async () => {
    const { ai } = scripted([calls({ name: 'ask', input: { q: 1 } }, { name: 'ask', input: { q: 2 } }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [ask] });
    const [first, second] = [nth(paused.interrupts, 0), nth(paused.interrupts, 1)];
    expect(first.toolRequest.ref).not.toBe(second.toolRequest.ref);
    const done = await ai.generate({
      tools: [ask],
      messages: travelled(paused.messages),
      resume: { respond: [respond(second, 'two'), respond(first, 'one')] },
    });
    expect(outputs(done.messages)).toEqual(['one', 'two']);
  });

  test('two calls with the same id each run once, each with its own input', async () => {
    const log: string[] = [];
    const pay = payTool(log);
    const { ai } = scripted([
      calls({ name: 'pay', ref: 'r', input: { amount: 500 } }, { name: 'pay', ref: 'r', input: { amount: 900 } }),
      'done',
    ]);
    const paused = await ai.generate({ prompt: 'go', tools: [pay] });
    const done = await ai.generate({
      tools: [pay],
      messages: travelled(paused.messages),
      resume: { approve: travelled(paused.interrupts).map((part) => approve(part)) },
    });
    expect(log.toSorted()).toEqual(['paid 500', 'paid 900']);
    expect(outputs(done.messages)).toEqual([{ paid: 500 }, { paid: 900 }]);
  });

  test('an id that an earlier turn used is not used again', async () => {
    const { ai } = scripted([
      calls({ name: 'ask', ref: 'same', input: {} }),
      calls({ name: 'ask', ref: 'same', input: {} }),
      'done',
    ]);
    const first = await ai.generate({ prompt: 'go', tools: [ask] });
    const firstAnswer = respond(nth(first.interrupts, 0), 'one');
    const second = await ai.generate({
      tools: [ask],
      messages: travelled(first.messages),
      resume: { respond: firstAnswer },
    });
    expect(nth(second.interrupts, 0).toolRequest.ref).not.toBe('same');
    // A second delivery of the first answer does not answer the second question.
    await expect(
      ai.generate({ tools: [ask], messages: travelled(second.messages), resume: { respond: firstAnswer } }),
    ).rejects.toMatchObject({ code: 'already-decided' });
  });

  test.each(['', 7, null, {}, '__proto__'])('an id that is %j does no harm', async (ref) => {
    const { ai } = scripted([calls({ name: 'ask', ref: ref as string, input: {} }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [ask] });
    const [part] = paused.interrupts;
    expect(part?.toolRequest.ref).toEqual(expect.stringMatching(/.+/));
    const done = await ai.generate({
      tools: [ask],
      messages: travelled(paused.messages),
      resume: { respond: respond(nth(paused.interrupts, 0), 'x') },
    });
    expect(done.finishReason).toBe('stop');
  });

  test('a generated id that a model gave to another call is not used', async () => {
    let made = 0;
    const newId = () => `call_${made++}`;
    const model = scriptedModel([calls({ name: 'ask', ref: 'call_1' }, { name: 'ask' }, { name: 'ask' }), 'done']);
    const ai = countersign({ model, newId, retry: false });
    const paused = await ai.generate({ prompt: 'go', tools: [ask] });
    expect(new Set(paused.interrupts.map(({ toolRequest }) => toolRequest.ref)).size).toBe(3);
    const answers = paused.interrupts.map((part, index) => respond(part, `answer ${index}`));
    const done = await ai.generate({ tools: [ask], messages: paused.messages, resume: { respond: answers } });
    expect(outputs(done.messages)).toEqual(['answer 0', 'answer 1', 'answer 2']);
  });

  test.each([undefined, null, Number.NaN, {}, Promise.resolve('id'), ''])(
    'an id that is none is refused: %j',
    async (id) => {
      const model = scriptedModel([calls({ name: 'ask' }), calls({ name: 'ask' })]);
      const ai = countersign({ model, newId: () => id as string, retry: false });
      const asking = ai.generate({ prompt: 'go', tools: [ask] });
      await expect(asking).rejects.toMatchObject({
        code: 'invalid-options',
        message: expect.stringContaining('newId'),
      });
    },
  );

  test("the provider's id is kept if possible, and stored beside ours if not", async () => {
    const { ai } = scripted([calls({ name: 'ask', ref: 'a', input: {} }, { name: 'ask', ref: 'a', input: {} })]);
    const paused = await ai.generate({ prompt: 'go', tools: [ask] });
    expect(nth(paused.interrupts, 0).toolRequest.ref).toBe('a');
    expect(nth(paused.interrupts, 1).metadata?.providerRef).toBe('a');
  });

  test('a saved history without ids can continue, and each call runs once', async () => {
    const log: string[] = [];
    const pay = payTool(log, { needsApproval: false });
    const { ai } = scripted(['done']);
    const done = await ai.generate({
      tools: [pay],
      messages: travelled([
        { role: 'user', content: [{ text: 'go' }] },
        {
          role: 'model',
          content: [
            { toolRequest: { name: 'pay', input: { amount: 1 } } },
            { toolRequest: { name: 'pay', input: { amount: 2 } } },
          ],
        },
      ]) as never,
    });
    expect(log).toEqual(['paid 1', 'paid 2']);
    expect(new Set(requests(done.messages).map((part) => part.toolRequest.ref)).size).toBe(2);
    expect(results(done.messages).map((part) => part.toolResponse.ref)).toEqual(
      requests(done.messages).map((part) => part.toolRequest.ref),
    );
  });

  test('the idempotency key stays the same across pauses and restarts', async () => {
    const keys: string[] = [];
    const confirm = tool({ name: 'confirm', description: 'Confirms.' }, (_input, { idempotencyKey, interrupt }) => {
      keys.push(idempotencyKey);
      if (keys.length < 3) interrupt();
      return 'ok';
    });
    const { ai } = scripted([calls({ name: 'confirm', ref: 'c' }), 'done']);
    let response = await ai.generate({ prompt: 'go', tools: [confirm] });
    while (response.interrupts.length > 0)
      response = await ai.generate({
        tools: [confirm],
        messages: travelled(response.messages),
        resume: { restart: response.interrupts.map((part) => restart(travelled(part))) },
      });
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);
  });

  test('the idempotency key differs between two runs whose calls have equal ids', async () => {
    const keys: string[] = [];
    const act = tool({ name: 'act', description: 'Acts.', needsApproval: true }, (_input, { idempotencyKey }) => {
      keys.push(idempotencyKey);
    });
    for (let run = 0; run < 2; run++) {
      const { ai } = scripted([calls({ name: 'act', ref: 'call_0' }), 'done']);
      const paused = await ai.generate({ prompt: 'go', tools: [act] });
      await ai.generate({
        tools: [act],
        messages: travelled(paused.messages),
        resume: { approve: travelled(paused.interrupts) },
      });
    }
    expect(keys).toHaveLength(2);
    expect(keys[0]).not.toBe(keys[1]);
  });

  test('the idempotency key differs between two calls of one reply with the same id', async () => {
    const keys: string[] = [];
    const act = tool({ name: 'act', description: 'Acts.' }, (_input, { idempotencyKey }) => {
      keys.push(idempotencyKey);
    });
    const { ai } = scripted([calls({ name: 'act', ref: 'x' }, { name: 'act', ref: 'x' }), 'done']);
    await ai.generate({ prompt: 'go', tools: [act] });
    expect(new Set(keys).size).toBe(2);
  });

  test('an approval in one run does not match a call in another run with the same id', async () => {
    const log: string[] = [];
    const pay = payTool(log);
    const turn = calls({ name: 'pay', ref: 'call_0', input: { amount: 5 } });
    const { ai } = scripted([turn, turn, 'done']);
    const mine = await ai.generate({ prompt: 'mine', tools: [pay] });
    const other = await ai.generate({ prompt: 'other', tools: [pay] });
    await expect(
      ai.generate({
        tools: [pay],
        messages: travelled(other.messages),
        resume: { approve: approve(nth(mine.interrupts, 0)) },
      }),
    ).rejects.toThrow('nothing ran');
    expect(log).toEqual([]);
  });
});

describe('rule 2: order', () => {
  test('results follow the order of the calls, not the order of completion', async () => {
    const doors = [latch(), latch(), latch()];
    const finished: number[] = [];
    const slow = tool(
      { name: 'slow', description: 'Slow.', inputSchema: z.object({ n: z.number() }) },
      async ({ n }) => {
        await nth(doors, n).opened;
        finished.push(n);
        if (n > 0) nth(doors, n - 1).open();
        return n;
      },
    );
    const { ai, model } = scripted([
      calls(...[0, 1, 2].map((n) => ({ name: 'slow', ref: `s${n}`, input: { n } }))),
      'done',
    ]);
    const running = ai.generate({ prompt: 'go', tools: [slow] });
    nth(doors, 2).open();
    const done = await running;
    expect(finished).toEqual([2, 1, 0]);
    expect(outputs(done.messages)).toEqual([0, 1, 2]);
    expect(outputs(nth(model.requests, 1).messages)).toEqual([0, 1, 2]);
  });

  test('calls of one turn run at the same time', async () => {
    const met = latch();
    const first = tool({ name: 'first', description: 'Waits for the second.' }, async () => {
      await met.opened;
      return 1;
    });
    const second = tool({ name: 'second', description: 'Lets the first go on.' }, () => {
      met.open();
      return 2;
    });
    const { ai } = scripted([calls({ name: 'first' }, { name: 'second' }), 'done']);
    const done = await ai.generate({ prompt: 'go', tools: [first, second] });
    expect(outputs(done.messages)).toEqual([1, 2]);
  });

  test('a finished, a failed, a rejected, a restarted and an answered call keep their positions after a pause', async () => {
    const log: string[] = [];
    const pay = payTool(log);
    const fine = tool({ name: 'fine', description: 'Fine.' }, () => 'fine');
    const bad = tool({ name: 'bad', description: 'Bad.' }, () => {
      throw new Error('broken');
    });
    const confirm = tool({ name: 'confirm', description: 'Asks.' }, (_input, { interrupt, resumed }) =>
      resumed === undefined ? interrupt() : 'confirmed',
    );
    const { ai } = scripted([
      calls(
        { name: 'confirm', ref: '1' },
        { name: 'ask', ref: '2' },
        { name: 'bad', ref: '3' },
        { name: 'pay', ref: '4', input: { amount: 4 } },
        { name: 'fine', ref: '5' },
        { name: 'nothing', ref: '6' },
      ),
      'done',
    ]);
    const tools = [pay, fine, bad, confirm, ask];
    const paused = await ai.generate({ prompt: 'go', tools });
    const [c, a, p] = [nth(paused.interrupts, 0), nth(paused.interrupts, 1), nth(paused.interrupts, 2)];
    const done = await ai.generate({
      tools,
      messages: travelled(paused.messages),
      resume: { reject: pay.reject(p, 'no'), respond: ask.respond(a, 'yes'), restart: confirm.restart(c) },
    });
    expect(results(done.messages).map((part) => part.toolResponse.ref)).toEqual(['1', '2', '3', '4', '5', '6']);
    expect(outputs(done.messages)).toEqual([
      'confirmed',
      'yes',
      expect.stringContaining('broken'),
      expect.stringContaining('no'),
      'fine',
      expect.stringContaining('nothing'),
    ]);
  });

  test('decisions made in reverse order give results in the order of the calls', async () => {
    const { ai } = scripted([calls(...['a', 'b', 'c'].map((ref) => ({ name: 'ask', ref }))), 'done']);
    let response = await ai.generate({ prompt: 'go', tools: [ask] });
    for (const ref of ['c', 'b', 'a']) {
      const part = response.interrupts.find((pending) => pending.toolRequest.ref === ref);
      if (!part) throw new Error(`${ref} is not pending.`);
      response = await ai.generate({
        tools: [ask],
        messages: travelled(response.messages),
        resume: { respond: respond(part, ref) },
      });
    }
    expect(outputs(response.messages)).toEqual(['a', 'b', 'c']);
  });
});
