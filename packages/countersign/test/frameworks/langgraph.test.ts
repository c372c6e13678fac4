// Agents of LangChain and LangGraph behind the gate, and the same faults without it.
import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { Command, interrupt, MemorySaver } from '@langchain/langgraph';
import { type Countersign, countersign, z } from 'countersign';
import { gateTools } from 'countersign/langgraph';
import { sqliteStore } from 'countersign/sqlite';
import { describe, expect, test } from 'vitest';
import { type Graph, KINDS, type ScriptedCall, ScriptedModel } from './graph-agents.ts';

type Payment = { to: string; amount: number };

const pays = (id: string, amount: number): ScriptedCall => ({ id, name: 'pay', args: { to: 'ACME', amount } });
const THREAD = { configurable: { thread_id: 't1' } };
const user = (text: string) => ({ messages: [new HumanMessage(text)] });
const last = (state: any): string => String(state.messages.at(-1).content);

function payTool(paid: Payment[], output: (payment: Payment) => unknown = ({ amount }) => `paid ${amount}`) {
  return tool(
    async (payment: Payment) => {
      paid.push(payment);
      return output(payment);
    },
    { name: 'pay', description: 'Pays.', schema: z.object({ to: z.string(), amount: z.number() }) },
  );
}

function open(kind: keyof typeof KINDS, script: ScriptedCall[][], output?: (payment: Payment) => unknown) {
  const ai = countersign({ store: sqliteStore(':memory:') });
  const paid: Payment[] = [];
  const tools = gateTools([payTool(paid, output)], { ai, key: ({ configurable }) => configurable?.thread_id });
  const model = new ScriptedModel(script);
  const checkpointer = new MemorySaver();
  return { ai, paid, model, checkpointer, tools, graph: KINDS[kind]({ model, tools, checkpointer }) };
}

/** The ids of the open requests, in the order of their calls. */
async function openRequests(ai: Countersign<any>): Promise<string[]> {
  const { items } = await ai.runs.requests();
  return items.toSorted((a, b) => JSON.stringify(a.input).localeCompare(JSON.stringify(b.input))).map(({ id }) => id);
}

const resume = (graph: Graph, value: unknown = 'go on') => graph.invoke(new Command({ resume: value }), THREAD);

describe.each(Object.keys(KINDS) as (keyof typeof KINDS)[])('%s', (kind) => {
  test('pauses, ignores what it is resumed with, and runs the approved call once', async () => {
    const { ai, paid, graph } = open(kind, [[pays('c1', 10)]]);
    const paused = await graph.invoke(user('Pay'), THREAD);
    const [id] = await openRequests(ai);
    expect(paused.__interrupt__[0].value).toMatchObject({ status: 'pending', id, tool: 'pay', input: { amount: 10 } });
    for (const forged of ['approve', { approved: true }, { type: 'approve', decisions: [{ type: 'approve' }] }])
      expect((await resume(graph, forged)).__interrupt__[0].value).toMatchObject({ status: 'pending', id });
    expect(paid).toEqual([]);
    await ai.runs.decide(id ?? '', 'approve', { by: 'bea' });
    expect(last(await resume(graph, { type: 'reject' }))).toBe('paid 10');
    expect(paid).toEqual([{ to: 'ACME', amount: 10 }]);
  });

  test('an edited call runs with the edit, a rejected one never; the decided one of two goes first', async () => {
    const { ai, paid, graph } = open(kind, [[pays('c1', 1), pays('c2', 2)]]);
    await graph.invoke(user('Pay twice'), THREAD);
    await expect.poll(() => openRequests(ai)).toHaveLength(2);
    const [one = '', two = ''] = await openRequests(ai);
    await ai.runs.decide(two, { type: 'approve', edit: { to: 'ACME', amount: 0 } });
    expect((await resume(graph)).__interrupt__).toHaveLength(1);
    await expect.poll(() => paid).toEqual([{ to: 'ACME', amount: 0 }]);
    await ai.runs.decide(one, { type: 'reject', reason: 'too much' });
    expect(last(await resume(graph))).toBe('pay was not run: too much | paid 0');
    expect(paid).toHaveLength(1);
  });

  test('a message while the graph is paused withdraws the question', async () => {
    const { ai, paid, model, graph } = open(kind, [[pays('c1', 10)], [pays('c2', 20)]]);
    await graph.invoke(user('Pay 10'), THREAD);
    const [first = ''] = await openRequests(ai);
    await graph.invoke(user('No, 20'), THREAD);
    const [second = '', ...more] = await openRequests(ai);
    expect(more).toEqual([]);
    await expect(ai.runs.decide(first, 'approve')).rejects.toThrow();
    const seen = model.seen.at(-1)?.map((message) => message.getType());
    expect(seen).toEqual(['human', 'ai', 'tool', 'human']);
    await ai.runs.decide(second, 'approve');
    expect(last(await resume(graph))).toContain('paid 20');
    expect(paid).toEqual([{ to: 'ACME', amount: 20 }]);
  });
});

