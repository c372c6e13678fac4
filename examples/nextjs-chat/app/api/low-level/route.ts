// The AI SDK's recipe, low level: a tool without `execute` waits in the browser, and its answer is looked for here.
// It believes the browser: see /use-chat-human-in-the-loop and / for routes that do not have to.
import {
  convertToModelMessages,
  createUIMessageStream,
  createUIMessageStreamResponse,
  isStepCount,
  streamText,
  tool,
  toUIMessageStream,
  type UIDataTypes,
  type UIMessage,
} from 'ai';
import { z } from 'zod';
import { chosenModel } from '../../../server/model.ts';

const tools = {
  getWeatherInformation: tool({
    description: 'show the weather in a given city to the user',
    inputSchema: z.object({ city: z.string() }),
    outputSchema: z.string(),
    // No `execute`, so nothing runs by itself.
  }),
};

export type LowLevelMessage = UIMessage<
  never,
  UIDataTypes,
  { getWeatherInformation: { input: { city: string }; output: string } }
>;

export async function POST(request: Request): Promise<Response> {
  const { messages }: { messages: LowLevelMessage[] } = await request.json();
  const { model } = await chosenModel();
  const stream = createUIMessageStream<LowLevelMessage>({
    originalMessages: messages,
    execute: async ({ writer }) => {
      const last = messages.at(-1);
      const parts = await Promise.all(
        (last?.parts ?? []).map(async (part) => {
          if (part.type !== 'tool-getWeatherInformation' || part.state !== 'output-available') return part;
          // The page put its answer where the result belongs; now the result takes its place.
          const output = await resultOf(part.output, part.input);
          if (output === undefined) return part;
          writer.write({ type: 'tool-output-available', toolCallId: part.toolCallId, output });
          return { ...part, output };
        }),
      );
      const processed = last ? [...messages.slice(0, -1), { ...last, parts }] : messages;
      const result = streamText({
        model,
        messages: await convertToModelMessages(processed),
        tools,
        stopWhen: isStepCount(5),
      });
      writer.merge(toUIMessageStream({ stream: result.fullStream, tools, originalMessages: processed }));
    },
  });
  return createUIMessageStreamResponse({ stream });
}

async function resultOf(answer: string, { city }: { city: string }): Promise<string | undefined> {
  switch (answer) {
    case 'Yes, confirmed.':
      return weatherIn(city);
    case 'No, denied.':
      return 'Error: User denied access to weather information';
    default:
      return undefined;
  }
}

function weatherIn(city: string): string {
  const conditions = ['sunny', 'cloudy', 'rainy', 'snowy'];
  return `The weather in ${city} is ${conditions[Math.floor(Math.random() * conditions.length)]}.`;
}
