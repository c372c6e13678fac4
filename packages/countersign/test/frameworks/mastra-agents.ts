// An agent of Mastra with a scripted model, for the tests of `countersign/mastra`.
import { Agent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core/mastra';
import { InMemoryStore } from '@mastra/core/storage';
import { createTool } from '@mastra/core/tools';
import { z } from 'countersign';
import type { MastraTools } from 'countersign/mastra';

export type ScriptedCall = { readonly id: string; readonly name: string; readonly input: unknown };
export type Payment = { to: string; amount: number };

type Part = { readonly type: string; readonly [key: string]: any };

/** A model of the AI SDK: the first reply has the calls, the next one repeats their results. */
export function scriptedModel(calls: readonly ScriptedCall[]) {
  const reply = (prompt: readonly { role: string; content: any }[]): Part[] => {
    const results = prompt.flatMap(({ role, content }) => (role === 'tool' ? content : []));
    if (results.length === 0)
      return calls.map(({ id, name, input }) => ({
        type: 'tool-call',
        toolCallId: id,
        toolName: name,
        input: JSON.stringify(input),
      }));
    return [{ type: 'text', text: results.map(({ output }: Part) => textOf(output.value)).join(' | ') }];
  };
  const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
  const finishReason = (parts: Part[]) => (parts[0]?.type === 'text' ? 'stop' : 'tool-calls');
  return {
    specificationVersion: 'v2' as const,
    provider: 'scripted',
    modelId: 'scripted',
    supportedUrls: {},
    async doGenerate({ prompt }: any): Promise<any> {
      const content = reply(prompt);
      return { content, finishReason: finishReason(content), usage, warnings: [] };
    },
    async doStream({ prompt }: any): Promise<any> {
      const content = reply(prompt);
      const parts = content.flatMap((part) =>
        part.type === 'text'
          ? [
              { type: 'text-start', id: '1' },
              { type: 'text-delta', id: '1', delta: part.text },
              { type: 'text-end', id: '1' },
            ]
          : [part],
      );
      const all = [
        { type: 'stream-start', warnings: [] },
        ...parts,
        { type: 'finish', finishReason: finishReason(content), usage },
      ];
      return { stream: ReadableStream.from(all) };
    },
  };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

export function payTool(paid: Payment[], output: (payment: Payment) => unknown = ({ amount }) => `paid ${amount}`) {
  return createTool({
    id: 'pay',
    description: 'Pays.',
    inputSchema: z.object({ to: z.string(), amount: z.number() }),
    outputSchema: z.any(),
    execute: async (payment) => {
      paid.push(payment);
      return output(payment);
    },
  });
}

export function openAgent(tools: MastraTools, calls: readonly ScriptedCall[], storage: any = new InMemoryStore()) {
  const clerk = new Agent({
    id: 'clerk',
    name: 'clerk',
    instructions: 'You pay.',
    model: scriptedModel(calls) as never,
    tools: tools as never,
  });
  return new Mastra({ agents: { clerk }, storage, logger: false }).getAgent('clerk');
}