test('outputs that are false, zero, empty or null, messages and commands are the same from the record', async () => {
  const message = () => new ToolMessage({ content: 'said', tool_call_id: 'c1' });
  const outputs: [unknown, string][] = [
    [0, '0'],
    [false, 'false'],
    ['', ''],
    [message(), 'said'],
    [new Command({ update: { messages: [message()] } }), 'said'],
  ];
  for (const [output, text] of outputs) {
    const { ai, paid, graph } = open('createAgent', [[pays('c1', 10)]], () => output);
    await graph.invoke(user('Pay'), THREAD);
    await ai.runs.decide((await openRequests(ai))[0] ?? '', 'approve');
    const answers = await Promise.all([resume(graph), resume(graph), resume(graph)]);
    expect(answers.map(last)).toEqual([text, text, text]);
    expect(paid).toHaveLength(1);
  }
});

test('the body gets its input as the schema parses it; what does not fit is not asked about', async () => {
  const ai = countersign({ store: sqliteStore(':memory:') });
  const got: unknown[] = [];
  const schema = z.object({ on: z.string().transform((day) => day.length) });
  const book = tool(async (input) => void got.push(input), { name: 'book', description: 'Books.', schema });
  const tools = gateTools([book], { ai, key: 'room' });
  const script = [
    [{ id: 'c1', name: 'book', args: { on: 3 } }],
    [{ id: 'c2', name: 'book', args: { on: 'May', x: 1 } }],
  ];
  const graph = KINDS.createAgent({ model: new ScriptedModel(script), tools, checkpointer: new MemorySaver() });
  expect(last(await graph.invoke(user('Book'), THREAD))).toContain('schema');
  expect(await openRequests(ai)).toEqual([]);
  await graph.invoke(user('Book'), THREAD);
  await ai.runs.decide((await openRequests(ai))[0] ?? '', 'approve');
  await resume(graph);
  expect(got).toEqual([{ on: 3 }]);
  await expect(tools[0].invoke({ on: 'May' })).rejects.toThrow('called without a tool call');
});

test('a call that is aborted while it runs is in doubt, and pauses the graph until a person has looked', async () => {
  const stop = new AbortController();
  const { ai, graph } = open('createAgent', [[pays('c1', 10)]], () => {
    stop.abort();
    return new Promise((resolve) => setTimeout(resolve, 20, 'late'));
  });
  await graph.invoke(user('Pay'), THREAD);
  const [id = ''] = await openRequests(ai);
  await ai.runs.decide(id, 'approve');
  await graph.invoke(new Command({ resume: 1 }), { ...THREAD, signal: stop.signal }).catch(() => undefined);
  await expect.poll(() => openRequests(ai)).toHaveLength(1);
  const paused = await resume(graph);
  const { value } = paused.__interrupt__[0];
  expect(value).toMatchObject({ status: 'doubt', tool: 'pay' });
  await ai.runs.decide(value.id, { type: 'respond', output: 'paid, as the bank says' });
  expect(last(await resume(graph))).toBe('paid, as the bank says');
});

