// A plan of a sub-agent is decided at the root, and its calls inside use it.
import { countersign, type Json, memoryStore, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import { decide, openRequests, pays, plans, step } from './kit.ts';

test('a sub-agent proposes a plan, and its calls run under it', async () => {
  const done: Json[] = [];
  const ai = countersign({ store: memoryStore(), retry: false });
  const inputSchema = z.object({ to: z.string(), amount: z.number() });
  const pay = ai.defineTool({ name: 'pay', description: '', inputSchema, needsApproval: true }, async (input) => {
    done.push(input);
    return 'paid';
  });
  const turns = [[plans(step(1))], [pays(1)]];
  const inner = scriptedModel(({ messages }) => {
    const turn = turns[messages.filter(({ role }) => role === 'model').length];
    return turn ? { calls: turn } : 'Done.';
  });
  const clerk = ai.defineAgent({ name: 'clerk', model: inner, tools: [pay, ai.planTool({ tools: [pay] })] });
  const outer = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: 'clerk', input: { prompt: 'Pay.' } }] },
  );
  const boss = ai.defineAgent({ name: 'boss', model: outer, tools: [clerk] });
  const { id } = await boss.start('Go.', { by: 'ann' });
  await ai.runs.wait(id);
  const [plan] = await openRequests(ai, id);
  expect(plan).toMatchObject({ tool: 'plan' });
  await decide(ai, plan?.id ?? '', 'approve', 'ben');
  expect(done).toEqual([{ to: 'ACME', amount: 1 }]);
  expect((await ai.grants.plan(plan?.id ?? ''))?.steps).toMatchObject([
    { status: 'used-up', calls: [{ runId: id, outcome: { state: 'done' } }] },
  ]);
});
