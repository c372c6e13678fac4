// The stand-in model drives whole runs: it calls, waits for decisions, and says what became of each call.
import { countersign, memoryStore, NotPerformed, z } from 'countersign';
import { standInModel } from 'countersign/testing';
import { expect, test } from 'vitest';

function office() {
  const ai = countersign({ model: standInModel(), store: memoryStore() });
  const pay = ai.defineTool(
    {
      name: 'pay',
      description: 'Pays a bill.',
      inputSchema: z.object({ to: z.string(), amount: z.number().max(5_000) }),
      needsApproval: ({ amount }) => amount > 100,
    },
    ({ to, amount }) => {
      if (to === 'Eve') throw new NotPerformed('Eve has no account.');
      return `Paid ${amount} to ${to}`;
    },
  );
  const choose = ai.defineInterrupt({
    name: 'choose',
    description: 'Asks the user to choose a day.',
    inputSchema: z.object({ question: z.string(), choices: z.array(z.string()) }),
    outputSchema: z.string(),
  });
  const clerk = ai.defineAgent({ name: 'clerk', description: 'Pays bills.', tools: [pay, choose] });
  ai.defineAgent({ name: 'boss', tools: [clerk] });
  const say = async (text: string, agent = clerk) => {
    const { id } = await agent.start(text);
    return ai.runs.wait(id);
  };
  const decide = async (decision: Parameters<typeof ai.runs.decide>[1]) => {
    const [request] = (await ai.runs.requests()).items;
    if (!request) throw new Error('Expected a request.');
    await ai.runs.decide(request, decision, { by: 'ann' });
    return (await ai.runs.wait(request.runId)).text;
  };
  return { ai, say, decide };
}

test('an approved, an edited and a rejected call end with a sentence about it', async () => {
  const { say, decide } = office();
  expect(await say('Pay ACME 950')).toMatchObject({ status: 'waiting', text: 'Stand-in model: I will pay ACME 950.' });
  expect(await decide('approve')).toBe('Stand-in model: pay was approved and returned Paid 950 to ACME.');
  await say('Pay ACME 950');
  expect(await decide({ type: 'approve', edit: { to: 'ACME', amount: 900 } })).toBe(
    'Stand-in model: pay ran with the edited input {"to":"ACME","amount":900} and returned Paid 900 to ACME.',
  );
  await say('Pay ACME 950');
  expect(await decide({ type: 'reject', reason: 'too much' })).toBe(
    'Stand-in model: pay was rejected by a person. It did not run. Reason: too much.',
  );
});

test('a call without a gate, a failed one and a refused input end with a sentence about it', async () => {
  const { say } = office();
  expect((await say('Pay ACME 20')).text).toBe('Stand-in model: pay returned Paid 20 to ACME.');
  expect((await say('Pay Eve 20')).text).toMatch(/^Stand-in model: pay failed: .*Eve has no account/);
  expect((await say('Pay ACME 9000 euros')).text).toMatch(/^Stand-in model: pay failed: .*amount/s);
});

test('a call with a value that nobody named is not made: the person is asked for it', async () => {
  const { ai, say } = office();
  const { id } = await say('Pay ACME');
  expect(await ai.runs.get(id)).toMatchObject({ text: 'Stand-in model: To pay, I need to know the amount.' });
  expect((await ai.runs.requests()).items).toEqual([]);
  await ai.agents.get('clerk')?.generate({ runId: id, prompt: '950 euros' });
  expect((await ai.runs.requests()).items).toMatchObject([{ tool: 'pay', input: { to: 'ACME', amount: 950 } }]);
});

test('several calls wait together, and a question is answered', async () => {
  const { ai, say, decide } = office();
  const { id, pending } = await say('Pay ACME 950 and Birch 500');
  expect(pending).toHaveLength(2);
  await decide('approve');
  expect(await decide('reject')).toMatch(/^Stand-in model: pay was approved.* pay was rejected/);
  expect(await ai.runs.get(id)).toMatchObject({ status: 'done' });
  await say('Let me choose a day: Monday or Friday');
  expect(await decide({ type: 'respond', output: 'Friday' })).toBe('Stand-in model: The answer to choose is Friday.');
});

test('a sub-agent gets the message and picks its own tool', async () => {
  const { ai, say, decide } = office();
  const { id } = await say('Ask the clerk to pay ACME 950', ai.agents.get('boss'));
  expect((await ai.runs.requests()).items).toMatchObject([{ tool: 'pay', input: { to: 'ACME', amount: 950 } }]);
  expect(await decide('approve')).toContain('clerk returned');
  expect(await ai.runs.get(id)).toMatchObject({ status: 'done' });
});
