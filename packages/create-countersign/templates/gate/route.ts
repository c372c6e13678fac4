// A route with `streamText` and a gate around its tools. In a web framework, export this POST as the route of `useChat`.
import { convertToModelMessages, createUIMessageStreamResponse, isStepCount, streamText, type UIMessage } from 'ai';
import { countersign } from 'countersign';
import { gateTools } from 'countersign/ai-sdk';
import { sqliteStore } from 'countersign/sqlite';
import { model } from './model.ts';
import { tools } from './tools.ts';

const ai = countersign({ store: sqliteStore(process.env.GATE_STORE ?? 'calls.sqlite') });

export async function POST(request: Request): Promise<Response> {
  const user = 'ann'; // the signed-in user, from your session; never from the body
  const { id, messages } = (await request.json()) as { id: string; messages: UIMessage[] };

  const gated = gateTools(tools, { ai, key: id, by: user }); // tools with `needsApproval` now wait for a person
  const received = await gated.receive(messages); // records decisions and rejects forged ones
  const result = streamText({
    model,
    messages: await convertToModelMessages(received),
    tools: gated.tools,
    stopWhen: isStepCount(5),
  });
  const stream = result.toUIMessageStream({ originalMessages: received });
  return createUIMessageStreamResponse({ stream: gated.send(stream) });
}
