// The AI SDK's recipe with `processToolCalls`, behind a gate with a store: each request is recorded, so a confirmation
// that was made up, altered or sent twice runs nothing.
import {
  convertToModelMessages,
  createUIMessageStream,
  createUIMessageStreamResponse,
  isStepCount,
  streamText,
  toUIMessageStream,
} from 'ai';
import { countersign } from 'countersign';
import { gateTools, processToolCalls } from 'countersign/ai-sdk';
import { chosenModel } from '../../../server/model.ts';
import { openStore } from '../../../server/store.ts';
import { type RecipeMessage, tools } from './tools.ts';

export const maxDuration = 30;

export async function POST(request: Request): Promise<Response> {
  const { id, messages }: { id: string; messages: RecipeMessage[] } = await request.json();
  const { model } = await chosenModel();
  // In an app with accounts, `by` is the signed-in user.
  const ai = countersign({ store: openStore() });
  const gated = gateTools(tools, { ai, name: 'recipe', key: id, by: 'demo' });
  const stream = createUIMessageStream<RecipeMessage>({
    originalMessages: messages,
    execute: async ({ writer }) => {
      const processed = await processToolCalls(
        { messages, writer, tools, gate: gated },
        { getWeatherInformation: async ({ city }) => weatherIn(city) },
      );
      const result = streamText({
        model,
        messages: await convertToModelMessages(processed),
        tools: gated.tools,
        stopWhen: isStepCount(5),
      });
      writer.merge(
        gated.send(
          toUIMessageStream<typeof tools, RecipeMessage>({
            stream: result.fullStream,
            tools: gated.tools,
            originalMessages: processed,
          }),
        ),
      );
    },
  });
  return createUIMessageStreamResponse({ stream });
}

function weatherIn(city: string): string {
  const conditions = ['sunny', 'cloudy', 'rainy', 'snowy'];
  return `The weather in ${city} is ${conditions[Math.floor(Math.random() * conditions.length)]}.`;
}
