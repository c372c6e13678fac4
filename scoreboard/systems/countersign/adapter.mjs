// Countersign alone: an agent whose runs are stored in one SQLite file.
import { countersign, z } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { scriptedModel } from 'countersign/testing';
import { callOf, promptOf, textOf, toldBy } from '../../lib/model.mjs';

const model = scriptedModel(({ messages }) => {
  const last = messages.at(-1);
  if (last.role === 'tool') return textOf(last.content[0].toolResponse.output);
  const { id, name, input } = callOf(last.content);
  return { calls: [{ name, ref: id, input }] };
});

export async function open({ folder, pay, version = 1, deadlineMs }) {
  const ai = countersign({ store: sqliteStore(`${folder}/runs.db`), model, leaseMs: 1_000 });
  const tool = ai.defineTool(
    {
      name: 'pay',
      description: version === 1 ? 'Pays.' : 'Pays an invoice.',
      inputSchema: z.object({ to: z.string(), amount: z.number() }),
      title: ({ to, amount }) => `Pay ${amount} to ${to}`,
      needsApproval: true,
      ...(deadlineMs !== undefined && { expiresIn: deadlineMs }),
    },
    async (input, { step }) => {
      if (version === 2) await step('checked', () => true);
      return pay(input);
    },
  );
  const clerk = ai.defineAgent({ name: 'clerk', tools: [tool] });
  ai.runs.work({ concurrency: 8 });
  const pending = async (id) => (await ai.runs.requests({ runId: id, settled: false })).items[0];
  const ended = async (id) => {
    const run = await ai.runs.wait(id, { timeoutMs: 8_000 });
    return run.status === 'waiting' ? 'asked' : toldBy(run.text);
  };
  const decide = async (id, decision) => {
    const request = await pending(id);
    if (!request) throw new Error('Nothing waits for a decision.');
    await ai.runs.decide(request.id, decision, { by: decision === 'approve' ? 'bea' : 'rob' });
    return ended(id);
  };
  return {
    decide,
    replay: async (id) => {
      const [request] = (await ai.runs.requests({ runId: id, settled: true })).items;
      await ai.runs.decide(request.id, 'approve', { by: 'bea' });
      return ended(id);
    },
    hasDeadline: () => true,
    async start(id) {
      await clerk.start(promptOf(id), { runId: id, by: 'ann' });
      await ai.runs.wait(id);
    },
    async look(id) {
      const run = await ai.runs.get(id);
      if (run.status === 'done') return toldBy(run.text);
      if (run.status !== 'waiting') return 'unfinished';
      return (await pending(id))?.kind === 'doubt' ? 'asked' : 'waiting';
    },
    async answer(id, isPaid) {
      const request = await pending(id);
      const answer = isPaid ? { type: 'respond', output: `paid, says the bank, to ${id}` } : 'approve';
      await ai.runs.decide(request.id, answer, { by: 'bea' });
    },
    // Its workers take over.
    recover: (id) => ended(id),
  };
}
