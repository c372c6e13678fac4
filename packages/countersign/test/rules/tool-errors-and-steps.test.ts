// Rules 10 and 11: a tool error becomes a result for the model, and a finished step does not run again.
import { interrupt, NotPerformed, respond, restart, tool, UsageError, z } from 'countersign';
import { describe, expect, test } from 'vitest';
import {
  calls,
  failureOf,
  latch,
  messagesOf,
  nth,
  only,
  outputs,
  payTool,
  results,
  scripted,
  travelled,
} from './support.ts';

const ask = interrupt({ name: 'ask', description: 'Asks.' });

/** Gated, and fails after it was approved. */
function failing(error: unknown, config: { needsApproval?: boolean } = {}) {
  return tool({ name: 'fails', description: 'Fails.', needsApproval: true, ...config }, () => {
    throw error;
  });
}

async function approvedFailure(error: unknown, script: readonly any[] = ['done']) {
  const fails = failing(error);
  const { ai, model } = scripted([calls({ name: 'fails', ref: 'f1' }), ...script]);
  const paused = await ai.generate({ prompt: 'go', tools: [fails] });
  const done = await ai.generate({
    tools: [fails],
    messages: travelled(paused.messages),
    resume: { approve: paused.interrupts },
  });
  return { ai, model, fails, done };
}

