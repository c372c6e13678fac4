// Checks the messages that a run starts with.
import { UsageError } from '../core/errors.ts';
import { loadMessages } from '../core/messages/load-messages.ts';
import type { Message } from '../core/messages/message.ts';
import { jsonOf } from '../loop/options.ts';

/** The messages to record, with an id for each call. Throws if they are invalid or a call is pending: it could not be decided. */
export function startMessages(messages: readonly Message[]): readonly Message[] {
  const { turn, history } = loadMessages(jsonOf(messages, 'messages')).state;
  if (!turn) return history.toArray();
  const open = turn.calls.filter((call) => call.phase.at !== 'settled').map(({ name, ref }) => `${name} (${ref})`);
  throw new UsageError(
    'invalid-history',
    { open },
    `A run cannot be started from these messages: ${open.join(', ')} has no answer. Answer it in a tool message, or leave out the reply that asks for it.`,
  );
}
