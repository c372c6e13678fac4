// The model asks clarifying questions until it knows enough. Run it with: node examples/ask-a-question.ts
import { countersign, type ModelInput, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { type Terminal, terminal } from './terminal.ts';

export async function askAQuestion(model: ModelInput, { ask, print }: Terminal) {
  const ai = countersign({ model });

  const askQuestion = ai.defineInterrupt({
    name: 'askQuestion',
    description: 'use this to ask the user a clarifying question',
    inputSchema: z.object({
      question: z.string(),
      choices: z.array(z.string()).describe('the choices to display to the user'),
      allowOther: z.boolean().optional().describe('when true, allow write-ins'),
    }),
    outputSchema: z.string(),
  });

  let response = await ai.generate({
    tools: [askQuestion],
    system: 'ask clarifying questions until you have a complete solution',
    prompt: 'help me plan a backyard BBQ',
  });

  while (response.interrupts.length > 0) {
    const answers = [];
    // The model may ask several questions at once.
    for (const interrupt of response.interrupts) {
      const { question, choices } = interrupt.toolRequest.input;
      answers.push(askQuestion.respond(interrupt, await ask(question, choices)));
    }
    response = await ai.generate({
      tools: [askQuestion],
      messages: response.messages,
      resume: { respond: answers },
    });
  }

  print(response.text);
  return response;
}

/** Stands in for a model of a provider, so that the example needs no key. */
export const barbecueScript = () =>
  scriptedModel([
    {
      calls: [
        { name: 'askQuestion', input: { question: 'How many guests?', choices: ['6', '12', '20'], allowOther: true } },
        { name: 'askQuestion', input: { question: 'Meat or no meat?', choices: ['meat', 'no meat', 'both'] } },
      ],
    },
    { calls: [{ name: 'askQuestion', input: { question: 'When?', choices: ['at noon', 'in the evening'] } }] },
    ({ messages }) => {
      const [guests, food, time] = messages.flatMap(({ content }) =>
        content.flatMap((part) => ('toolResponse' in part ? [part.toolResponse.output] : [])),
      );
      return `Then it is a barbecue for ${guests} guests, ${food}, ${time}.`;
    },
  ]);

if (import.meta.main) await askAQuestion(barbecueScript(), terminal);