describe('rule 10: mistakes are results', () => {
  test('an unknown tool becomes a result for the model that lists the known tools', async () => {
    const { ai } = scripted([calls({ name: 'nope' }), 'done']);
    const done = await ai.generate({ prompt: 'go', tools: [ask] });
    expect(outputs(done.messages)[0]).toMatch(/nope.*ask/);
    expect(only(results(done.messages)).metadata?.outcome).toBe('error');
  });

  test.each(['toString', 'constructor', '__proto__', 'hasOwnProperty'])(
    'the tool name %s is as unknown as any other',
    async (name) => {
      const { ai } = scripted([calls({ name }), 'done']);
      const done = await ai.generate({ prompt: 'go', tools: [ask] });
      expect(outputs(done.messages)[0]).toContain(`Unknown tool ${name}`);
    },
  );

  test('an invalid input becomes a result for the model that names the fault', async () => {
    const { ai } = scripted([calls({ name: 'pay', input: { amount: 'much' } }), 'done']);
    const done = await ai.generate({ prompt: 'go', tools: [payTool([])] });
    expect(outputs(done.messages)[0]).toContain('amount');
  });

  test.each([
    ['a cycle', () => cyclic()],
    ['a function inside', () => ({ f: () => 1 })],
    ['a bigint', () => 10n],
    ['a Map', () => new Map([[1, 2]])],
    ['a getter that throws', () => Object.defineProperty({}, 'x', { enumerable: true, get: () => fail('getter') })],
    ['a toJSON that throws', () => ({ toJSON: () => fail('toJSON') })],
    ['a __proto__ key', () => JSON.parse('{"__proto__":{"admin":true}}')],
    ['an endless nesting', () => nested(5_000)],
  ])('an output that is not JSON (%s) is an error that names the tool', async (_name, make) => {
    const odd = tool({ name: 'odd', description: 'Odd.' }, () => make() as never);
    const { ai } = scripted([calls({ name: 'odd' }), 'done']);
    const done = await ai.generate({ prompt: 'go', tools: [odd] });
    expect(done.text).toBe('done');
    expect(outputs(done.messages)[0]).toContain('odd');
    expect(only(results(done.messages)).metadata?.outcome).toBe('error');
  });

  test('question details that are not JSON become a result for the model', async () => {
    const ask = interrupt({ name: 'ask', description: 'Asks.', requestMetadata: () => ({ amount: 10n }) as never });
    const { ai } = scripted([calls({ name: 'ask' }), 'done']);
    const done = await ai.generate({ prompt: 'go', tools: [ask] });
    expect(done.interrupts).toEqual([]);
    expect(outputs(done.messages)).toEqual([expect.stringContaining('The requestMetadata of ask is not JSON')]);
  });

  test('an input with a __proto__ key becomes a result for the model, and the tool does not run', async () => {
    const log: string[] = [];
    const open = tool({ name: 'open', description: 'Open.' }, () => {
      log.push('ran');
    });
    const { ai } = scripted([calls({ name: 'open', input: JSON.parse('{"__proto__":{"admin":true}}') }), 'done']);
    const done = await ai.generate({ prompt: 'go', tools: [open] });
    expect(outputs(done.messages)[0]).toContain('__proto__');
    expect(log).toEqual([]);
  });

  test('a sibling that throws neither blocks nor loses the others', async () => {
    const threw = latch();
    const bad = failing(new Error('broken'), { needsApproval: false });
    const slow = tool({ name: 'slow', description: 'Slow.' }, async () => {
      await threw.opened;
      return 'slow result';
    });
    const { ai } = scripted([calls({ name: 'slow' }, { name: 'fails' }), 'done']);
    const running = ai.generate({
      prompt: 'go',
      tools: [bad, slow],
      onChunk: (chunk) => chunk.type === 'tool-response' && threw.open(),
    });
    expect(outputs((await running).messages)).toEqual(['slow result', expect.stringContaining('broken')]);
  });

  test('an ungated tool that throws is reported as failed, without doubt', async () => {
    const { ai } = scripted([calls({ name: 'fails' }), 'done']);
    const done = await ai.generate({
      prompt: 'go',
      tools: [failing(new Error('no network'), { needsApproval: false })],
    });
    expect(outputs(done.messages)[0]).toContain('no network');
    expect(only(results(done.messages)).metadata).not.toHaveProperty('mayHaveActed');
  });

  test.each<[string, unknown]>([
    ['an Error', new Error('time-out')],
    ['a text', 'time-out'],
    ['undefined', undefined],
    ['null', null],
    ['0', 0],
    ['an object that cannot be read', Object.create(null)],
    ['an error whose message cannot be read', Object.defineProperty(new Error(), 'message', { get: () => fail('x') })],
    ['an error whose message is not a string', Object.assign(new Error(), { message: Symbol('x') })],
  ])('a gated tool that throws %s may have acted, and the model learns it', async (_name, error) => {
    const { model, done } = await approvedFailure(error);
    expect(done.text).toBe('done');
    expect(only(results(done.messages)).metadata).toMatchObject({ outcome: 'error', mayHaveActed: true });
    expect(outputs(nth(model.requests, 1).messages)[0]).toMatch(/may have taken effect/);
  });

  test.each<[string, unknown, object]>([
    ['a value that is not JSON', 5n, {}],
    ['in a way that cannot be', 'Sure?', { risk: 'huge' }],
  ])('a gated tool that asks %s may have acted, and the model learns it', async (_name, payload, options) => {
    const asks = tool({ name: 'asks', description: 'Asks.', needsApproval: true }, (_input, { interrupt }) =>
      interrupt(payload, options),
    );
    const { ai } = scripted([calls({ name: 'asks' }), 'done']);
    const { messages, interrupts } = await ai.generate({ prompt: 'go', tools: [asks] });
    const done = await ai.generate({ tools: [asks], messages, resume: { approve: interrupts } });
    expect(only(results(done.messages)).metadata).toMatchObject({ outcome: 'error', mayHaveActed: true });
    expect(outputs(done.messages)[0]).toMatch(/may have taken effect/);
  });

  test('a gated tool that throws NotPerformed did nothing, and the model learns it', async () => {
    const { done } = await approvedFailure(new NotPerformed('the bank is closed'));
    expect(only(results(done.messages)).metadata).not.toHaveProperty('mayHaveActed');
    expect(outputs(done.messages)[0]).toMatch(/did nothing.*the bank is closed/);
  });

  test('the next card of the tool mentions the earlier call that may have acted', async () => {
    const again = calls({ name: 'fails', ref: 'f2' });
    const { done } = await approvedFailure(new Error('time-out'), [again]);
    expect(only(travelled(done.interrupts)).metadata?.interrupt).toMatchObject({
      mayHaveActed: [{ ref: 'f1', message: expect.stringContaining('time-out') }],
    });
  });

  test('the next card mentions it in a later conversation that continues from saved messages', async () => {
    const { ai, fails, done } = await approvedFailure(new Error('time-out'), [
      'sorry',
      calls({ name: 'fails', ref: 'f2' }),
    ]);
    const next = await ai.generate({ tools: [fails], messages: travelled(done.messages), prompt: 'again' });
    expect(only(next.interrupts).metadata?.interrupt).toHaveProperty('mayHaveActed');
  });

  test('the next card mentions nothing after NotPerformed, or after another tool failed', async () => {
    const { done } = await approvedFailure(new NotPerformed('closed'), [calls({ name: 'fails', ref: 'f2' })]);
    expect(only(done.interrupts).metadata?.interrupt).toBe(true);
  });

  test('a tool that asked inside its body, was restarted and threw may have acted', async () => {
    const confirm = tool({ name: 'confirm', description: 'Asks.' }, (_input, { interrupt, resumed }) => {
      if (resumed === undefined) interrupt();
      throw new Error('time-out');
    });
    const { ai } = scripted([calls({ name: 'confirm' }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [confirm] });
    const done = await ai.generate({
      tools: [confirm],
      messages: travelled(paused.messages),
      resume: { restart: paused.interrupts },
    });
    expect(only(results(done.messages)).metadata?.mayHaveActed).toBe(true);
  });

  test('a failure that may have acted is reported even if a sibling kept the turn open', async () => {
    const fails = failing(new Error('time-out'));
    const { ai } = scripted([
      calls({ name: 'fails', ref: 'f1' }, { name: 'ask' }),
      calls({ name: 'fails', ref: 'f2' }),
    ]);
    const tools = [fails, ask];
    const paused = await ai.generate({ prompt: 'go', tools });
    const half = await ai.generate({
      tools,
      messages: travelled(paused.messages),
      resume: { approve: nth(paused.interrupts, 0) },
    });
    const next = await ai.generate({
      tools,
      messages: travelled(half.messages),
      resume: { respond: respond(only(half.interrupts), 'x') },
    });
    expect(nth(results(next.messages), 0).metadata?.mayHaveActed).toBe(true);
    expect(only(next.interrupts).metadata?.interrupt).toHaveProperty('mayHaveActed');
  });

  test('an output that does not match its schema: the model learns that the tool ran', async () => {
    const odd = tool({ name: 'odd', description: 'Odd.', outputSchema: z.number() }, () => 'text' as never);
    const { ai } = scripted([calls({ name: 'odd' }), 'done']);
    const done = await ai.generate({ prompt: 'go', tools: [odd] });
    expect(outputs(done.messages)[0]).toMatch(/ran, but/);
  });

  test.each([
    ['throws', () => fail('The list is away')],
    ['rejects', async () => fail('The list is away')],
  ])('an output whose schema %s: the model learns that the tool ran', async (_how, check) => {
    const odd = tool({ name: 'odd', description: 'Odd.', outputSchema: z.string().refine(check) }, () => 'text');
    const { ai } = scripted([calls({ name: 'odd' }), 'done']);
    const done = await ai.generate({ prompt: 'go', tools: [odd] });
    expect(outputs(done.messages)[0]).toBe(
      'The tool odd ran, but its output could not be checked, because its schema threw: The list is away. Its effect has taken place.',
    );
  });

  test('onToolError throw: the error has the cause and the messages, and continuing runs nothing again', async () => {
    const log: string[] = [];
    const cause = new Error('broken');
    const bad = failing(cause, { needsApproval: false });
    const pay = payTool(log, { needsApproval: false });
    const { ai, model } = scripted([calls({ name: 'fails' }, { name: 'pay', input: { amount: 1 } }), 'done']);
    const error = await failureOf(ai.generate({ prompt: 'go', tools: [bad, pay], onToolError: 'throw' }));
    expect(error).toBeInstanceOf(UsageError);
    expect(error.code).toBe('tool-failed');
    expect(error.cause).toBe(cause);
    expect(model.requests).toHaveLength(1);
    const done = await ai.generate({ tools: [bad, pay], messages: travelled(messagesOf(error)) });
    expect(done.text).toBe('done');
    expect(outputs(done.messages)).toEqual([expect.stringContaining('broken'), { paid: 1 }]);
    expect(log).toEqual(['paid 1']);
  });

  test('onToolError throw beside a waiting call: the wait is not lost', async () => {
    const bad = failing(new Error('broken'), { needsApproval: false });
    const { ai } = scripted([calls({ name: 'fails' }, { name: 'ask' }), 'done']);
    const error = await failureOf(ai.generate({ prompt: 'go', tools: [bad, ask], onToolError: 'throw' }));
    const waiting = await ai.generate({ tools: [bad, ask], messages: travelled(messagesOf(error)) });
    expect(only(waiting.interrupts).toolRequest.name).toBe('ask');
  });

  test('onToolError throw: an unknown tool and an invalid input still become results for the model', async () => {
    const { ai } = scripted([calls({ name: 'nope' }, { name: 'pay', input: {} }), 'done']);
    const done = await ai.generate({ prompt: 'go', tools: [payTool([])], onToolError: 'throw' });
    expect(done.text).toBe('done');
  });

  test('a tool that throws a pause signal created elsewhere does not crash the run', async () => {
    const odd = tool({ name: 'odd', description: 'Odd.' }, () => {
      throw Object.assign(new Error('held'), { name: 'HeldSignal', messages: [] });
    });
    const { ai } = scripted([calls({ name: 'odd' }), 'done']);
    expect((await ai.generate({ prompt: 'go', tools: [odd] })).text).toBe('done');
  });
});

describe('rule 11: step()', () => {
  test('a finished step returns its result and does not run again', async () => {
    const log: string[] = [];
    const work = tool({ name: 'work', description: 'Works.' }, async (_input, { interrupt, resumed, step }) => {
      const order = await step('order', () => {
        log.push('ordered');
        return { id: 7 };
      });
      if (resumed === undefined) interrupt({ order });
      return order.id;
    });
    const { ai } = scripted([calls({ name: 'work' }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [work] });
    const done = await ai.generate({
      tools: [work],
      messages: travelled(paused.messages),
      resume: { restart: paused.interrupts },
    });
    expect(outputs(done.messages)).toEqual([7]);
    expect(log).toEqual(['ordered']);
  });

  /** Runs the steps, pauses, and runs them again; returns the values of each run. */
  async function twice(body: (step: any, log: string[]) => Promise<unknown>) {
    const log: string[] = [];
    const seen: unknown[] = [];
    const work = tool({ name: 'work', description: 'Works.' }, async (_input, { interrupt, resumed, step }) => {
      seen.push(await body(step, log));
      if (resumed === undefined) interrupt();
      return 'ok';
    });
    const { ai } = scripted([calls({ name: 'work' }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [work] });
    await ai.generate({ tools: [work], messages: travelled(paused.messages), resume: { restart: paused.interrupts } });
    return { log, seen };
  }

  test('two steps with one name are two steps, distinguished by their order', async () => {
    let n = 0;
    const { log, seen } = await twice(async (step, log) => {
      const run = () => {
        log.push('ran');
        n += 1;
        return n;
      };
      return [await step('same', run), await step('same', run), await step('same', run)];
    });
    expect(seen).toEqual([
      [1, 2, 3],
      [1, 2, 3],
    ]);
    expect(log).toHaveLength(3);
  });

  test('concurrent steps with one name keep separate results', async () => {
    const { seen } = await twice((step) =>
      Promise.all([step('same', async () => 'a'), step('same', async () => 'b'), step('same', () => 'c')]),
    );
    expect(seen).toEqual([
      ['a', 'b', 'c'],
      ['a', 'b', 'c'],
    ]);
  });

  test('a step whose name looks like the second of another is a separate step', async () => {
    const { seen, log } = await twice(async (step, log) => {
      const run = (result: string) => () => {
        log.push(result);
        return result;
      };
      return [await step('a', run('first a')), await step('a', run('second a')), await step('a#2', run('a#2'))];
    });
    expect(seen[0]).toEqual(['first a', 'second a', 'a#2']);
    expect(seen[1]).toEqual(seen[0]);
    expect(log).toHaveLength(3);
  });

  test.each(['__proto__', 'constructor', 'toString', '', ' '])('a step named %j is remembered', async (name) => {
    const { log, seen } = await twice((step, log) =>
      step(name, () => {
        log.push('ran');
        return 'result';
      }),
    );
    expect(seen).toEqual(['result', 'result']);
    expect(log).toEqual(['ran']);
  });

  test('a step that threw is not done and runs again', async () => {
    let tries = 0;
    const { seen } = await twice(async (step) =>
      step('shaky', () => {
        tries += 1;
        if (tries === 1) throw new Error('shaky');
        return 'fine';
      }).catch((error: Error) => error.message),
    );
    expect(seen).toEqual(['shaky', 'fine']);
  });

  test('a step that returns nothing returns the same the second time', async () => {
    const { seen, log } = await twice((step, log) => step('void', () => void log.push('ran')));
    expect(seen[1]).toEqual(seen[0]);
    expect(log).toEqual(['ran']);
  });

  test('a step whose result is not JSON fails in the body, where it can be handled', async () => {
    const { seen } = await twice((step) => step('bad', () => () => 1).catch((error: Error) => error.message));
    expect(seen[0]).toContain('not JSON');
  });

  test('two calls of the same tool do not share steps', async () => {
    const log: unknown[] = [];
    const work = tool(
      { name: 'work', description: 'Works.', inputSchema: z.object({ n: z.number() }) },
      async ({ n }, { interrupt, resumed, step }) => {
        const got = await step('take', () => {
          log.push(n);
          return n;
        });
        if (resumed === undefined) interrupt();
        return got;
      },
    );
    const { ai } = scripted([calls({ name: 'work', input: { n: 1 } }, { name: 'work', input: { n: 2 } }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [work] });
    const done = await ai.generate({
      tools: [work],
      messages: travelled(paused.messages),
      resume: { restart: paused.interrupts.map((part) => restart(part)) },
    });
    expect(outputs(done.messages)).toEqual([1, 2]);
    expect(log).toEqual([1, 2]);
  });

  test('a step done before an abort is not done again after the doubt is settled', async () => {
    const log: string[] = [];
    const controller = new AbortController();
    const work = tool({ name: 'work', description: 'Works.', idempotent: true }, async (_input, { step, signal }) => {
      await step('charge', () => log.push('charged'));
      if (controller.signal.aborted) return 'done';
      controller.abort();
      signal.throwIfAborted();
      return 'not aborted';
    });
    const { ai } = scripted([calls({ name: 'work' }), 'done']);
    const aborted = await ai.generate({ prompt: 'go', tools: [work], abortSignal: controller.signal });
    expect(aborted.finishReason).toBe('aborted');
    const done = await ai.generate({ tools: [work], messages: travelled(aborted.messages) });
    expect(done.text).toBe('done');
    expect(log).toEqual(['charged']);
  });
});

function fail(message: string): never {
  throw new Error(message);
}

function cyclic(): unknown {
  const value: { self?: unknown } = {};
  value.self = value;
  return value;
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < depth; i++) value = [value];
  return value;
}
