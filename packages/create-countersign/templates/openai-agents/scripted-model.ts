// A model for trying the program without a key: it pays once, then repeats the result.
import { randomUUID } from 'node:crypto';
import { type AgentOutputItem, type Model, setTracingDisabled, Usage } from '@openai/agents';

setTracingDisabled(true);

export const scriptedModel: Model = {
  async getResponse({ input }) {
    const last = typeof input === 'string' ? undefined : input.at(-1);
    const item: AgentOutputItem =
      last?.type === 'function_call_result'
        ? {
            type: 'message',
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text: `The tool says: ${textOf(last.output)}` }],
          }
        : {
            type: 'function_call',
            callId: `call_${randomUUID()}`,
            name: 'pay',
            status: 'completed',
            arguments: JSON.stringify({ to: 'ACME', amount: 950 }),
          };
    return { usage: new Usage(), output: [item] };
  },
  getStreamedResponse() {
    throw new Error('This model does not stream.');
  },
};

function textOf(output: unknown): string {
  return typeof output === 'string' ? output : String((output as { text?: string }).text);
}
