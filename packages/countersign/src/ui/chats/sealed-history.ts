// Verifies the conversation that a browser posts without a store, by the seals on the model's messages.
import { UsageError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import { loadMessages } from '../../core/messages/load-messages.ts';
import type { Message } from '../../core/messages/message.ts';
import { contentOf } from '../http/post.ts';
import { MESSAGE_ID } from '../picture/picture.ts';
import type { ChatMessage } from '../picture/ui-message.ts';
import type { Sealer } from '../seal.ts';

export type Claims = {
  readonly chat: string;
  readonly person: string;
  readonly issuedAt: number;
  readonly expiresAt: number;
  /** The seal of the message before, so that messages cannot be dropped or reordered. */
  readonly previous: string | null;
  readonly messageId: string;
  /** How many messages of the conversation before it are kept; `messages` replace the others. */
  readonly keep: number;
  readonly messages: readonly Message[];
};

/** The conversation as it was last sealed, and the user's messages since. */
export type Proven = {
  readonly history: readonly Message[];
  readonly last?: Claims;
  /** The seal before the one of the last message. */
  readonly beforeLast: string | null;
  readonly lastToken: string | null;
  readonly newMessages: readonly Message[];
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
  let newMessages: Message[] = [];
  for (const message of messages) {
    if (message.role === 'user') {
      newMessages.push(...readableMessage(message));
      continue;
    }
    const token = sealIn(message);
    if (token === undefined && !hasAnswers(message)) continue;
    last = openSeal(token, message.id, lastToken, sealer, expected);
    history.splice(last.keep);
    for (const sealed of last.messages) history.push(sealed);
    beforeLast = lastToken;
    lastToken = token ?? null;
    newMessages = [];
  }
  return { history, ...(last && { last }), beforeLast, lastToken, newMessages };
}

/**
 * Drops replies that were cut off before their seal, for example because the user stopped them, if the user has spoken
 * since. Nothing can be decided in them, and the message before them counts as unanswered.
 */
export function withoutCutOff(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const lastUser = messages.findLastIndex(({ role }) => role === 'user');
  return messages.filter(
    (message, index) => message.role === 'user' || index > lastUser || sealIn(message) !== undefined,
  );
}

/** How many messages a new reply leaves unchanged: those before an open turn. */
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
  if (token === undefined) throw bad(messageId, 'It is missing.');
  const claims = sealer.open(token);
  if (!claims) throw bad(messageId, 'It was changed, or made with an unknown key.');
  if (claims.chat !== chatId) throw bad(messageId, 'It was made for another chat.');
  if (claims.person !== personId) throw bad(messageId, 'It was made for another person.');
  if (claims.messageId !== messageId) throw bad(messageId, 'It was made for another message.');
  if (claims.previous !== previous) throw bad(messageId, 'The messages before it were changed.');
  if (!Number.isFinite(claims.expiresAt)) throw bad(messageId, 'It has no expiry.');
  return claims as unknown as Claims;
}

/** Skips a message that is invalid: it was refused when it was posted, but pages keep it. */
function readableMessage(message: ChatMessage): readonly Message[] {
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

/** Whether it has tool calls or requests. A message without them may lack a seal, and is ignored. */
function hasAnswers({ parts }: ChatMessage): boolean {
  return parts.some(({ type, state }) => type === 'data-request' || (type.includes('tool') && state !== undefined));
}

function bad(messageId: string, problem: string): UsageError {
  return new UsageError(
    'bad-seal',
    { status: 403, messageId },
    `The seal of message ${messageId} is invalid. ${problem}`,
  );
}
