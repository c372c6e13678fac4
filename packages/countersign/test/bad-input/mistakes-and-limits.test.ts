// Bad input: each gets a clear error or becomes a result for the model; never a crash, a hang or a silent drop.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Agent,
  countersign,
  type Message,
  memoryStore,
  type Part,
  respond,
  type ToolRequestPart,
  tool,
  UsageError,
  z,
} from 'countersign';
import { type ScriptStep, scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';

const instance = (...script: ScriptStep[]) => countersign({ model: scriptedModel(script), retry: false });
const anything = { description: '', inputSchema: z.looseObject({}) };
const outputs = (messages: readonly Message[]) =>
  messages.flatMap((message) =>
    message.content.flatMap((part: Part) => ('toolResponse' in part ? [part.toolResponse.output] : [])),
  );
const failure = async (work: Promise<unknown>) => {
  const error = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(error).toBeInstanceOf(UsageError);
  return error as UsageError;
};

describe('a mistake of the model becomes a result for it', () => {
  test('an unknown tool, with the names of the known ones', async () => {
    const ai = instance({ calls: [{ name: 'nope' }] }, 'Sorry.');
    const look = ai.defineTool({ ...anything, name: 'look' }, () => 1);
    const response = await ai.generate({ prompt: 'go', tools: [look] });
    expect(outputs(response.messages)).toEqual(['Unknown tool nope. Available tools: look.']);
    expect(response.text).toBe('Sorry.');
  });

  test('an invalid input, with the fault and its place', async () => {
    const ai = instance({ calls: [{ name: 'pay', input: { amount: 'five' } }] }, 'Sorry.');
    const pay = ai.defineTool({ name: 'pay', description: '', inputSchema: z.object({ amount: z.number() }) }, () => 1);
    expect(outputs((await ai.generate({ prompt: 'go', tools: [pay] })).messages)[0]).toMatch(
      /input of pay does not fit.*amount/,
    );
  });

  test.each([
    [
      'cyclic',
      () => Object.assign({}, { self: {} as unknown }),
      (value: Record<string, unknown>) => (value.self = value),
    ],
    ['a bigint', () => ({ n: 1n }), () => undefined],
    ['a function', () => ({ f: () => 1 }), () => undefined],
  ])('an output that is %s, with the name of the tool', async (_name, make, bend) => {
    const ai = instance({ calls: [{ name: 'odd' }, { name: 'fine' }] }, 'Sorry.');
    const odd = ai.defineTool({ ...anything, name: 'odd' }, () => {
      const value = make() as Record<string, unknown>;
      bend(value);
      return value;
    });
    const fine = ai.defineTool({ ...anything, name: 'fine' }, () => 'fine');
    const [told, other] = outputs((await ai.generate({ prompt: 'go', tools: [odd, fine] })).messages);
    expect(told).toMatch(/The tool odd ran, but returned an output that is not JSON/);
    expect(other).toBe('fine');
  });

  test('an input with a __proto__ key, and no prototype is touched', async () => {
    const ai = instance({ calls: [{ name: 'look', input: JSON.parse('{"__proto__":{"admin":true}}') }] }, 'Sorry.');
    const seen: unknown[] = [];
    const look = ai.defineTool({ name: 'look', description: '' }, (input) => void seen.push(input));
    const response = await ai.generate({ prompt: 'go', tools: [look] });
    expect(outputs(response.messages)[0]).toMatch(/__proto__/);
    expect(seen).toEqual([]);
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
  });
});

describe('a mistake of the caller is an error that says how to fix it', () => {
  test('a decision on something other than an interrupt', async () => {
    const ai = instance({ calls: [{ name: 'pay' }] });
    const pay = ai.defineTool({ ...anything, name: 'pay', needsApproval: true }, () => 1);
    const { interrupts } = await ai.generate({ prompt: 'go', tools: [pay] });
    const told = (given: unknown) => failure((async () => pay.approve(given as ToolRequestPart))());
    expect((await told(interrupts)).message).toContain('a list: decide each of them');
    expect((await told(Promise.resolve(interrupts[0]))).message).toContain('not on a promise');
    expect((await told({ id: 'run:call', part: interrupts[0] })).message).toContain('pass its `part`');
    expect((await told(undefined)).message).toContain('not on undefined.');
    expect((await told(() => interrupts[0])).message).toContain('not on a function');
  });

  test('a decision without the messages it belongs to', async () => {
    const ai = instance({ calls: [{ name: 'pay' }] });
    const pay = ai.defineTool({ ...anything, name: 'pay', needsApproval: true }, () => 1);
    const { interrupts } = await ai.generate({ prompt: 'go', tools: [pay] });
    const { message } = await failure(ai.generate({ prompt: 'go', tools: [pay], resume: { approve: interrupts } }));
    expect(message).toContain('nothing is: pass the messages of the response that asked');
  });

  test('a decision on a run, or a call, in place of its question', async () => {
    const ai = countersign({ model: scriptedModel([{ calls: [{ name: 'pay', ref: 'p1' }] }]), store: memoryStore() });
    const pay = ai.defineTool({ ...anything, name: 'pay', needsApproval: true }, () => 1);
    const { id } = await ai.defineAgent({ name: 'clerk', tools: [pay] }).start('go');
    await ai.runs.wait(id);
    for (const wrong of [id, 'p1'])
      expect(await failure(ai.runs.decide(wrong, 'approve'))).toMatchObject({
        code: 'unknown-request',
        message: expect.stringContaining('begins with the id of its run'),
      });
    expect((await failure(ai.runs.decide(`${id}:p2`, 'approve'))).message).toBe(
      `Interrupt ${id}:p2 not found in the store.`,
    );
  });

  test('a tool name that is not defined', async () => {
    const ai = instance();
    ai.defineTool({ ...anything, name: 'look' }, () => 1);
    expect(await failure(ai.generate({ prompt: 'go', tools: ['lok'] }))).toMatchObject({
      code: 'unknown-tool',
      message: expect.stringContaining('Defined are: look'),
    });
  });

  test('two tools with one name', async () => {
    const one = tool({ ...anything, name: 'same' }, () => 1);
    const two = tool({ ...anything, name: 'same' }, () => 2);
    expect(await failure(instance().generate({ prompt: 'go', tools: [one, two] }))).toMatchObject({
      code: 'duplicate-tool',
    });
    const ai = instance();
    ai.defineTool({ ...anything, name: 'same' }, () => 1);
    expect(() => ai.defineTool({ ...anything, name: 'same' }, () => 1)).toThrow('is defined already');
  });

  test('a value that is not a tool', async () => {
    expect(await failure(instance().generate({ prompt: 'go', tools: [undefined as never] }))).toMatchObject({
      message: expect.stringContaining('tools[0] is undefined'),
    });
  });

  test.each([
    { needsApproval: null },
    { needsApproval: 'no' },
    { settlesWithin: null },
    { settlesWithin: -1 },
    { settlesWithin: Number.NaN },
    { settlesWithin: '5' },
  ])('a tool with contradictory rules about when it may run: %o', (config) => {
    expect(() => tool({ ...anything, name: 'pay', ...(config as object) }, () => 1)).toThrow(
      expect.objectContaining({ code: 'invalid-options', message: expect.stringContaining('of the tool pay must be') }),
    );
  });

  test('several invalid decisions at once: all are listed, nothing runs', async () => {
    const ai = instance({
      calls: [
        { name: 'ask', ref: 'a' },
        { name: 'ask', ref: 'b' },
      ],
    });
    const ask = ai.defineInterrupt({ name: 'ask', description: '', outputSchema: z.string() });
    const paused = await ai.generate({ prompt: 'go', tools: [ask] });
    const [a, b] = paused.interrupts;
    if (!a || !b) throw new Error('two questions');
    const invented = { toolRequest: { name: 'ask', ref: 'c', input: {} } };
    const error = await failure(
      ai.generate({
        messages: paused.messages,
        tools: [ask],
        resume: { respond: [respond(a, 5), respond(b, 'x'), respond(b, 'y'), respond(invented, 'z')] },
      }),
    );
    expect(error.code).toBe('invalid-resume');
    expect(error.details.faults).toHaveLength(3);
    expect(error.message).toMatch(/respond\[0\].*respond\[2\].*respond\[3\]|respond\[2\].*respond\[3\].*respond\[0\]/);
  });

  test.each([{ toolRequest: null }, { toolRequest: 5 }, { metadata: 'x' }, { toolRequest: undefined }])(
    'a decision that is broken: %o',
    async (broken) => {
      const ai = instance({ calls: [{ name: 'ask', ref: 'a' }] });
      const ask = ai.defineTool({ name: 'ask', description: '', needsApproval: true }, () => 1);
      const { messages, interrupts } = await ai.generate({ prompt: 'go', tools: [ask] });
      const resume = { approve: { ...interrupts[0], ...broken } as never };
      const error = await failure(ai.generate({ messages, tools: [ask], resume }));
      expect(error).toMatchObject({
        code: 'invalid-resume',
        message: expect.stringMatching(/approve\[0\].*not a decision/),
      });
    },
  );

  test.each(['at once', 'later'])('a schema that throws on an answer, %s: nothing is decided', async (when) => {
    const validate = () => {
      if (when === 'at once') throw new TypeError('boom');
      return Promise.reject(new TypeError('boom'));
    };
    const outputSchema = { '~standard': { version: 1 as const, vendor: 'own', validate } };
    const ai = instance({ calls: [{ name: 'ask', ref: 'a' }] });
    const ask = ai.defineInterrupt({ name: 'ask', description: '', outputSchema, outputJsonSchema: {} });
    const { messages, interrupts } = await ai.generate({ prompt: 'go', tools: [ask] });
    const threw = { message: expect.stringContaining('its schema threw: boom') };
    const answer = () => interrupts.map((part) => ask.respond(part, 'x'));
    if (when === 'at once') expect(answer).toThrow(expect.objectContaining({ code: 'invalid-decision', ...threw }));
    else expect(answer()).toHaveLength(1);
    const resume = { respond: interrupts.map((part) => respond(part, 'x')) };
    const error = await failure(ai.generate({ messages, tools: [ask], resume }));
    expect(error).toMatchObject({ code: 'invalid-resume', ...threw });
  });

  test('agents that call each other in a circle', async () => {
    const ai = instance();
    const first: Agent = ai.defineAgent({ name: 'first', tools: ['second'] });
    ai.defineAgent({ name: 'second', tools: ['first'] });
    expect(await failure(first.generate('go'))).toMatchObject({
      code: 'circular-agents',
      message: expect.stringContaining('second → first → second'),
    });
  });

  test('a prompt file with broken front matter, with file and line', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'countersign-'));
    try {
      await writeFile(join(folder, 'party.prompt'), '---\ntools: [askQuestion\ninput:\n---\nHello');
      const error = await failure(countersign({ model: scriptedModel([]), promptDir: folder }).prompt('party')());
      expect(error).toMatchObject({
        code: 'invalid-prompt',
        message: expect.stringMatching(/party\.prompt.*\b[23]\b/s),
      });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('nothing to generate from, no model, an invalid turn limit', async () => {
    expect(await failure(instance().generate({}))).toMatchObject({ code: 'invalid-options' });
    expect(await failure(countersign().generate('go'))).toMatchObject({ code: 'no-model' });
    expect(await failure(instance().generate({ prompt: 'go', maxTurns: 0 }))).toMatchObject({
      code: 'invalid-options',
    });
    expect(await failure(countersign({ model: 'nobody/x' }).generate('go'))).toMatchObject({ code: 'unknown-model' });
    expect(await failure(countersign({ model: {} as never }).generate('go'))).toMatchObject({
      code: 'unsupported-model',
    });
  });
});

describe('large values are accepted', () => {
  test('an input and an output of a megabyte', async () => {
    const text = 'x'.repeat(1_000_000);
    const ai = instance({ calls: [{ name: 'echo', input: { text } }] }, 'Done.');
    const echo = ai.defineTool(
      { name: 'echo', description: '', inputSchema: z.object({ text: z.string() }), needsApproval: true },
      ({ text }) => text,
    );
    const paused = await ai.generate({ prompt: 'go', tools: [echo] });
    const response = await ai.generate({
      messages: JSON.parse(JSON.stringify(paused.messages)),
      tools: [echo],
      resume: { approve: paused.interrupts.map((part) => echo.approve(part)) },
    });
    expect(outputs(response.messages)).toEqual([text]);
  });

  test('a history of 10,000 messages, paused and resumed', async () => {
    const ai = instance({ calls: [{ name: 'ask' }] }, 'Done.');
    const ask = ai.defineInterrupt({ name: 'ask', description: '', outputSchema: z.number() });
    const history = Array.from(
      { length: 10_000 },
      (_, index): Message => ({ role: index % 2 ? 'model' : 'user', content: [{ text: `${index}` }] }),
    );
    const paused = await ai.generate({ messages: history, prompt: 'go', tools: [ask] });
    const response = await ai.generate({
      messages: paused.messages,
      tools: [ask],
      resume: { respond: paused.interrupts.map((part) => ask.respond(part, 0)) },
    });
    expect(response.messages).toHaveLength(10_004);
    expect(outputs(response.messages)).toEqual([0]);
  });

  test('a thousand calls in one turn', async () => {
    const ai = instance({ calls: Array.from({ length: 1_000 }, (_, n) => ({ name: 'look', input: { n } })) }, 'Done.');
    const look = ai.defineTool(
      { name: 'look', description: '', inputSchema: z.object({ n: z.number() }) },
      ({ n }) => n,
    );
    expect(outputs((await ai.generate({ prompt: 'go', tools: [look] })).messages)).toEqual(
      Array.from({ length: 1_000 }, (_, n) => n),
    );
  });
});

test('a promise instead of a context is rejected: gates that read it would let calls run', async () => {
  const ai = countersign({ model: scriptedModel(['Hi.']), store: memoryStore() });
  const clerk = ai.defineAgent({ name: 'clerk' });
  const context = Promise.resolve({ limit: 5 });
  expect(() => countersign({ context })).toThrow('`context` of `countersign` must be an object; await a promise first');
  expect((await failure(ai.generate({ prompt: 'Go', context }))).code).toBe('invalid-options');
  expect((await failure(clerk.start('Go', { context }))).code).toBe('invalid-options');
  const { id } = await clerk.start('Go');
  expect((await failure(ai.runs.drive(id, { context }))).code).toBe('invalid-options');
  expect((await failure(ai.runs.decide(`${id}:call`, 'approve', { context }))).code).toBe('invalid-options');
});
