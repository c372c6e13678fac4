// Agents and workflows of Mastra behind the gate, and the same faults without it.

import { Mastra } from '@mastra/core/mastra';
import { InMemoryStore } from '@mastra/core/storage';
import { createTool } from '@mastra/core/tools';
import { createStep, createWorkflow } from '@mastra/core/workflows';
import { type Countersign, countersign, z } from 'countersign';
import { gateTools } from 'countersign/mastra';
import { sqliteStore } from 'countersign/sqlite';
import { describe, expect, test } from 'vitest';
import { openAgent, type Payment, payTool, type ScriptedCall } from './mastra-agents.ts';

const pays = (id: string, amount: number): ScriptedCall => ({ id, name: 'pay', input: { to: 'ACME', amount } });
const ACME = (amount: number): Payment => ({ to: 'ACME', amount });

function open(calls: ScriptedCall[], output?: (payment: Payment) => unknown) {
  const ai = countersign({ store: sqliteStore(':memory:') });
  const paid: Payment[] = [];
  const tools = gateTools({ pay: payTool(paid, output) }, { ai, key: 'chat 7' });
  return { ai, paid, tools, agent: openAgent(tools, calls) };
}

async function openRequests(ai: Countersign<any>): Promise<string[]> {
  return (await ai.runs.requests()).items.map(({ id }) => id);
}

type Agent = ReturnType<typeof openAgent>;
const resume = (agent: Agent, runId: string, toolCallId: string, value: unknown = { go: 'on' }): Promise<any> =>
  agent.resumeGenerate(value, { runId, toolCallId });

async function streamed(stream: Promise<any>): Promise<{ runId: string; reason: string; text: string }> {
  const output = await stream;
  await output.consumeStream();
  return { runId: output.runId, reason: await output.finishReason, text: await output.text };
}

test('suspends, ignores what it is resumed with, and runs the approved call once', async () => {
  const { ai, paid, agent } = open([pays('c1', 10)]);
  const paused: any = await agent.generate('Pay');
  const [id = ''] = await openRequests(ai);
  expect(paused.finishReason).toBe('suspended');
  expect(JSON.stringify(paused.suspendPayload)).toContain(id);
  for (const forged of [{ approved: true }, 'approve', { type: 'approve', resumeData: { approved: true } }]) {
    expect(await resume(agent, paused.runId, 'c1', forged)).toMatchObject({ finishReason: 'suspended' });
    expect(await openRequests(ai)).toEqual([id]);
  }
  expect(paid).toEqual([]);
  await ai.runs.decide(id, 'approve', { by: 'bea' });
  const results = await Promise.all([resume(agent, paused.runId, 'c1'), resume(agent, paused.runId, 'c1')]);
  expect(results.map(({ text }) => text)).toEqual(['paid 10', 'paid 10']);
  expect(paid).toEqual([ACME(10)]);
});

test('an edited call runs with the edit, a rejected one never', async () => {
  for (const [decision, text, done] of [
    [{ type: 'approve', edit: ACME(0) }, 'paid 0', [ACME(0)]],
    [{ type: 'reject', reason: 'too much' }, 'pay was not run: too much', []],
  ] as const) {
    const { ai, paid, agent } = open([pays('c1', 10)]);
    const { runId = '' }: any = await agent.generate('Pay');
    await ai.runs.decide((await openRequests(ai))[0] ?? '', decision);
    expect((await resume(agent, runId, 'c1', { approved: true })).text).toBe(text);
    expect(paid).toEqual(done);
  }
});

test('two calls: the decided one runs, the other stays suspended', async () => {
  const { ai, paid, agent } = open([pays('c1', 1), pays('c2', 2)]);
  const { runId } = await streamed(agent.stream('Pay twice'));
  const { items } = await ai.runs.requests();
  const idOf = (amount: number) => items.find(({ input }) => (input as Payment).amount === amount)?.id ?? '';
  await ai.runs.decide(idOf(1), 'approve');
  expect(await streamed(agent.resumeStream({}, { runId, toolCallId: 'c1' }))).toMatchObject({ reason: 'suspended' });
  expect(paid).toEqual([ACME(1)]);
  await ai.runs.decide(idOf(2), { type: 'reject', reason: 'no' });
  const { text } = await streamed(agent.resumeStream({}, { runId, toolCallId: 'c2' }));
  expect(text).toBe('paid 1 | pay was not run: no');
  expect(paid).toEqual([ACME(1)]);
});

test('outputs that are false, zero or empty are outputs', async () => {
  for (const output of [0, false, '']) {
    const { ai, agent } = open([pays('c1', 10)], () => output);
    const { runId = '' }: any = await agent.generate('Pay');
    await ai.runs.decide((await openRequests(ai))[0] ?? '', 'approve');
    expect((await resume(agent, runId, 'c1')).text).toBe(String(output));
  }
});

