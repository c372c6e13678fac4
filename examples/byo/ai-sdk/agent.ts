// A route with `streamText` whose payments wait for a person: `node agent.ts`. In your app, `reply` is the body of the route.
import { convertToModelMessages, isStepCount, readUIMessageStream, streamText, tool, type UIMessage } from 'ai';
import { countersign } from 'countersign';
import { gateTools } from 'countersign/ai-sdk';
import { sqliteStore } from 'countersign/sqlite';
import { asLanguageModel, standInModel } from 'countersign/testing';
import { z } from 'zod';

const model = asLanguageModel(standInModel()); // needs no key; yours is openai('gpt-5')
const ai = countersign({ store: sqliteStore(':memory:') }); // a file, or PostgreSQL, where it must survive

const tools = {
  pay: tool({
    description: 'Pays a supplier.',
    inputSchema: z.object({ to: z.string(), amount: z.number() }),
    needsApproval: true,
    execute: async ({ to, amount }) => `Paid ${amount} to ${to}.`,
  }),
};

/** Answers the messages of a browser. Your server says which chat and which person it is. */
async function reply(messages: UIMessage[]): Promise<UIMessage> {
  const policy = { deciders: { people: ['ann', 'bea'] } }; // by default, only the user who asks
  const gated = gateTools(tools, { ai, key: 'chat-7', by: 'ann', policy });
  const received = await gated.receive(messages); // records decisions, and restores each gated call to its record
  const result = streamText({
    model,
    messages: await convertToModelMessages(received),
    tools: gated.tools,
    stopWhen: isStepCount(5),
  });
  const stream = gated.send(result.toUIMessageStream({ originalMessages: received }));
  const last = received.at(-1);
  let message = last?.role === 'assistant' ? last : undefined;
  for await (const next of readUIMessageStream({ stream, ...(message && { message }) })) message = next;
  if (!message) throw new Error('The model said nothing.');
  return message;
}

const asked: UIMessage = { id: 'message-1', role: 'user', parts: [{ type: 'text', text: 'Pay ACME 950.' }] };
const paused = await reply([asked]);

// The call waits. People decide in the chat, the inbox, by mail or in Slack, in any process; here, these lines do.
for (const { id, tool, input } of (await ai.runs.requests()).items) {
  console.log(`Waiting: ${tool} ${JSON.stringify(input)}`);
  await ai.runs.decide(id, 'approve', { by: 'bea' });
}

// The next message of the browser continues the chat.
const done = await reply([asked, paused]);
for (const part of done.parts)
  if (part.type === 'tool-pay' && part.state === 'output-available') console.log(part.output);
