// What a run may be started with.
import { UsageError } from '../core/errors.ts';
import type { Message } from '../core/message.ts';
import { loadMessages } from '../core/messages/load-messages.ts';
import { jsonOf } from '../loop/options.ts';

/**
 * The messages as they are recorded: calls without an id have been given one. Throws if they are not JSON or no valid
 * conversation, or if a call waits in it: nobody could decide it in the new run.
 */
export function startMessages(messages: readonly Message[]): readonly Message[] {
  const { turn, history } = loadMessages(jsonOf(messages, 'messages')).state;
  if (!turn) return history.toArray();
  const open = turn.calls.filter((call) => call.phase.at !== 'settled').map(({ name, ref }) => `${name} (${ref})`);
  throw new UsageError(
    'invalid-history',
    { open },
    `A run cannot be started from messages in which ${open.join(', ')} has no answer. Answer it in a tool message, or leave out the reply that asks for it.`,
  );
}
