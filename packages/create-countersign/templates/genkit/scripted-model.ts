// A model for trying the program without a key: it pays once, then repeats the result.
import type { GenkitBeta, Part } from 'genkit/beta';

export const scriptedModel = (app: GenkitBeta) =>
  app.defineModel({ name: 'scripted', supports: { tools: true, multiturn: true } }, async ({ messages }) => {
    const result = messages.at(-1)?.content.find((part) => part.toolResponse)?.toolResponse;
    const part: Part = result
      ? { text: `The tool says: ${result.output}` }
      : { toolRequest: { name: 'pay', input: { to: 'ACME', amount: 950 } } };
    return { message: { role: 'model', content: [part] }, finishReason: 'stop' };
  });
