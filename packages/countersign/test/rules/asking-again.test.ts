// Rules 7 and 8: a restarted tool can ask a new question, and a catch cannot swallow a question.
import { approve, ConflictError, InterruptSignal, interrupt, respond, restart, tool } from 'countersign';
import { describe, expect, test } from 'vitest';
import { calls, failureOf, nth, only, outputs, requests, scripted, travelled } from './support.ts';

/** Asks `times` times, then acts once. */
function asker(times: number, log: unknown[]) {
  return tool({ name: 'asker', description: 'Asks again and again.' }, (_input, { interrupt, resumed }) => {
    const asked = resumed === undefined ? 0 : (resumed as number);
    log.push(`asked ${asked}`);
    if (asked < times) interrupt({ question: asked + 1 });
    log.push('acted');
    return 'acted';
  });
}

describe.each([
  ['with an id of the provider', 'r1'],
  ['without an id', undefined],
])('rule 7: a restarted tool may interrupt again (%s)', (_name, ref) => {
  const turn = calls({ name: 'asker', ...(ref !== undefined && { ref }) });

  test('each interrupt is a new pause with a new question', async () => {
    const log: unknown[] = [];
    const ask = asker(3, log);
    const { ai } = scripted([turn, 'done']);
    let response = await ai.generate({ prompt: 'go', tools: [ask] });
    for (const n of [1, 2, 3]) {
      const part = only(response.interrupts);
      expect(part.metadata?.interrupt).toEqual({ question: n });
      response = await ai.generate({
        tools: [ask],
        messages: travelled(response.messages),
        resume: { restart: restart(part, n) },
      });
    }
    expect(response.text).toBe('done');
    expect(log).toEqual(['asked 0', 'asked 1', 'asked 2', 'asked 3', 'acted']);
  });

  test.each([
    ['restart', (part: any) => ({ restart: restart(part, 9) })],
    ['approve', (part: any) => ({ approve: approve(part) })],
    ['respond', (part: any) => ({ respond: respond(part, 'x') })],
    ['the interrupt itself', (part: any) => ({ restart: part })],
  ])('a decision on the first question (%s) does not fit the second', async (_verb, decide) => {
    const log: unknown[] = [];
    const ask = asker(2, log);
    const { ai } = scripted([turn, 'done']);
    const first = await ai.generate({ prompt: 'go', tools: [ask] });
    const stale = decide(only(first.interrupts));
    const second = await ai.generate({
      tools: [ask],
      messages: first.messages,
      resume: { restart: restart(only(first.interrupts), 1) },
    });
    expect(second.interrupts).toHaveLength(1);
    for (const [messages, resume] of [
      [second.messages, stale],
      [travelled(second.messages), travelled(stale)],
    ] as const) {
      const error = await failureOf(ai.generate({ tools: [ask], messages, resume }));
      expect(error).toBeInstanceOf(ConflictError);
    }
    expect(log).not.toContain('acted');
  });

  test('a decision on the second question does not fit the first', async () => {
    const log: unknown[] = [];
    const ask = asker(2, log);
    const { ai } = scripted([turn, 'done']);
    const first = await ai.generate({ prompt: 'go', tools: [ask] });
    const second = await ai.generate({
      tools: [ask],
      messages: travelled(first.messages),
      resume: { restart: restart(only(first.interrupts), 1) },
    });
    await failureOf(
      ai.generate({
        tools: [ask],
        messages: travelled(first.messages),
        resume: { restart: restart(only(second.interrupts), 9) },
      }),
    );
    expect(log).not.toContain('acted');
  });
});

