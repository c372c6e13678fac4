// A model of the AI SDK that makes one call, then repeats its result. It needs no key and no network.
import type { MastraModelConfig } from '@mastra/core/llm';

type Call = { readonly id: string; readonly name: string; readonly input: unknown };
type Message = {
  readonly role: string;
  readonly content: readonly { readonly output?: { readonly value: unknown } }[];
};

export function scriptedModel({ id: toolCallId, name: toolName, input }: Call): MastraModelConfig {
  const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
  const model = {
    specificationVersion: 'v2',
    provider: 'scripted',
    modelId: 'scripted',
    supportedUrls: {},
    async doGenerate({ prompt }: { readonly prompt: readonly Message[] }) {
      const result = prompt.findLast(({ role }) => role === 'tool')?.content[0]?.output;
      if (result)
        return { content: [{ type: 'text', text: String(result.value) }], finishReason: 'stop', usage, warnings: [] };
      const call = { type: 'tool-call', toolCallId, toolName, input: JSON.stringify(input) };
      return { content: [call], finishReason: 'tool-calls', usage, warnings: [] };
    },
    doStream: () => Promise.reject(new Error('This model does not stream.')),
  };
  return model as unknown as MastraModelConfig;
}
