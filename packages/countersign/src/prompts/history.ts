// Places the conversation so far among the messages of a prompt.
import type { Message } from '../core/messages/message.ts';
import type { Slot } from './slots.ts';

/**
 * The history goes where the template says, else before the final user message, else to the end. Its first messages are
 * omitted if the prompt repeats them before it: a conversation that this prompt started already contains them.
 */
export function placeHistory(slots: readonly Slot[], history: readonly Message[]): Message[] {
  const messages = slots.filter((slot) => slot !== 'history');
  const said = slots.indexOf('history');
  const index = said >= 0 ? said : messages.at(-1)?.role === 'user' ? messages.length - 1 : messages.length;
  const before = messages.slice(0, index);
  return [...before, ...history.slice(countShared(before, history)), ...messages.slice(index)];
}

function countShared(before: readonly Message[], history: readonly Message[]): number {
  const differs = before.findIndex((message, index) => !saysTheSame(message, history[index]));
  return differs < 0 ? before.length : differs;
}

function saysTheSame(message: Message, other: Message | undefined): boolean {
  return message.role === other?.role && JSON.stringify(message.content) === JSON.stringify(other.content);
}