describe('rule 7: a restarted tool may interrupt again', () => {
  test('siblings that finished in the same resume keep their results and do not run again', async () => {
    const log: unknown[] = [];
    const ask = asker(2, log);
    let runs = 0;
    const once = tool({ name: 'once', description: 'Runs once.', needsApproval: true }, () => {
      runs += 1;
      return runs;
    });
    const { ai } = scripted([calls({ name: 'asker' }, { name: 'once' }), 'done']);
    const tools = [ask, once];
    const first = await ai.generate({ prompt: 'go', tools });
    const second = await ai.generate({
      tools,
      messages: travelled(first.messages),
      resume: { restart: restart(nth(first.interrupts, 0), 1), approve: nth(first.interrupts, 1) },
    });
    expect(only(second.interrupts).toolRequest.name).toBe('asker');
    const done = await ai.generate({
      tools,
      messages: travelled(second.messages),
      resume: { restart: restart(only(second.interrupts), 2) },
    });
    expect(outputs(done.messages)).toEqual(['acted', 1]);
    expect(runs).toBe(1);
  });

  test('a gated tool that asks inside its body passes its gate once and can ask more than once', async () => {
    const kinds: unknown[] = [];
    const both = tool(
      { name: 'both', description: 'Gate and question.', needsApproval: true },
      (_input, { interrupt, resumed }) => {
        if (resumed === undefined) interrupt({ inside: true });
        return resumed;
      },
    );
    const { ai } = scripted([calls({ name: 'both', ref: 'b' }), 'done']);
    const gate = await ai.generate({ prompt: 'go', tools: [both] });
    kinds.push(only(gate.interrupts).metadata?.interruptKind);
    const approval = approve(only(gate.interrupts));
    const inside = await ai.generate({
      tools: [both],
      messages: travelled(gate.messages),
      resume: { approve: approval },
    });
    kinds.push(only(inside.interrupts).metadata?.interrupt);
    // A second delivery of the gate's approval does not answer the question inside.
    await expect(
      ai.generate({ tools: [both], messages: travelled(inside.messages), resume: { approve: approval } }),
    ).rejects.toBeInstanceOf(ConflictError);
    const done = await ai.generate({
      tools: [both],
      messages: travelled(inside.messages),
      resume: { restart: restart(only(inside.interrupts), 'go on') },
    });
    expect(kinds).toEqual(['approval', { inside: true }]);
    expect(outputs(done.messages)).toEqual(['go on']);
  });

  test('a question after an edit is restarted by passing the interrupt itself', async () => {
    const seen: unknown[] = [];
    const both = tool({ name: 'both', description: 'Both.', needsApproval: true }, (input, { interrupt, resumed }) => {
      seen.push(input);
      if (resumed === undefined) interrupt();
      return 'ok';
    });
    const { ai } = scripted([calls({ name: 'both', input: { n: 1 } }), 'done']);
    const gate = await ai.generate({ prompt: 'go', tools: [both] });
    const inside = await ai.generate({
      tools: [both],
      messages: travelled(gate.messages),
      resume: { approve: approve(only(gate.interrupts), { edit: { n: 2 } }) },
    });
    const done = await ai.generate({
      tools: [both],
      messages: travelled(inside.messages),
      resume: { restart: inside.interrupts },
    });
    expect(done.text).toBe('done');
    expect(seen).toEqual([{ n: 2 }, { n: 2 }]);
  });

  test('a tool that never stops asking leaves a run that can be cancelled', async () => {
    const forever = tool({ name: 'forever', description: 'Asks.' }, (_input, { interrupt }) => interrupt());
    const { ai } = scripted([calls({ name: 'forever' }), 'done']);
    let response = await ai.generate({ prompt: 'go', tools: [forever] });
    for (let i = 0; i < 10; i++)
      response = await ai.generate({
        tools: [forever],
        messages: travelled(response.messages),
        resume: { restart: response.interrupts },
      });
    const done = await ai.generate({
      tools: [forever],
      messages: travelled(response.messages),
      resume: { cancel: forever.cancel(only(response.interrupts)) },
    });
    expect(done.text).toBe('done');
  });
});

