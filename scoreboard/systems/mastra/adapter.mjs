// Mastra: an agent with `requireApproval`, and its storage in a LibSQL file.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core/mastra';
import { createTool } from '@mastra/core/tools';
import { LibSQLStore } from '@mastra/libsql';
import * as engine from 'countersign';
import { gateTools } from 'countersign/mastra';
import { sqliteStore } from 'countersign/sqlite';
import { z } from 'zod';
import { openGate, TITLE } from '../../lib/gate.mjs';
import { partsOf, promptOf, toldBy } from '../../lib/model.mjs';

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
const model = {
  ...{ specificationVersion: 'v2', provider: 'scripted', modelId: 'scripted', supportedUrls: {} },
  async doGenerate({ prompt }) {
    const { content, reason } = partsOf(prompt);
    return { content, finishReason: reason, usage, warnings: [] };
  },
  doStream: () => Promise.reject(new Error('This model does not stream.')),
};

export async function open({ folder, pay, gated, version = 1, deadlineMs }) {
  const gate = gated ? openGate({ ...engine, sqliteStore }, folder) : undefined;
  const own = createTool({
    id: 'pay',
    description: version === 1 ? 'Pays.' : 'Pays an invoice.',
    inputSchema: z.object({ to: z.string(), amount: z.number() }),
    execute: async (input) => pay(input),
    ...(!gated && { requireApproval: true }),
  });
  const storage = new LibSQLStore({ id: 'storage', url: `file:${folder}/mastra.db` });
  const asks = deadlineMs === undefined ? {} : { asks: { pay: { expiresIn: deadlineMs } } };
  const tools = gated ? gateTools({ pay: own }, { ai: gate.ai, key: 'clerk', title: TITLE, ...asks }) : { pay: own };
  const clerk = new Agent({ id: 'clerk', name: 'clerk', instructions: 'You pay.', model, tools });
  const agent = new Mastra({ agents: { clerk }, storage, logger: false }).getAgent('clerk');

  // What a program keeps of a run: the id that it answers with, and the text at the end.
  const file = (id) => `${folder}/${id}.json`;
  const load = (id) => (existsSync(file(id)) ? JSON.parse(readFileSync(file(id), 'utf8')) : {});
  const told = (id, result) => {
    if (result.finishReason === 'suspended') return 'asked';
    writeFileSync(file(id), JSON.stringify({ ...load(id), text: result.text }));
    return toldBy(result.text);
  };
  const resume = async (id, decision) => {
    const at = { runId: load(id).runId, toolCallId: `call_${id}` };
    if (gated) return told(id, await agent.resumeGenerate({ resumed: true }, at));
    return told(
      id,
      await (decision === 'approve' ? agent.approveToolCallGenerate(at) : agent.declineToolCallGenerate(at)),
    );
  };
  return {
    async start(id) {
      const { runId } = await agent.generate(promptOf(id));
      writeFileSync(file(id), JSON.stringify({ runId }));
    },
    async decide(id, decision) {
      await gate?.decide(id, decision);
      return resume(id, decision);
    },
    replay: (id) => resume(id, 'approve'),
    async look(id) {
      const asked = await gate?.look(id);
      if (asked === 'asked' || asked === 'waiting') return asked;
      const { runId, text } = load(id);
      if (text !== undefined) return toldBy(text);
      const { runs } = await agent.listSuspendedRuns({});
      if (!runs.some((run) => run.runId === runId)) return 'unfinished';
      return gated ? 'unfinished' : 'waiting';
    },
    recover: (id) => resume(id, 'approve'),
    ...(gate && { answer: gate.answer, hasDeadline: () => true }),
  };
}
