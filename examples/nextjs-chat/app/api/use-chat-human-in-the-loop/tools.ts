// The tools of the recipe. Server only: the server tells the page which of them ask.
import { type InferUITools, type ToolSet, tool, type UIDataTypes, type UIMessage } from 'ai';
import { z } from 'zod';

export const tools = {
  getWeatherInformation: tool({
    description: 'show the weather in a given city to the user',
    inputSchema: z.object({ city: z.string() }),
    outputSchema: z.string(),
    // No `execute`: a person confirms each call.
  }),
  getLocalTime: tool({
    description: 'get the local time for a specified location',
    inputSchema: z.object({ location: z.string() }),
    outputSchema: z.string(),
    // A tool with `execute` runs without asking.
    execute: async () => '10am',
  }),
} satisfies ToolSet;

export type RecipeTools = InferUITools<typeof tools>;
export type RecipeMessage = UIMessage<never, UIDataTypes, RecipeTools>;
