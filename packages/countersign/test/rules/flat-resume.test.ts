// The flat form of `resume`: one list of decisions, each with its own kind.

import {
  approve,
  ConflictError,
  cancel,
  interrupt,
  memoryStore,
  reject,
  respond,
  restart,
  tool,
  UsageError,
  z,
} from 'countersign';
import { internalsOf } from 'countersign/store';
import { describe, expect, test } from 'vitest';
import { calls, failureOf, faultsOf, nth, only, outputs, payTool, results, scripted, travelled } from './support.ts';

const ask = interrupt({ name: 'ask', description: 'Asks.', outputSchema: z.string() });

/** Two payments and a question, all pending. */
async function paused() {
  const log: string[] = [];
  const pay = payTool(log);
  const tools = [pay, ask];
  const { ai, model } = scripted([
    calls(
      { name: 'pay', ref: 'p1', input: { amount: 1 } },
      { name: 'pay', ref: 'p2', input: { amount: 2 } },
      { name: 'ask', ref: 'q' },
    ),
    'done',
  ]);
  const { messages, interrupts } = await ai.generate({ prompt: 'go', tools });
  const [p1, p2, q] = [nth(interrupts, 0), nth(interrupts, 1), nth(interrupts, 2)];
  return { log, ai, model, pay, tools, messages: travelled(messages), p1, p2, q };
}

describe('a flat resume', () => {
  test('takes decisions of every kind in one list, in any order', async () => {
    const { log, ai, pay, tools, messages, p1, p2, q } = await paused();
    const resume = [ask.respond(q, 'x'), pay.reject(p2, 'too expensive'), pay.approve(p1, { edit: { amount: 7 } })];
    const done = await ai.generate({ tools, messages, resume: travelled(resume) });
    expect(done.text).toBe('done');
    expect(log).toEqual(['paid 7']);
    expect(outputs(done.messages)).toEqual([{ paid: 7 }, expect.stringContaining('too expensive'), 'x']);
  });

  test('gives the same messages as the lists by kind', async () => {
    const one = await paused();
    const other = await paused();
    const flat = await one.ai.generate({
      tools: one.tools,
      messages: one.messages,
      resume: [restart(one.p1, 'yes'), cancel(one.p2), respond(one.q, 'x')],
    });
    const lists = await other.ai.generate({
      tools: other.tools,
      messages: other.messages,
      resume: { restart: restart(other.p1, 'yes'), cancel: cancel(other.p2), respond: respond(other.q, 'x') },
    });
    expect(flat.messages).toEqual(lists.messages);
  });

  test('leaves undecided calls pending (rule 6)', async () => {
    const { log, ai, tools, messages, p2 } = await paused();
    const half = await ai.generate({ tools, messages, resume: [approve(p2)] });
    expect(log).toEqual(['paid 2']);
    expect(half.interrupts.map((part) => part.toolRequest.ref)).toEqual(['p1', 'q']);
    const same = await ai.generate({ tools, messages: half.messages, resume: [] });
    expect(same.interrupts).toHaveLength(2);
  });

  test('is checked as a whole: one error lists every fault by its position, and nothing runs (rule 5)', async () => {
    const { log, ai, model, tools, messages, p1, p2, q } = await paused();
    const stranger = { toolRequest: { name: 'pay', ref: 'nobody', input: {} } };
    const error = await failureOf(
      ai.generate({
        tools,
        messages,
        resume: [approve(p1), p2, respond(q, 5), reject(p1), approve(stranger), undefined as never, 'p2' as never],
      }),
    );
    expect(error).toBeInstanceOf(UsageError);
    expect(error.code).toBe('invalid-resume');
    expect(new Set(faultsOf(error).map(({ where }) => where))).toEqual(
      new Set(['resume[1]', 'resume[2]', 'resume[3]', 'resume[4]', 'resume[5]', 'resume[6]']),
    );
    expect(log).toEqual([]);
    expect(model.requests).toHaveLength(1);
  });

  test.each([
    ['an interrupt', {}],
    ['an unknown kind', { decision: { made: 'aprove' } }],
    ['a kind that is not a string', { decision: { made: true } }],
    ['the name of a method', { decision: { made: 'constructor' } }],
    ['a decision made earlier in the run', { decision: { type: 'approve', by: 'ann' } }],
  ])('guesses no kind: %s is rejected', async (_name, metadata) => {
    const { log, ai, tools, messages, p1 } = await paused();
    const part = { ...p1, metadata: { ...p1.metadata, ...metadata } };
    const error = await failureOf(ai.generate({ tools, messages, resume: [part] }));
    expect(only(faultsOf(error))).toMatchObject({
      where: 'resume[0]',
      problem: expect.stringContaining('pay (p1) does not say its kind'),
    });
    expect(log).toEqual([]);
  });

  test('guesses no kind for an answer made by hand, which could be a rejection', async () => {
    const { ai, tools, messages } = await paused();
    const answer = { toolResponse: { name: 'ask', ref: 'q', output: 'x' } };
    expect((await failureOf(ai.generate({ tools, messages, resume: [answer] }))).code).toBe('invalid-resume');
    const marked = { ...answer, metadata: { interruptResponse: true } };
    const half = await ai.generate({ tools, messages, resume: [marked] });
    expect(half.interrupts).toHaveLength(2);
  });

  test('rejects a kind that does not match its part: an answer that claims to approve', async () => {
    const { log, ai, tools, messages } = await paused();
    const forged = {
      toolResponse: { name: 'pay', ref: 'p1', output: {} },
      metadata: { decision: { made: 'approve' } },
    };
    await failureOf(ai.generate({ tools, messages, resume: [forged] }));
    expect(log).toEqual([]);
  });

  test('works together with toolResponses', async () => {
    const { log, ai, tools, messages, p1, p2, q } = await paused();
    const twice = await failureOf(
      ai.generate({ tools, messages, resume: [respond(q, 'x')], toolResponses: respond(q, 'y') }),
    );
    expect(only(faultsOf(twice))).toMatchObject({ where: 'toolResponses[0]' });
    const done = await ai.generate({
      tools,
      messages,
      resume: [approve(p1), reject(p2)],
      toolResponses: respond(q, 'y'),
    });
    expect(results(done.messages)).toHaveLength(3);
    expect(log).toEqual(['paid 1']);
  });

  test('reports a decision that was applied before as a conflict', async () => {
    const { log, ai, tools, messages, p1 } = await paused();
    const half = await ai.generate({ tools, messages, resume: [approve(p1)] });
    const error = await failureOf(ai.generate({ tools, messages: half.messages, resume: [approve(p1)] }));
    expect(error).toBeInstanceOf(ConflictError);
    expect(log).toEqual(['paid 1']);
  });
});

