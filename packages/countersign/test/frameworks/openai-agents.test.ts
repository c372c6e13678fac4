// The gate in front of the tools of the OpenAI Agents SDK, with its real loop and its saved state; and the SDK without it.
import { type Agent, RunState, tool } from '@openai/agents';
import { countersign, NotPerformed, z } from 'countersign';
import { approveDecided, gateTools } from 'countersign/openai-agents';
import { sqliteStore } from 'countersign/sqlite';
import { expect, expectTypeOf, test } from 'vitest';
import { type AgentOptions, ONE_CALL, type Payment, payingAgent, runner, type ScriptedCall } from './openai-agent.ts';

const ACME: Payment = { to: 'ACME', amount: 950 };

function openProcess(calls: readonly ScriptedCall[] = ONE_CALL, output?: unknown) {
  const ai = countersign({ store: sqliteStore(':memory:') });
  const paid: Payment[] = [];
  const pay = async (input: Payment) => {
    paid.push(input);
    await new Promise((resolve) => setTimeout(resolve, 20));
    return output === undefined ? `paid ${input.amount}` : output;
  };
  const agent = (options: Partial<AgentOptions> = {}) => payingAgent({ ai, calls, pay, ...options });
  const bare = () => payingAgent({ calls, pay });
  const asked = async () => (await ai.runs.requests()).items;
  return { ai, paid, agent, bare, asked };
}

type AnyAgent = Agent<any, any>;

/** Runs until the pause, and returns the saved state. */
async function paused(agent: AnyAgent): Promise<string> {
  const result = await runner.run(agent, 'Pay.');
  expect(result.interruptions.length).toBeGreaterThan(0);
  return result.state.toString();
}

async function resumed(agent: AnyAgent, saved: string, decide?: 'approve' | 'reject') {
  const state = await RunState.fromString(agent, saved);
  for (const item of decide ? state.getInterruptions() : []) state[decide as 'approve'](item);
  if (!decide) await approveDecided(state);
  return runner.run(agent, state);
}

test('the agent pauses, and the saved state goes on once the record says approved', async () => {
  const { ai, agent, asked, paid } = openProcess();
  const saved = await paused(agent());
  const [request] = await asked();
  expect(request).toMatchObject({ tool: 'pay', input: ACME, title: 'Pay ACME' });
  const early = await resumed(agent(), saved);
  expect(early.interruptions).toHaveLength(1);
  expect(await asked()).toHaveLength(1);
  await ai.runs.decide(request?.id ?? '', 'approve', { by: 'bea' });
  expect((await resumed(agent(), saved)).finalOutput).toBe('paid 950');
  expect(paid).toEqual([ACME]);
});

test("the framework's approve is not a decision, and not needed", async () => {
  const { ai, agent, asked, paid } = openProcess();
  const saved = await paused(agent());
  expect((await resumed(agent(), saved, 'approve')).finalOutput).toContain("waits for a person's decision");
  expect(paid).toEqual([]);
  await ai.runs.decide((await asked())[0]?.id ?? '', 'approve');
  expect((await resumed(agent(), saved, 'approve')).finalOutput).toBe('paid 950');
  expect(paid).toEqual([ACME]);
});

test('a rejected call never runs, an edited one runs with the edit', async () => {
  const { ai, agent, asked, paid } = openProcess();
  const saved = await paused(agent());
  await ai.runs.decide((await asked())[0]?.id ?? '', { type: 'reject', reason: 'too much' });
  expect((await resumed(agent(), saved, 'approve')).finalOutput).toBe('pay was not run: too much');
  expect(paid).toEqual([]);
  const next = await paused(agent({ key: 'conversation 2' }));
  await ai.runs.decide((await asked())[0]?.id ?? '', { type: 'approve', edit: { to: 'ACME', amount: 1 } });
  expect((await resumed(agent({ key: 'conversation 2' }), next)).finalOutput).toBe('paid 1');
  expect(paid).toEqual([{ to: 'ACME', amount: 1 }]);
});

test('outputs that are false, zero, empty or null are outputs', async () => {
  for (const output of [0, '', false, null]) {
    const { ai, agent, asked, paid } = openProcess(ONE_CALL, output);
    const saved = await paused(agent());
    await ai.runs.decide((await asked())[0]?.id ?? '', 'approve');
    for (let time = 0; time < 2; time += 1)
      expect((await resumed(agent(), saved)).finalOutput).toBe(output === null ? 'null' : String(output));
    expect(paid).toHaveLength(1);
  }
});

test('of two calls the decided one runs, the other stays pending', async () => {
  const calls = [1, 2].map((amount) => ({ id: `call_${amount}`, input: { to: 'ACME', amount } }));
  const { ai, agent, asked, paid } = openProcess(calls);
  const saved = await paused(agent());
  const idOf = async (amount: number) =>
    (await asked()).find(({ input }) => (input as Payment).amount === amount)?.id ?? '';
  await ai.runs.decide(await idOf(2), 'approve');
  const partly = await resumed(agent(), saved);
  expect(partly.interruptions).toHaveLength(1);
  expect(paid).toEqual([{ to: 'ACME', amount: 2 }]);
  await ai.runs.decide(await idOf(1), 'approve');
  // From the newer state and from the older one: nothing runs twice.
  for (const state of [partly.state.toString(), saved])
    expect((await resumed(agent(), state)).finalOutput?.split(' | ').toSorted()).toEqual(['paid 1', 'paid 2']);
  expect(paid).toHaveLength(2);
});

