// A prompt in a file (prompts/partyPlanner.prompt), which names its tool, pauses, and resumes itself.
// Run it with: node examples/prompt-file.ts
import { join } from 'node:path';
import { countersign, type ModelInput, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { type Terminal, terminal } from './terminal.ts';

export async function planParty(model: ModelInput, partyType: string, { ask, print }: Terminal) {
  const ai = countersign({ model, promptDir: join(import.meta.dirname, 'prompts') });

  const askQuestion = ai.defineInterrupt({
    name: 'askQuestion',
    description: 'use this to ask the user a clarifying question',
    inputSchema: z.object({ question: z.string(), choices: z.array(z.string()) }),
    outputSchema: z.string(),
  });

  const partyPlanner = ai.prompt('partyPlanner');

  let response = await partyPlanner({ partyType });
  while (response.interrupts.length > 0) {
    const answers = [];
    for (const interrupt of response.interrupts) {
      const { question, choices } = interrupt.toolRequest.input;
      answers.push(askQuestion.respond(interrupt, await ask(question, choices)));
    }
    // The prompt does not render again: it continues from these messages, with its own tools and settings.
    response = await partyPlanner({ partyType }, { messages: response.messages, resume: { respond: answers } });
  }

  print(response.text);
  return response;
}

export const partyScript = () =>
  scriptedModel([
    { calls: [{ name: 'askQuestion', input: { question: 'Indoors or outdoors?', choices: ['indoors', 'outdoors'] } }] },
    ({ messages }) => {
      const [part] = messages.at(-1)?.content ?? [];
      const where = part && 'toolResponse' in part ? part.toolResponse.output : 'somewhere';
      return `A party ${where}, with cake at four.`;
    },
  ]);

if (import.meta.main) await planParty(partyScript(), 'birthday', terminal);
