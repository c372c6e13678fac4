// Rule 3: 0, '', false and null are ordinary values wherever a value is allowed.
import { approve, interrupt, type Json, respond, restart, tool, toolResponse, z } from 'countersign';
import { describe, expect, test } from 'vitest';
import { calls, FALSY, nth, only, outputs, requests, results, scripted, travelled } from './support.ts';

const ask = interrupt({ name: 'ask', description: 'Asks.' });

describe.each(FALSY)('rule 3: presence, not truth: %j', (value) => {
  test('as the output of a tool reaches the model', async () => {
    const give = tool({ name: 'give', description: 'Gives.' }, () => value as never);
    const { ai, model } = scripted([calls({ name: 'give' }), 'done']);
    await ai.generate({ prompt: 'go', tools: [give] });
    expect(outputs(nth(model.requests, 1).messages)).toEqual([value]);
  });

  test('as the output of a sibling survives a pause, and the sibling does not run again', async () => {
    let runs = 0;
    const give = tool({ name: 'give', description: 'Gives.' }, () => {
      runs += 1;
      return value as never;
    });
    const { ai } = scripted([calls({ name: 'give' }, { name: 'ask' }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [give, ask] });
    expect(nth(requests(paused.messages), 0).metadata).toHaveProperty('pendingOutput', value);
    const done = await ai.generate({
      tools: [give, ask],
      messages: travelled(paused.messages),
      resume: { respond: respond(only(paused.interrupts), 'yes') },
    });
    expect(outputs(done.messages)).toEqual([value, 'yes']);
    expect(nth(results(done.messages), 0).metadata?.source).toBe('pending');
    expect(runs).toBe(1);
  });

  test('as an answer is the result of the call', async () => {
    const { ai } = scripted([calls({ name: 'ask' }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [ask] });
    const done = await ai.generate({
      tools: [ask],
      messages: travelled(paused.messages),
      resume: travelled({ respond: ask.respond(only(paused.interrupts), value) }),
    });
    expect(outputs(done.messages)).toEqual([value]);
  });

  test('as an answer through toolResponses is the result of the call', async () => {
    const { ai } = scripted([calls({ name: 'ask' }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [ask] });
    const done = await ai.generate({
      tools: [ask],
      messages: travelled(paused.messages),
      toolResponses: [toolResponse(only(paused.interrupts), value)],
    });
    expect(outputs(done.messages)).toEqual([value]);
  });

  test('as an answer given while another question stays pending is kept', async () => {
    const { ai } = scripted([calls({ name: 'ask', ref: 'a' }, { name: 'ask', ref: 'b' }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [ask] });
    const half = await ai.generate({
      tools: [ask],
      messages: travelled(paused.messages),
      resume: { respond: respond(nth(paused.interrupts, 0), value) },
    });
    expect(only(half.interrupts).toolRequest.ref).toBe('b');
    const done = await ai.generate({
      tools: [ask],
      messages: travelled(half.messages),
      resume: { respond: respond(only(half.interrupts), value) },
    });
    expect(outputs(done.messages)).toEqual([value, value]);
  });

  test('as the resumed value reaches the body', async () => {
    const seen: unknown[] = [];
    const confirm = tool({ name: 'confirm', description: 'Asks.' }, (_input, { interrupt, resumed }) => {
      seen.push(resumed);
      if (resumed === undefined) interrupt();
      return resumed;
    });
    const { ai } = scripted([calls({ name: 'confirm' }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [confirm] });
    const done = await ai.generate({
      tools: [confirm],
      messages: travelled(paused.messages),
      resume: travelled({ restart: confirm.restart(only(paused.interrupts), value) }),
    });
    expect(seen).toEqual([undefined, value]);
    expect(outputs(done.messages)).toEqual([value]);
  });

  test('as the resumed value is kept when the run is aborted before the body runs', async () => {
    const seen: unknown[] = [];
    const confirm = tool({ name: 'confirm', description: 'Asks.' }, (_input, { interrupt, resumed }) => {
      seen.push(resumed);
      if (resumed === undefined) interrupt();
      return 'ok';
    });
    const { ai } = scripted([calls({ name: 'confirm' }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [confirm] });
    const aborted = await ai.generate({
      tools: [confirm],
      messages: paused.messages,
      resume: { restart: restart(only(paused.interrupts), value) },
      abortSignal: AbortSignal.abort(),
    });
    await ai.generate({ tools: [confirm], messages: travelled(aborted.messages) });
    expect(seen).toEqual([undefined, value]);
  });

  test('as the payload of interrupt() is shown, and still pauses', async () => {
    const confirm = tool({ name: 'confirm', description: 'Asks.' }, (_input, { interrupt }) => interrupt(value));
    const { ai } = scripted([calls({ name: 'confirm' }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [confirm] });
    expect(paused.finishReason).toBe('interrupted');
    expect(only(travelled(paused.interrupts)).metadata).toHaveProperty('interrupt', value);
  });

  test('as the payload of interrupt() stays in the history while a sibling waits', async () => {
    const confirm = tool({ name: 'confirm', description: 'Asks.' }, (_input, { interrupt, resumed }) =>
      resumed === undefined ? interrupt(value) : 'ok',
    );
    const { ai } = scripted([calls({ name: 'confirm' }, { name: 'ask' }), 'done']);
    const tools = [confirm, ask];
    const paused = await ai.generate({ prompt: 'go', tools });
    const half = await ai.generate({
      tools,
      messages: travelled(paused.messages),
      resume: { restart: restart(nth(paused.interrupts, 0)) },
    });
    const done = await ai.generate({
      tools,
      messages: travelled(half.messages),
      resume: { respond: respond(only(half.interrupts), 'yes') },
    });
    expect(nth(requests(done.messages), 0).metadata).toHaveProperty('resolvedInterrupt', value);
  });

  test('as an edited input runs', async () => {
    const seen: unknown[] = [];
    const take = tool(
      {
        name: 'take',
        description: 'Takes.',
        inputSchema: { type: ['number', 'string', 'boolean', 'null'] },
        needsApproval: true,
      },
      (input) => {
        seen.push(input);
      },
    );
    const { ai } = scripted([calls({ name: 'take', input: 7 }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [take] });
    const done = await ai.generate({
      tools: [take],
      messages: travelled(paused.messages),
      resume: travelled({ approve: take.approve(only(paused.interrupts), { edit: value }) }),
    });
    expect(seen).toEqual([value]);
    const request = only(requests(done.messages));
    expect(request.toolRequest.input).toBe(value);
    expect(request.metadata).toHaveProperty('replacedInput', 7);
  });

  test('as a replaced input is checked against the schema', async () => {
    const log: string[] = [];
    const act = tool(
      { name: 'act', description: 'Acts.', inputSchema: z.object({ n: z.number() }), needsApproval: true },
      () => {
        log.push('acted');
      },
    );
    const { ai } = scripted([calls({ name: 'act', input: { n: 1 } }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [act] });
    const part = only(paused.interrupts);
    expect(() => act.restart(part, true, { replaceInput: value as never })).toThrow('does not fit');
    await expect(
      ai.generate({
        tools: [act],
        messages: paused.messages,
        resume: { restart: restart(part, true, { replaceInput: value as never }) },
      }),
    ).rejects.toMatchObject({ code: 'invalid-resume' });
    expect(log).toEqual([]);
  });

  test('as the input that a model proposed stays in the history through two edits', async () => {
    const take = tool({ name: 'take', description: 'Takes.', needsApproval: true }, (_input, { interrupt, resumed }) =>
      resumed === undefined ? interrupt() : 'ok',
    );
    const { ai } = scripted([calls({ name: 'take', input: value }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [take] });
    const again = await ai.generate({
      tools: [take],
      messages: travelled(paused.messages),
      resume: { approve: approve(only(paused.interrupts), { edit: 'first edit' as Json }) },
    });
    const done = await ai.generate({
      tools: [take],
      messages: travelled(again.messages),
      resume: { restart: restart(only(again.interrupts), true, { replaceInput: 'second edit' as Json }) },
    });
    const request = only(requests(done.messages));
    expect(request.toolRequest.input).toBe('second edit');
    expect(request.metadata).toHaveProperty('replacedInput', value);
  });

  test('as the result of a step is not computed again', async () => {
    let computed = 0;
    const seen: unknown[] = [];
    const work = tool({ name: 'work', description: 'Works.' }, async (_input, { interrupt, resumed, step }) => {
      seen.push(
        await step('compute', () => {
          computed += 1;
          return value;
        }),
      );
      if (resumed === undefined) interrupt();
      return 'ok';
    });
    const { ai } = scripted([calls({ name: 'work' }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [work] });
    await ai.generate({
      tools: [work],
      messages: travelled(paused.messages),
      resume: { restart: restart(only(paused.interrupts)) },
    });
    expect(seen).toEqual([value, value]);
    expect(computed).toBe(1);
  });
});

describe('rule 3: presence, not truth', () => {
  test('a tool that returns nothing has the result null, also across a pause', async () => {
    const quiet = tool({ name: 'quiet', description: 'Says nothing.' }, () => undefined);
    const { ai } = scripted([calls({ name: 'quiet' }, { name: 'ask' }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [quiet, ask] });
    const done = await ai.generate({
      tools: [quiet, ask],
      messages: travelled(paused.messages),
      resume: { respond: respond(only(paused.interrupts), 'yes') },
    });
    expect(outputs(done.messages)).toEqual([null, 'yes']);
  });

  test('a restart without a value gives the body true', async () => {
    const seen: unknown[] = [];
    const confirm = tool({ name: 'confirm', description: 'Asks.' }, (_input, { interrupt, resumed }) => {
      seen.push(resumed);
      if (resumed === undefined) interrupt();
    });
    const { ai } = scripted([calls({ name: 'confirm' }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [confirm] });
    await ai.generate({ tools: [confirm], messages: paused.messages, resume: { restart: paused.interrupts } });
    expect(seen).toEqual([undefined, true]);
  });

  test('an empty string as the reason of a rejection is a rejection', async () => {
    const log: string[] = [];
    const act = tool({ name: 'act', description: 'Acts.', needsApproval: true }, () => {
      log.push('acted');
    });
    const { ai } = scripted([calls({ name: 'act' }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [act] });
    const done = await ai.generate({
      tools: [act],
      messages: travelled(paused.messages),
      resume: { reject: act.reject(only(paused.interrupts), '') },
    });
    expect(only(results(done.messages)).metadata?.outcome).toBe('rejected');
    expect(log).toEqual([]);
  });
});
