import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import { fakeTerminal } from './fake-terminal.ts';
import { finishTask, type Ticket, ticketScript } from './finish-task.ts';

const openTickets = (count: number) =>
  Array.from({ length: count }, (_, index): Ticket => ({ id: index + 1, text: 'No ketchup.', status: 'open' }));

test('the task ends when the model says that it is done', async () => {
  const tickets = openTickets(30);
  const { finished, summary } = await finishTask(ticketScript(), tickets, fakeTerminal());
  expect(finished).toBe(true);
  expect(summary).toBe('30 tickets closed.');
  expect(tickets.every(({ status }) => status === 'closed')).toBe(true);
});

test('a task that never ends is stopped by its turn limit', async () => {
  const terminal = fakeTerminal();
  const model = scriptedModel(() => ({ calls: [{ name: 'nextTicket' }] }));
  const { finished, finishReason } = await finishTask(model, openTickets(1), terminal);
  expect(finished).toBe(false);
  expect(finishReason).toBe('max-turns');
  expect(model.requests).toHaveLength(100);
  expect(terminal.printed()).toBe('Stopped without finishing: max-turns.\n');
});
