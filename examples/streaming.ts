// Everything as it happens: the model's words, its calls, the pause, the decision and the result.
// Run it with: node examples/streaming.ts
import { type Chunk, countersign, type ModelInput, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { type Terminal, terminal } from './terminal.ts';

export async function streamIt(model: ModelInput, { ask, print, write }: Terminal) {
  const ai = countersign({ model });

  const lightGrill = ai.defineTool(
    {
      name: 'lightGrill',
      description: 'Lights the grill.',
      inputSchema: z.object({ degrees: z.number() }),
      needsApproval: true,
    },
    ({ degrees }) => `The grill burns at ${degrees} degrees.`,
  );

  const show = async (stream: AsyncIterable<Chunk>) => {
    for await (const chunk of stream) write(shown(chunk));
  };

  let { stream, response } = ai.generateStream({ prompt: 'Light the grill.', tools: [lightGrill] });
  await show(stream);
  while ((await response).interrupts.length > 0) {
    const { messages, interrupts } = await response;
    const approve = [];
    const reject = [];
    for (const interrupt of interrupts) {
      const answer = await ask('Is somebody standing next to it?', ['yes', 'no']);
      if (answer === 'yes') approve.push(lightGrill.approve(interrupt));
      else reject.push(lightGrill.reject(interrupt, 'Nobody stands next to it.'));
    }
    ({ stream, response } = ai.generateStream({ messages, tools: [lightGrill], resume: { approve, reject } }));
    await show(stream);
  }
  print('');
  return response;
}

function shown(chunk: Chunk): string {
  switch (chunk.type) {
    case 'text':
      return chunk.text;
    case 'reasoning':
      return `(${chunk.reasoning})`;
    case 'tool-input':
      return chunk.delta;
    case 'tool-request':
      return `\n[call ${chunk.toolRequest.name}]`;
    case 'interrupt':
      return `\n[${chunk.interrupt.toolRequest.name} waits for a person]\n`;
    case 'decision':
      return `[decision: ${chunk.decision.type}]\n`;
    case 'tool-response':
      return `[result: ${chunk.toolResponse.output}]\n`;
  }
}

export const grillScript = () =>
  scriptedModel([
    { text: 'I light the grill now. ', calls: [{ name: 'lightGrill', input: { degrees: 250 } }] },
    ({ messages }) =>
      messages.at(-1)?.content[0]?.metadata?.outcome === 'rejected'
        ? 'Then I leave it cold.'
        : 'It is lit. Enjoy your barbecue!',
  ]);

if (import.meta.main) await streamIt(grillScript(), terminal);