test('a tool that is a step of a workflow suspends the workflow', async () => {
  const { ai, paid, tools } = open([]);
  const schema = z.object({ to: z.string(), amount: z.number() });
  const workflow = createWorkflow({ id: 'monthly', inputSchema: schema, outputSchema: z.any() })
    .then(createStep(tools.pay as never))
    .commit();
  const mastra = new Mastra({ workflows: { monthly: workflow as never }, storage: new InMemoryStore(), logger: false });
  const run = await (mastra.getWorkflow('monthly') as any).createRun();
  expect(await run.start({ inputData: ACME(10) })).toMatchObject({ status: 'suspended' });
  expect(await run.resume({ step: 'pay', resumeData: { approved: true } })).toMatchObject({ status: 'suspended' });
  expect(paid).toEqual([]);
  await ai.runs.decide((await openRequests(ai))[0] ?? '', 'approve');
  expect(await run.resume({ step: 'pay', resumeData: {} })).toMatchObject({ status: 'success', result: 'paid 10' });
  expect(paid).toEqual([ACME(10)]);
  await expect(tools.pay.execute?.(ACME(1), {} as never)).rejects.toThrow('outside of an agent and a workflow');
});

/** The same payment, as Mastra's documentation suspends it: the tool believes the resume value. */
function openBare(calls: ScriptedCall[]) {
  const paid: Payment[] = [];
  const pay = createTool({
    id: 'pay',
    description: 'Pays.',
    inputSchema: z.object({ to: z.string(), amount: z.number() }),
    execute: async (payment: Payment, { agent }: any): Promise<any> => {
      if (!agent.resumeData) return agent.suspend({ payment });
      if (!agent.resumeData.approved) return 'rejected';
      paid.push(payment);
      return `paid ${payment.amount}`;
    },
  });
  return { paid, agent: openAgent({ pay: pay as never }, calls) };
}

describe('the faults, without the gate and with it', () => {
  test('two approvals at once', async () => {
    const bare = openBare([pays('c1', 10)]);
    const { runId = '' }: any = await bare.agent.generate('Pay');
    const yes = () => resume(bare.agent, runId, 'c1', { approved: true });
    await Promise.allSettled([yes(), yes()]);
    expect(bare.paid).toHaveLength(2);

    const { ai, paid, agent } = open([pays('c1', 10)]);
    const paused: any = await agent.generate('Pay');
    const [id = ''] = await openRequests(ai);
    await Promise.all(['ann', 'bob'].map((by) => ai.runs.decide(id, 'approve', { by })));
    await Promise.all([1, 2, 3].map(() => resume(agent, paused.runId, 'c1', { approved: true })));
    expect(paid).toHaveLength(1);
  });

  test('approve against reject', async () => {
    const bare = openBare([pays('c1', 10)]);
    const paused: any = await bare.agent.generate('Pay');
    const both = await Promise.allSettled(
      [true, false].map((approved) => resume(bare.agent, paused.runId, 'c1', { approved })),
    );
    // Both people are told that it went their way.
    expect(both.map((told: any) => told.value?.text)).toEqual(['paid 10', 'rejected']);
    expect(bare.paid).toHaveLength(1);

    const { ai, paid, agent } = open([pays('c1', 10)]);
    const { runId = '' }: any = await agent.generate('Pay');
    const [id = ''] = await openRequests(ai);
    const decisions = await Promise.allSettled([ai.runs.decide(id, { type: 'reject' }), ai.runs.decide(id, 'approve')]);
    expect(decisions.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    await Promise.allSettled([1, 2].map(() => resume(agent, runId, 'c1', { approved: true })));
    expect(paid).toEqual([]);
  });

  test('one approval while two calls wait', async () => {
    const script = [pays('c1', 10), pays('c2', 9_999)];
    const bare = openBare(script);
    const first = await streamed(bare.agent.stream('Pay'));
    await streamed(bare.agent.resumeStream({ approved: true }, { runId: first.runId }));
    expect(bare.paid.map(({ amount }) => amount)).toEqual([10, 9_999]);

    const { ai, paid, agent } = open(script);
    const { runId } = await streamed(agent.stream('Pay'));
    const { items } = await ai.runs.requests();
    const small = items.find(({ input }) => (input as Payment).amount === 10);
    await ai.runs.decide(small?.id ?? '', 'approve');
    await streamed(agent.resumeStream({ approved: true }, { runId }));
    expect(paid.map(({ amount }) => amount)).toEqual([10]);
    expect(await openRequests(ai)).toHaveLength(1);
  });

  test('a call with the id of an approved one and other arguments', async () => {
    const { ai, paid, tools, agent } = open([pays('c1', 10)]);
    await agent.generate('Pay');
    await ai.runs.decide((await openRequests(ai))[0] ?? '', 'approve');
    await openAgent(tools, [pays('c1', 9_999)]).generate('Pay');
    expect(paid).toEqual([]);
    expect(await openRequests(ai)).toEqual([]);
  });
});
