// The OpenAI Agents SDK: a run that is interrupted. Bare, by `needsApproval`.
import { Agent, Runner, setTracingDisabled, tool, Usage } from '@openai/agents';
import { approveDecided, gateTools } from 'countersign/openai-agents';
import { z } from 'zod';
import { makePlan, makeTools, PROMPT, SYSTEM } from '../lib/plan.mjs';

setTracingDisabled(true);

export function open(gate) {
  const impl = makeTools();
  const lookup = tool({
    name: 'lookup',
    description: 'lookup',
    parameters: z.object({ key: z.string() }),
    execute: async (i) => impl.lookup(i),
  });
  const transfer = tool({
    name: 'transfer',
    description: 'transfer',
    parameters: z.object({ to: z.string(), amount: z.number() }),
    needsApproval: true,
    execute: async (i) => impl.transfer(i),
  });
  const plain = [lookup, transfer];
  const models = { approved: modelOf(makePlan('approve')), ungated: modelOf(makePlan('loop', 1)) };
  const runner = new Runner({ tracingDisabled: true });
  let conversations = 0;
  const agentOf = (model) => {
    const key = `conversation-${++conversations}`;
    const tools = gate ? gateTools(plain, { ai: gate.ai, key, approve: ['transfer'] }) : plain;
    return new Agent({ name: 'clerk', instructions: SYSTEM, model, tools });
  };
  return {
    counts: impl.counts,
    async approved() {
      const agent = agentOf(models.approved);
      const { state } = await runner.run(agent, PROMPT);
      if (gate) {
        await gate.approve();
        await approveDecided(state);
      } else for (const item of state.getInterruptions()) state.approve(item);
      return (await runner.run(agent, state)).finalOutput;
    },
    ungated: async () => (await runner.run(agentOf(models.ungated), PROMPT)).finalOutput,
  };
}

function modelOf(plan) {
  return {
    async getResponse({ input }) {
      const { calls, text } = plan.next(typeof input !== 'string' && input.at(-1).type === 'function_call_result');
      const message = {
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text }],
      };
      const output = calls
        ? calls.map(({ id, name, args }) => ({
            type: 'function_call',
            callId: id,
            name,
            status: 'completed',
            arguments: JSON.stringify(args),
          }))
        : [message];
      return { usage: new Usage(), output };
    },
    getStreamedResponse() {
      throw new Error('This model does not stream.');
    },
  };
}
