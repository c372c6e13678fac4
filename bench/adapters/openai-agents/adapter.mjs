// OpenAI Agents SDK (JS): tool({ needsApproval: true }), result.interruptions, state.approve(),
// run(agent, state). Saved with state.toString(), loaded with RunState.fromString().
// Tracing is off (it would otherwise batch spans for upload), which favours this peer.
import { Agent, Runner, RunState, setTracingDisabled, tool, Usage } from '@openai/agents';
import { z } from 'zod';
import { DELTA, makePlan, makeTools, neutralHistory, PROMPT, SYSTEM } from '../../lib/plan.mjs';

setTracingDisabled(true);

export const meta = {
  id: 'openai-agents',
  label: 'OpenAI Agents',
  kind: 'peer',
  core: ['@openai/agents', 'zod'],
  main: '@openai/agents',
};

export async function create({ plan: kind, n }) {
  const plan = makePlan(kind === 'stream' ? 'text' : kind, n);
  const impl = makeTools();
  const usage = () => new Usage({ requests: 1, inputTokens: 1, outputTokens: 1, totalTokens: 2 });
  const text = (t) => [
    { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: t }] },
  ];

  const model = {
    async getResponse({ input }) {
      impl.counts.model++;
      const last = typeof input === 'string' ? null : input[input.length - 1];
      const out = plan.next(last?.type === 'function_call_result');
      return {
        usage: usage(),
        output: out.calls
          ? out.calls.map((c) => ({
              type: 'function_call',
              callId: c.id,
              name: c.name,
              status: 'completed',
              arguments: JSON.stringify(c.args),
            }))
          : text(out.text),
      };
    },
    async *getStreamedResponse() {
      for (let i = 0; i < n; i++) yield { type: 'output_text_delta', delta: DELTA };
      yield {
        type: 'response_done',
        response: {
          id: 'r',
          usage: { requests: 1, inputTokens: 1, outputTokens: 1, totalTokens: 2 },
          output: text(DELTA.repeat(n)),
        },
      };
    },
  };

  const agent = new Agent({
    name: 'clerk',
    instructions: SYSTEM,
    model,
    tools: [
      tool({
        name: 'lookup',
        description: 'lookup',
        parameters: z.object({ key: z.string() }),
        execute: async (i) => impl.lookup(i),
      }),
      tool({
        name: 'transfer',
        description: 'transfer',
        parameters: z.object({ to: z.string(), amount: z.number() }),
        needsApproval: true,
        execute: async (i) => impl.transfer(i),
      }),
    ],
  });
  const runner = new Runner({ tracingDisabled: true, modelProvider: { getModel: () => model } });
  const maxTurns = kind === 'loop' ? n + 5 : 10;

  return {
    counts: impl.counts,
    history: (k) =>
      neutralHistory(k).map((m) =>
        m.role === 'user'
          ? { type: 'message', role: 'user', content: [{ type: 'input_text', text: m.text }] }
          : {
              type: 'message',
              role: 'assistant',
              status: 'completed',
              content: [{ type: 'output_text', text: m.text }],
            },
      ),
    async pause(history) {
      const r = await runner.run(agent, history ?? PROMPT, { maxTurns });
      return { state: r.state, pending: r.interruptions.length };
    },
    async resume({ state }) {
      for (const i of state.getInterruptions()) state.approve(i);
      return (await runner.run(agent, state, { maxTurns })).finalOutput;
    },
    async run() {
      return (await runner.run(agent, PROMPT, { maxTurns })).finalOutput;
    },
    async stream(onDelta) {
      const r = await runner.run(agent, PROMPT, { stream: true });
      for await (const e of r)
        if (e.type === 'raw_model_stream_event' && e.data.type === 'output_text_delta') onDelta(e.data.delta);
      await r.completed;
    },
    save: ({ state }) => state.toString(),
    load: async (s) => {
      const state = await RunState.fromString(agent, s);
      return { state, pending: state.getInterruptions().length };
    },
  };
}
