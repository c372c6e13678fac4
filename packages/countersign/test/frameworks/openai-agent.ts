// An agent of the OpenAI Agents SDK with a scripted model: it pays, with or without the gate.
import { Agent, type Model, type ModelResponse, Runner, tool, Usage } from '@openai/agents';
import { z } from 'zod';
import type { Countersign } from '../../src/countersign.ts';
import { gateTools } from '../../src/gates/openai-agents/index.ts';

export type Payment = { to: string; amount: number };
export type ScriptedCall = { id: string; input: unknown };

/** No traces: they would go to a server. */
export const runner = new Runner({ tracingDisabled: true });

/** Makes these calls of `pay` in its first reply, then repeats their results. */
export function scriptedModel(calls: readonly ScriptedCall[]): Model {
  return {
    async getResponse({ input }): Promise<ModelResponse> {
      const items = typeof input === 'string' ? [] : input;
      const results = items.flatMap((item) => (item.type === 'function_call_result' ? [textOf(item.output)] : []));
      const usage = new Usage();
      if (results.length > 0)
        return {
          usage,
          output: [
            {
              type: 'message',
              role: 'assistant',
              status: 'completed',
              content: [{ type: 'output_text', text: results.join(' | ') }],
            },
          ],
        };
      return {
        usage,
        output: calls.map(({ id, input: given }) => ({
          type: 'function_call' as const,
          callId: id,
          name: 'pay',
          status: 'completed' as const,
          arguments: typeof given === 'string' ? given : JSON.stringify(given),
        })),
      };
    },
    getStreamedResponse() {
      throw new Error('Not scripted.');
    },
  };
}

function textOf(output: unknown): string {
  return typeof output === 'string' ? output : ((output as { text?: string }).text ?? JSON.stringify(output));
}

export type AgentOptions = {
  /** Without it the framework's own approval is used. */
  readonly ai?: Countersign<any>;
  readonly calls?: readonly ScriptedCall[];
  readonly pay: (input: Payment) => unknown;
  readonly key?: string;
};

export const ONE_CALL: readonly ScriptedCall[] = [{ id: 'call_1', input: { to: 'ACME', amount: 950 } }];

export function payingAgent({ ai, calls = ONE_CALL, pay, key = 'conversation 1' }: AgentOptions) {
  const payTool = tool({
    name: 'pay',
    description: 'Pays.',
    parameters: z.object({ to: z.string(), amount: z.number() }),
    needsApproval: true,
    execute: async (input) => pay(input),
  });
  const tools = ai ? gateTools([payTool], { ai, key, title: { pay: ({ to }) => `Pay ${to}` } }) : [payTool];
  return new Agent({ name: 'clerk', tools, model: scriptedModel(calls) });
}
