// A conversation without the loop: call the model, add the reply, answer its calls, call again.
import type { Message, Part, ToolRequestPart } from '../../src/core/messages/message.ts';
import type { Model, ModelChunk, ModelConfig, ModelReply, ModelRequest, ToolSpec } from '../../src/models/model.ts';

export const TOOLS: readonly ToolSpec[] = [
  {
    name: 'getWeather',
    description: 'The weather of a city',
    inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
];

export type Mode = 'whole' | 'streamed';

export const MODES: readonly Mode[] = ['whole', 'streamed'];

export type Conversation = {
  readonly messages: Message[];
  readonly chunks: ModelChunk[];
  /** Runs the next turn and adds its reply to the conversation. */
  turn(request?: Partial<ModelRequest>, listen?: (chunk: ModelChunk) => void): Promise<ModelReply>;
  /** Answers the calls of the last reply, in its order. */
  answer(...answers: readonly Answer[]): void;
};

export type Answer = { readonly output: unknown; readonly outcome?: 'error' | 'rejected' | 'cancelled' };

export function converse(model: Model, config: ModelConfig, mode: Mode): Conversation {
  const messages: Message[] = [{ role: 'user', content: [{ text: 'How is the weather?' }] }];
  const chunks: ModelChunk[] = [];
  return {
    messages,
    chunks,
    async turn(request, listen) {
      const emit = (chunk: ModelChunk) => {
        chunks.push(chunk);
        listen?.(chunk);
      };
      const asked = { messages, tools: TOOLS, toolChoice: 'auto', config, ...request } satisfies ModelRequest;
      const reply = await model.reply(asked, mode === 'streamed' ? emit : undefined);
      // A round trip through JSON, as at a pause.
      messages.push({ role: 'model', content: JSON.parse(JSON.stringify(reply.content)) });
      return reply;
    },
    answer(...answers) {
      const calls = requestsOf(messages.at(-1)?.content ?? []);
      messages.push({
        role: 'tool',
        content: calls.map(({ toolRequest: { name, ref } }, index): Part => {
          const { output, outcome } = answers[index] ?? { output: null };
          return { toolResponse: { name, ref, output }, ...(outcome && { metadata: { outcome } }) };
        }),
      });
    },
  };
}

export const requestsOf = (content: readonly object[]): readonly ToolRequestPart[] =>
  content.filter((part): part is ToolRequestPart => 'toolRequest' in part);

export const joined = (chunks: readonly ModelChunk[], type: 'text' | 'reasoning'): string =>
  chunks.map((chunk) => (chunk.type === type ? chunk.text : '')).join('');