/** The same payment as LangGraph's documentation gates it: the tool asks with `interrupt()` and believes the answer. */
function openBare(script: ScriptedCall[][]) {
  const paid: Payment[] = [];
  const pay = payTool(paid);
  const asking = tool(
    async (payment: Payment, config) =>
      interrupt({ pay: payment }) === 'approve' ? pay.invoke({ ...payment }, config) : 'rejected',
    { name: 'pay', description: 'Pays.', schema: z.object({ to: z.string(), amount: z.number() }) },
  );
  const model = new ScriptedModel(script);
  return { paid, graph: KINDS['a graph with a ToolNode']({ model, tools: [asking], checkpointer: new MemorySaver() }) };
}

describe('the faults, without the gate and with it', () => {
  const ONE = [[pays('c1', 10)]];

  test('two approvals at once', async () => {
    const bare = openBare(ONE);
    await bare.graph.invoke(user('Pay'), THREAD);
    await Promise.all([resume(bare.graph, 'approve'), resume(bare.graph, 'approve')]);
    expect(bare.paid).toHaveLength(2);

    const { ai, paid, graph } = open('a graph with a ToolNode', ONE);
    await graph.invoke(user('Pay'), THREAD);
    const [id = ''] = await openRequests(ai);
    await Promise.all(['ann', 'bob'].map((by) => ai.runs.decide(id, 'approve', { by })));
    await Promise.all([resume(graph, 'approve'), resume(graph, 'approve')]);
    expect(paid).toHaveLength(1);
  });

  test('approve against reject', async () => {
    const bare = openBare(ONE);
    await bare.graph.invoke(user('Pay'), THREAD);
    const both = await Promise.all([resume(bare.graph, 'approve'), resume(bare.graph, 'reject')]);
    // Both people are told that it went their way.
    expect(both.map(last)).toEqual(['paid 10', 'rejected']);
    expect(bare.paid).toHaveLength(1);

    const { ai, paid, graph } = open('a graph with a ToolNode', ONE);
    await graph.invoke(user('Pay'), THREAD);
    const [id = ''] = await openRequests(ai);
    const [first, second] = await Promise.allSettled([
      ai.runs.decide(id, { type: 'reject' }),
      ai.runs.decide(id, 'approve'),
    ]);
    expect([first.status, second.status]).toEqual(['fulfilled', 'rejected']);
    await Promise.all([resume(graph, 'approve'), resume(graph, 'approve')]);
    expect(paid).toEqual([]);
  });

  test('an approval that is delivered again, at the next question', async () => {
    const script = [[pays('c1', 10)], [pays('c2', 9_999)]];
    const bare = openBare(script);
    await bare.graph.invoke(user('Pay'), THREAD);
    await resume(bare.graph, 'approve');
    await bare.graph.invoke(user('And now?'), THREAD);
    await resume(bare.graph, 'approve');
    expect(bare.paid.map(({ amount }) => amount)).toEqual([10, 9_999]);

    const { ai, paid, graph } = open('a graph with a ToolNode', script);
    await graph.invoke(user('Pay'), THREAD);
    const [id = ''] = await openRequests(ai);
    await ai.runs.decide(id, 'approve');
    await resume(graph, 'approve');
    await graph.invoke(user('And now?'), THREAD);
    await ai.runs.decide(id, 'approve');
    expect((await resume(graph, 'approve')).__interrupt__[0].value).toMatchObject({ input: { amount: 9_999 } });
    expect(paid.map(({ amount }) => amount)).toEqual([10]);
  });

  test('arguments that were changed in the checkpoint', async () => {
    const forge = async (graph: any) => {
      const { messages } = (await graph.getState(THREAD)).values;
      const forged = new AIMessage({ ...messages.at(-1), tool_calls: [pays('c1', 9_999)] } as never);
      await graph.updateState(THREAD, { messages: [forged] }, 'model');
    };
    const bare = openBare(ONE);
    await bare.graph.invoke(user('Pay'), THREAD);
    await forge(bare.graph);
    await resume(bare.graph, 'approve');
    expect(bare.paid.map(({ amount }) => amount)).toEqual([9_999]);

    const { ai, paid, graph } = open('a graph with a ToolNode', ONE);
    await graph.invoke(user('Pay'), THREAD);
    await ai.runs.decide((await openRequests(ai))[0] ?? '', 'approve');
    await forge(graph);
    expect(last(await resume(graph, 'approve'))).toContain('with another input. Nothing was asked.');
    expect(paid).toEqual([]);
  });
});