describe('rule 8: interrupt() cannot be swallowed', () => {
  test.each([
    [
      'a catch that returns something else',
      (interrupt: any) => {
        try {
          return interrupt({ q: 1 });
        } catch {
          return 'swallowed';
        }
      },
    ],
    [
      'a catch that throws something else',
      (interrupt: any) => {
        try {
          interrupt({ q: 1 });
        } catch {
          throw new Error('other');
        }
      },
    ],
    [
      'a finally that returns',
      async (interrupt: any) => {
        const work = async () => interrupt({ q: 1 });
        return await work().catch(() => 'swallowed');
      },
    ],
    ['Promise.allSettled', (interrupt: any) => Promise.allSettled([(async () => interrupt({ q: 1 }))()])],
    ['interrupt.ask as the returned value', (interrupt: any) => interrupt.ask({ q: 1 })],
    [
      'interrupt.ask whose value is dropped',
      (interrupt: any) => {
        interrupt.ask({ q: 1 });
        return 'done';
      },
    ],
  ])('%s still pauses', async (_name, misuse) => {
    const sly = tool({ name: 'sly', description: 'Sly.' }, (_input, { interrupt }) => misuse(interrupt) as never);
    const { ai, model } = scripted([calls({ name: 'sly' }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [sly] });
    expect(paused.finishReason).toBe('interrupted');
    expect(only(paused.interrupts).metadata?.interrupt).toEqual({ q: 1 });
    expect(JSON.stringify(paused.messages)).not.toContain('swallowed');
    expect(model.requests).toHaveLength(1);
  });

  test('the first of two questions in one body counts', async () => {
    const twice = tool({ name: 'twice', description: 'Asks twice.' }, (_input, { interrupt }) => {
      interrupt.ask('first');
      interrupt('second');
    });
    const { ai } = scripted([calls({ name: 'twice' }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [twice] });
    expect(only(paused.interrupts).metadata?.interrupt).toBe('first');
  });

  test('interrupt() inside a step pauses, and the step is not recorded as done', async () => {
    let tries = 0;
    const work = tool({ name: 'work', description: 'Works.' }, async (_input, { interrupt, resumed, step }) =>
      step('inner', () => {
        tries += 1;
        return resumed === undefined ? interrupt() : 'done';
      }),
    );
    const { ai } = scripted([calls({ name: 'work' }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [work] });
    const done = await ai.generate({
      tools: [work],
      messages: travelled(paused.messages),
      resume: { restart: paused.interrupts },
    });
    expect(tries).toBe(2);
    expect(outputs(done.messages)).toEqual(['done']);
  });

  test('a question from a tool that the body calls directly becomes a question of the outer call', async () => {
    const inner = interrupt({ name: 'inner', description: 'Asks.', requestMetadata: { from: 'inner' } });
    const outer = tool({ name: 'outer', description: 'Calls inner.' }, async (_input, { resumed }) =>
      resumed === undefined ? inner({}) : resumed,
    );
    const { ai } = scripted([calls({ name: 'outer' }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [outer] });
    const part = only(paused.interrupts);
    expect(part.toolRequest.name).toBe('outer');
    expect(part.metadata?.interrupt).toEqual({ from: 'inner' });
  });

  test('a tool called directly rejects with the interrupt signal and a message, even through a catch', async () => {
    const sly = tool({ name: 'sly', description: 'Sly.' }, (_input, { interrupt }) => {
      try {
        return interrupt({ message: 'Sure?' });
      } catch {
        return 'swallowed';
      }
    });
    const error = await sly({}).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(InterruptSignal);
    expect((error as Error).message).toContain('Sure?');
  });

  test('a question that is not JSON becomes an error result, and the run ends', async () => {
    const bad = tool({ name: 'bad', description: 'Bad.' }, (_input, { interrupt }) => interrupt({ f: () => 1 }));
    const { ai } = scripted([calls({ name: 'bad' }), 'done']);
    const done = await ai.generate({ prompt: 'go', tools: [bad] });
    expect(done.text).toBe('done');
    expect(outputs(done.messages)[0]).toContain('bad');
    expect(requests(done.messages)).toHaveLength(1);
  });
});
