// An autonomous task ends by an interrupt: the model works through its tools until it calls `finishTask`.
// Run it with: node examples/finish-task.ts
import { countersign, type ModelInput, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { type Terminal, terminal } from './terminal.ts';

export type Ticket = { readonly id: number; readonly text: string; status: 'open' | 'closed' };

export async function finishTask(model: ModelInput, tickets: readonly Ticket[], { print }: Pick<Terminal, 'print'>) {
  const ai = countersign({ model });

  const nextTicket = ai.defineTool(
    { name: 'nextTicket', description: 'The oldest open ticket, or null.', inputSchema: z.object({}) },
    () => tickets.find(({ status }) => status === 'open') ?? null,
  );

  const closeTicket = ai.defineTool(
    { name: 'closeTicket', description: 'Closes a ticket.', inputSchema: z.object({ id: z.number() }) },
    ({ id }) => {
      const ticket = tickets.find((ticket) => ticket.id === id);
      if (!ticket) throw new Error(`Ticket ${id} does not exist.`);
      ticket.status = 'closed';
      print(`Closed ticket ${id}: ${ticket.text}`);
      return { closed: id };
    },
  );

  const finish = ai.defineInterrupt({
    name: 'finishTask',
    description: 'Call this when all tickets are closed.',
    inputSchema: z.object({ summary: z.string() }),
  });

  const response = await ai.generate({
    system: 'Work through the tickets on your own. Call finishTask when you are done.',
    prompt: 'Close all tickets.',
    tools: [nextTicket, closeTicket, finish],
    maxTurns: 100,
  });

  // No person answers this interrupt: it is the end, and its input is the result.
  const summary = response.interrupts.find(finish.is)?.toolRequest.input.summary;
  print(summary === undefined ? `Stopped without finishing: ${response.finishReason}.` : `Finished: ${summary}`);
  return { finished: summary !== undefined, summary, finishReason: response.finishReason };
}

/** Reads the last result and continues from there. */
export const ticketScript = () =>
  scriptedModel(({ messages }) => {
    const [part] = messages.at(-1)?.content ?? [];
    if (!part || !('toolResponse' in part) || part.toolResponse.name === 'closeTicket')
      return { calls: [{ name: 'nextTicket' }] };
    const ticket: Ticket | null = part.toolResponse.output;
    if (ticket) return { calls: [{ name: 'closeTicket', input: { id: ticket.id } }] };
    const closed = messages.filter(({ role }) => role === 'tool').length >> 1;
    return { calls: [{ name: 'finishTask', input: { summary: `${closed} tickets closed.` } }] };
  });

if (import.meta.main) {
  const texts = ['The grill does not light.', 'No ketchup.', 'Rain on Saturday.'];
  const tickets = texts.map((text, index): Ticket => ({ id: index + 1, text, status: 'open' }));
  await finishTask(ticketScript(), tickets, terminal);
}