describe('a flat resume is accepted wherever a resume is', () => {
  const turns = () => [calls({ name: 'pay', ref: 'a', input: { amount: 1 } }), 'done'];

  test('by generateStream', async () => {
    const log: string[] = [];
    const tools = [payTool(log)];
    const { ai } = scripted(turns());
    const { messages, interrupts } = await ai.generate({ prompt: 'go', tools });
    const { response } = ai.generateStream({ tools, messages, resume: [approve(only(interrupts))] });
    expect((await response).text).toBe('done');
    expect(log).toEqual(['paid 1']);
  });

  test('by prompts', async () => {
    const log: string[] = [];
    const { ai } = scripted(turns());
    const prompt = ai.definePrompt({ name: 'p', prompt: 'go', tools: [payTool(log)] });
    const { messages, interrupts } = await prompt();
    expect((await prompt({}, { messages, resume: [approve(only(interrupts))] })).text).toBe('done');
    expect(log).toEqual(['paid 1']);
  });

  test('by chats', async () => {
    const log: string[] = [];
    const { ai } = scripted(turns());
    const chat = ai.chat({ tools: [payTool(log)] });
    await chat.send('go');
    expect((await chat.send({ resume: [approve(only(chat.interrupts))] })).text).toBe('done');
    expect(log).toEqual(['paid 1']);
  });

  test('by agents, also for a question of a sub-agent', async () => {
    const log: string[] = [];
    const { ai } = scripted([calls({ name: 'inner', input: { prompt: 'pay' } }), ...turns(), 'all done']);
    const inner = ai.defineAgent({ name: 'inner', tools: [payTool(log)] });
    const outer = ai.defineAgent({ name: 'outer', tools: [inner] });
    const { messages, interrupts } = await outer.generate('go');
    const unclear = await failureOf(outer.generate({ messages, resume: interrupts }));
    expect(only(faultsOf(unclear)).where).toBe('resume[0]');
    expect((await outer.generate({ messages, resume: [approve(only(interrupts))] })).text).toBe('all done');
    expect(log).toEqual(['paid 1']);
  });

  test('by stored conversations and runs.resume, with the caller as the decider', async () => {
    for (const through of ['chat', 'runs'] as const) {
      const log: string[] = [];
      const { ai } = scripted(turns(), { store: memoryStore() });
      const clerk = ai.defineAgent({ name: 'clerk', tools: [payTool(log)] });
      const { interrupts } = await clerk.generate({ runId: 'r', prompt: 'go' });
      const part = only(interrupts);
      const unclear = await failureOf(clerk.generate({ runId: 'r', resume: [part] }));
      expect(unclear.code).toBe('invalid-resume');
      expect(log).toEqual([]);
      if (through === 'chat') await clerk.chat({ runId: 'r' }).send({ resume: [approve(part)], by: 'ann' });
      else await internalsOf(ai.runs).resume('r', [approve(part)], { by: 'ann' });
      await ai.runs.wait('r');
      expect(log).toEqual(['paid 1']);
      const { items } = await ai.runs.requests({ settled: true });
      expect(only(items).settlement).toMatchObject({ by: 'ann', decision: { type: 'approve' } });
    }
  });

  test('by a generate inside a tool', async () => {
    const log: string[] = [];
    const { ai } = scripted([calls({ name: 'outer' }), ...turns(), 'all done']);
    const pay = payTool(log);
    const outer = tool({ name: 'outer', description: 'Generates.' }, async (_input, { resumed, interrupt: pause }) => {
      const inner = await ai.generate({ tools: [pay], ...(resumed ?? { prompt: 'pay' }) });
      if (inner.interrupts.length > 0) pause(inner);
      return inner.text;
    });
    const { messages, interrupts } = await ai.generate({ prompt: 'go', tools: [outer] });
    const done = await ai.generate({ tools: [outer], messages, resume: [approve(only(interrupts))] });
    expect(done.text).toBe('all done');
    expect(log).toEqual(['paid 1']);
  });
});
