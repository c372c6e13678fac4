// A chat that keeps its messages, pauses for a question, and resumes itself. Run it with: node examples/chat.ts
import { countersign, type ModelInput, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { type Terminal, terminal } from './terminal.ts';

export async function chatAbout(model: ModelInput, says: readonly string[], { ask, print }: Terminal) {
  const ai = countersign({ model });

  const askQuestion = ai.defineInterrupt({
    name: 'askQuestion',
    description: 'use this to ask the user a clarifying question',
    inputSchema: z.object({ question: z.string(), choices: z.array(z.string()) }),
    outputSchema: z.string(),
  });

  const chat = ai.chat({
    system: 'Use the askQuestion tool if you need to clarify something.',
    tools: [askQuestion],
  });

  for (const text of says) {
    print(`You: ${text}`);
    let response = await chat.send(text);
    while (chat.interrupts.length > 0) {
      const answers = [];
      for (const interrupt of chat.interrupts) {
        const { question, choices } = interrupt.toolRequest.input;
        answers.push(askQuestion.respond(interrupt, await ask(question, choices)));
      }
      response = await chat.send({ resume: { respond: answers } });
    }
    print(`Model: ${response.text}`);
  }
  return chat;
}

export const birthdayScript = () =>
  scriptedModel([
    { calls: [{ name: 'askQuestion', input: { question: 'Cake or pie?', choices: ['cake', 'pie'] } }] },
    ({ messages }) => {
      const [part] = messages.at(-1)?.content ?? [];
      return `A birthday with ${part && 'toolResponse' in part ? part.toolResponse.output : 'nothing'}, then.`;
    },
    ({ messages }) =>
      `You are welcome. We exchanged ${messages.filter(({ role }) => role !== 'system').length} messages.`,
  ]);

if (import.meta.main) await chatAbout(birthdayScript(), ['Make a plan for my birthday party.', 'Thank you!'], terminal);