test('arguments that do not fit are a result for the model, and nobody is asked', async () => {
  const { agent, asked, paid } = openProcess([{ id: 'call_1', input: { to: 'ACME' } }]);
  expect((await runner.run(agent(), 'Pay.')).finalOutput).toContain('does not fit the schema of pay');
  expect([await asked(), paid]).toEqual([[], []]);
});

test('arguments that are not JSON pause the framework, and are a result for the model when it goes on', async () => {
  const { agent, asked, paid } = openProcess([{ id: 'call_1', input: '{"to":' }]);
  const saved = await paused(agent());
  expect((await resumed(agent(), saved)).finalOutput).toContain('try again with valid JSON');
  expect([await asked(), paid]).toEqual([[], []]);
});

test('a tool asks only if its function says so, and its failure is recorded', async () => {
  const { ai, asked } = openProcess();
  let tries = 0;
  const failing = tool({
    name: 'pay',
    description: 'Pays.',
    parameters: z.object({ to: z.string(), amount: z.number() }),
    errorFunction: null,
    execute: async (): Promise<string> => {
      tries += 1;
      throw new NotPerformed('no funds');
    },
  });
  const asks = { pay: { needsApproval: ({ amount }: Payment) => amount > 1000 } };
  const gated = gateTools([failing], { ai, key: 's', asks });
  expectTypeOf(gated).toEqualTypeOf<[typeof failing]>();
  const agent = payingAgent({ pay: () => 'never' }).clone({ tools: gated });
  for (let time = 0; time < 2; time += 1) expect((await runner.run(agent, 'Pay.')).finalOutput).toContain('no funds');
  expect([await asked(), tries]).toEqual([[], 1]);
});

test('two resumes at the same moment run the call once; without the gate they run it twice', async () => {
  const { ai, agent, bare, asked, paid } = openProcess();
  const saved = await paused(agent());
  await ai.runs.decide((await asked())[0]?.id ?? '', 'approve');
  const both = await Promise.all([1, 2].map(() => resumed(agent(), saved, 'approve')));
  expect(both.map(({ finalOutput }) => finalOutput)).toEqual(['paid 950', 'paid 950']);
  expect(paid).toHaveLength(1);

  const unsafe = await paused(bare());
  await Promise.all([1, 2].map(() => resumed(bare(), unsafe, 'approve')));
  expect(paid).toHaveLength(3);
});

test('of approve and reject one counts, and the loser is told; without the gate both are told yes', async () => {
  const { ai, agent, bare, asked, paid } = openProcess();
  const saved = await paused(agent());
  const id = (await asked())[0]?.id ?? '';
  const decisions = await Promise.allSettled([ai.runs.decide(id, 'approve'), ai.runs.decide(id, 'reject')]);
  expect(decisions.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  expect((await resumed(agent(), saved)).finalOutput).toBe('paid 950');
  expect(paid).toHaveLength(1);

  const unsafe = await paused(bare());
  const both = await Promise.all([resumed(bare(), unsafe, 'approve'), resumed(bare(), unsafe, 'reject')]);
  expect(both.map(({ finalOutput }) => finalOutput)).toEqual(['paid 950', expect.stringContaining('not approved')]);
  expect(paid).toHaveLength(2);
});

test('an old state that is resumed again runs nothing again; without the gate it does', async () => {
  const { ai, agent, bare, asked, paid } = openProcess();
  const saved = await paused(agent());
  await ai.runs.decide((await asked())[0]?.id ?? '', 'approve');
  const first = await resumed(agent(), saved);
  await runner.run(agent(), [...first.history, { role: 'user', content: 'Thank you.' }]);
  await resumed(agent(), saved);
  expect(paid).toHaveLength(1);

  const unsafe = await paused(bare());
  await resumed(bare(), unsafe, 'approve');
  await resumed(bare(), unsafe, 'approve');
  expect(paid).toHaveLength(3);
});

test('changed arguments in the saved state run nothing; without the gate they run', async () => {
  const { ai, agent, bare, asked, paid } = openProcess();
  const saved = await paused(agent());
  await ai.runs.decide((await asked())[0]?.id ?? '', 'approve');
  const forged = saved.replaceAll('950', '999999');
  await expect(resumed(agent(), forged)).rejects.toThrow('was used for a call of pay with another input');
  await expect(resumed(agent(), forged, 'approve')).rejects.toThrow();
  // An invented call is a new question.
  const invented = await resumed(agent(), forged.replaceAll('call_1', 'call_9'), 'approve');
  expect(invented.finalOutput).toContain("waits for a person's decision");
  expect(paid).toEqual([]);

  await resumed(bare(), (await paused(bare())).replaceAll('950', '999999'), 'approve');
  expect(paid).toEqual([{ to: 'ACME', amount: 999999 }]);
});

test('only tools with a function of their own can be gated', () => {
  const { ai } = openProcess();
  const hosted = { type: 'hosted_tool', name: 'web_search' } as never;
  expect(() => gateTools([hosted], { ai, key: 's' })).toThrow('web_search is not one');
  expect(() => gateTools([], { ai, key: 's', approve: ['pay'] as never })).toThrow('which is not one of its tools');
  expect(() => gateTools([], { ai } as never)).toThrow('key');
});
