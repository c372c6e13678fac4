// A provider model (V3, which versions 6 and 7 of the AI SDK accept) that follows a function.

export type Said =
  | { readonly text: string }
  | { readonly calls: readonly { id: string; tool: string; input: unknown }[] };

export type PromptMessage = { readonly role: string; readonly content: any };

/** Calls `say` with each prompt, and collects the prompts in `prompts`. */
export function saying(say: (prompt: readonly PromptMessage[]) => Said) {
  const prompts: (readonly PromptMessage[])[] = [];
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  const reply = (prompt: readonly PromptMessage[]) => {
    prompts.push(prompt);
    const said = say(prompt);
    const unified = 'calls' in said ? ('tool-calls' as const) : ('stop' as const);
    return { said, finishReason: { unified, raw: unified } };
  };
  const callOf = ({ id, tool, input }: { id: string; tool: string; input: unknown }) => ({
    type: 'tool-call' as const,
    toolCallId: id,
    toolName: tool,
    input: JSON.stringify(input),
  });
  const model = {
    specificationVersion: 'v3' as const,
    provider: 'test',
    modelId: 'saying',
    supportedUrls: {},
    async doGenerate({ prompt }: { prompt: readonly PromptMessage[] }) {
      const { said, finishReason } = reply(prompt);
      const content = 'calls' in said ? said.calls.map(callOf) : [{ type: 'text' as const, text: said.text }];
      return { content, finishReason, usage, warnings: [] };
    },
    async doStream({ prompt }: { prompt: readonly PromptMessage[] }) {
      const { said, finishReason } = reply(prompt);
      const content =
        'calls' in said
          ? said.calls.map(callOf)
          : [
              { type: 'text-start' as const, id: 't' },
              { type: 'text-delta' as const, id: 't', delta: said.text },
              { type: 'text-end' as const, id: 't' },
            ];
      const parts = [{ type: 'stream-start', warnings: [] }, ...content, { type: 'finish', finishReason, usage }];
      return {
        stream: new ReadableStream({
          start(controller) {
            for (const part of parts) controller.enqueue(part);
            controller.close();
          },
        }),
      };
    },
  };
  // The two versions type each other's models differently.
  return { model: model as any, prompts };
}
