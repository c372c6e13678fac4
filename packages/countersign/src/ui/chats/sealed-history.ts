// The conversation that a browser carries without a store, proven by the seals on the messages of the model.
import { UsageError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { Message } from '../../core/message.ts';
import { loadMessages } from '../../core/messages/load-messages.ts';
import { contentOf } from '../http/post.ts';
import { MESSAGE_ID } from '../picture/picture.ts';
import type { ChatMessage } from '../picture/ui-message.ts';
import type { Sealer } from './seal.ts';

/** What a seal says of one message of the model. */
export type Claims = {
  readonly chat: string;
  readonly person: string;
  readonly issuedAt: number;
  readonly expiresAt: number;
  /** The seal of the message before, so that none can be left out or put elsewhere. */
  readonly previous: string | null;
  readonly messageId: string;
  /** How many messages of the conversation before it still stand; what follows takes the place of the others. */
  readonly keep: number;
  readonly messages: readonly Message[];
};

/** The conversation as it was when the last seal was made, and what the user said since. */
export type Proven = {
  readonly history: readonly Message[];
  readonly last?: Claims;
  /** The seal before the one of the last message. */
  readonly beforeLast: string | null;
  readonly lastToken: string | null;
  readonly said: readonly Message[];
};

/** Throws `bad-seal` unless every message of the model is sealed, for this chat and person, in this order. */
export function proveHistory(
  messages: readonly ChatMessage[],
  sealer: Sealer,
  expected: { readonly chatId: string; readonly personId: string },
): Proven {
  const history: Message[] = [];
  let last: Claims | undefined;
  let beforeLast: string | null = null;
  let lastToken: string | null = null;
  let said: Message[] = [];
  for (const message of messages) {
    if (message.role === 'user') {
      said.push(...heardIn(message));
      continue;
    }
    const token = sealIn(message);
    if (token === undefined && !decides(message)) continue;
    last = openSeal(token, message.id, lastToken, sealer, expected);
    history.splice(last.keep);
    for (const sealed of last.messages) history.push(sealed);
    beforeLast = lastToken;
    lastToken = token ?? null;
    said = [];
  }
  return { history, ...(last && { last }), beforeLast, lastToken, said };
}

/**
 * An answer that was cut off before its seal came, such as by a user who stopped it, does not count once the user has gone on:
 * what was said before it is still unanswered, and nothing can be decided in it.
 */
export function withoutCutOff(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const lastUser = messages.findLastIndex(({ role }) => role === 'user');
  return messages.filter(
    (message, index) => message.role === 'user' || index > lastUser || sealIn(message) !== undefined,
  );
}

/** The part of a conversation that a new message of the model leaves as it is: everything before an open turn. */
export function closedLength(history: readonly Message[]): number {
  return loadMessages(history).state.history.length;
}

function openSeal(
  token: string | undefined,
  messageId: string,
  previous: string | null,
  sealer: Sealer,
  { chatId, personId }: { readonly chatId: string; readonly personId: string },
): Claims {
  if (token === undefined) throw bad(messageId, 'There is none.');
  const claims = sealer.open(token);
  if (claims.chat !== chatId) throw bad(messageId, 'It was made for another chat.');
  if (claims.person !== personId) throw bad(messageId, 'It was made for another person.');
  if (claims.messageId !== messageId) throw bad(messageId, 'It was made for another message.');
  if (claims.previous !== previous) throw bad(messageId, 'The messages before it are not those it was made after.');
  if (!Number.isFinite(claims.expiresAt)) throw bad(messageId, 'It does not say until when it can be decided on.');
  return claims as unknown as Claims;
}

/** What cannot be read was refused when it was posted, as the last message; it stays in the page, and nobody heard it. */
function heardIn(message: ChatMessage): readonly Message[] {
  try {
    return [{ role: 'user', content: contentOf(message), metadata: { [MESSAGE_ID]: message.id } }];
  } catch (error) {
    if (error instanceof UsageError) return [];
    throw error;
  }
}

function sealIn({ parts }: ChatMessage): string | undefined {
  const data = parts.findLast(({ type }) => type === 'data-seal')?.data;
  return isObject(data) && typeof data.token === 'string' ? data.token : undefined;
}

/** Whether somebody decided or answered something in it: a message that asks for nothing needs no seal to be ignored. */
function decides({ parts }: ChatMessage): boolean {
  return parts.some(({ type, state }) => type === 'data-interrupt' || (type.includes('tool') && state !== undefined));
}

function bad(messageId: string, problem: string): UsageError {
  return new UsageError(
    'bad-seal',
    { status: 403, messageId },
    `The seal of message ${messageId} does not fit. ${problem}`,
  );
}
