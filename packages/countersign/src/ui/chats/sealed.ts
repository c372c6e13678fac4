// A chat without a store: the browser keeps the conversation, with seals that it can neither forge nor change.
// A seal can be used again: only a store makes a decision single-use.

import { voteRights } from '../../core/authority/may-decide.ts';
import { UsageError } from '../../core/errors.ts';
import { defined, isObject, type Json } from '../../core/json.ts';
import { loadMessages } from '../../core/messages/load-messages.ts';
import type { Message } from '../../core/messages/message.ts';
import type { PersonDecision } from '../../core/run/event.ts';
import { addressOf, Decisions, type Given } from '../../core/run/made.ts';
import { pendingCards } from '../../runs/requests/card.ts';
import { decisionFrom } from '../../runs/requests/decision.ts';
import { ballotOf, policiesOn } from '../../runs/requests/progress.ts';
import type { Person } from '../chat-options.ts';
import { type Post, postedParts } from '../http/post.ts';
import { postedDecisions, problemsOf } from '../http/posted-decisions.ts';
import type { Problem, RequestCard } from '../picture/card.ts';
import { cardOf, misfitOf, type Tools } from '../picture/cards.ts';
import { Picture, sinceUserSpoke } from '../picture/picture.ts';
import type { ChatChunk } from '../picture/ui-message.ts';
import { ChatWriter } from '../picture/writer.ts';
import type { Sealer } from '../seal.ts';
import { generationChunks } from './generation.ts';
import { type ChatOptions, notAllowed, OUTDATED, unknownRequest } from './personal-chat.ts';
import { type Claims, closedLength, type Proven, proveHistory, withoutCutOff } from './sealed-history.ts';

export type SealedChatOptions = ChatOptions & {
  /** All defined tools, also those the agent does not have. */
  readonly definedTools: () => Tools;
  readonly sealer: Sealer;
  readonly expiresInMs: number;
  readonly clock: () => number;
};

export type SealedChat = SealedChatOptions & { readonly chatId: string; readonly person: Person };

/** Checks the whole post before anything runs. */
export async function takeSealed(
  chat: SealedChat,
  received: Post,
  signal: AbortSignal,
): Promise<AsyncGenerator<ChatChunk>> {
  const messages = withoutCutOff(received.messages);
  const post = { ...received, messages, parts: postedParts(messages) };
  const proven = proveHistory(messages, chat.sealer, { chatId: chat.chatId, personId: chat.person.id });
  if (!proven.last && proven.newMessages.length === 0)
    throw new UsageError('invalid-request', { status: 400 }, 'The post has no message and no decision.');
  return streamSealed(chat, post, proven, await decide(chat, post, proven), signal);
}

async function decide(chat: SealedChat, post: Post, { history, last }: Proven): Promise<Decided> {
  const { state } = loadMessages(history);
  const pending = pendingCards(chat.chatId, state);
  const { decisions, problems: found } = postedDecisions(post, pending);
  const problems = new Map(found);
  const made: Given[] = [];
  const keys = new Map<string, string>();
  const cards: RequestCard[] = [];
  for (const { requestId, decision, digest, note } of decisions) {
    const question = pending.get(requestId);
    if (!question || !last) throw unknownRequest(requestId);
    if (!(last.expiresAt > chat.clock())) throw sealExpired(requestId, last);
    const card = cardOf(requestId, question, undefined, chat.tools());
    cards.push(card);
    const isOutdated = digest !== undefined && digest !== card.digest;
    const problem = isOutdated ? OUTDATED : misfitOf(card, decision);
    if (problem !== undefined) {
      problems.set(requestId, [{ path: [], message: problem }]);
      continue;
    }
    const where = `resume[${made.length}]`;
    const { part } = question;
    const signed = readDecision(decision, { by: chat.person.id, channel: 'chat', ...defined({ note }) });
    if (signed instanceof UsageError) {
      problems.set(requestId, problemsOf(signed));
      continue;
    }
    keys.set(where, requestId);
    made.push({ where, on: addressOf(part), decision: signed, shown: part.toolRequest.input as Json });
  }
  for (const { id } of cards) {
    const question = pending.get(id);
    const { id: by, roles = [] } = chat.person;
    const rights = question && voteRights(policiesOn(question), ballotOf(question), [{ by, roles }]);
    if (!rights?.mayVote || chat.person.mayDecide === false) throw notAllowed(chat.person, id);
  }
  return { resume: new Decisions(made), keys, problems };
}

/** The error belongs to the card, so that the person can correct the decision. */
function readDecision(...given: Parameters<typeof decisionFrom>): PersonDecision | UsageError {
  try {
    return decisionFrom(...given);
  } catch (error) {
    if (error instanceof UsageError) return error;
    throw error;
  }
}

async function* streamSealed(
  chat: SealedChat,
  post: Post,
  proven: Proven,
  decided: Decided,
  signal: AbortSignal,
): AsyncGenerator<ChatChunk> {
  const { agent, chatId, person, tools, whilePending, errorText } = chat;
  const { context } = person;
  const { history, newMessages } = proven;
  const messages = [...history, ...newMessages];
  const continued = newMessages.length === 0 ? proven.last : undefined;
  const messageId = continued?.messageId ?? `msg_${crypto.randomUUID()}`;
  const picture = new Picture({
    chatId,
    state: loadMessages(messages).state,
    messageId,
    tools,
    // Nobody else can decide in a sealed chat.
    whilePending: whilePending === 'auto' ? 'cancel' : whilePending,
    reader:
      person.mayDecide === false
        ? 'watcher'
        : { id: person.id, voters: async () => [{ by: person.id, roles: person.roles ?? [] }] },
  });
  if (continued) picture.restore(sinceUserSpoke(history));
  picture.refuse(decided.problems);
  const writer = new ChatWriter(picture, chat.writer, post.known?.id === messageId ? post.known : undefined);
  // Nothing new was posted, and the last reply is complete.
  const isOver = continued !== undefined && history.at(-1)?.role === 'model' && !picture.state.turn;
  yield* generationChunks({
    picture,
    writer,
    signal,
    generate: isOver
      ? undefined
      : (listen) =>
          agent.generate({ messages, resume: decided.resume, whilePending, ...(context && { context }), ...listen }),
    seal: (sealed) => sealChunk(chat, sealed, messageId, proven),
    refused: (error) => problemsByKey(error, decided.keys),
    errorText,
  });
}

function sealChunk(
  { sealer, clock, expiresInMs, chatId, person }: SealedChat,
  messages: readonly Message[],
  messageId: string,
  { history, newMessages, last, beforeLast, lastToken }: Proven,
): ChatChunk {
  const continued = newMessages.length === 0 ? last : undefined;
  const keep = continued?.keep ?? closedLength(history);
  const issuedAt = clock();
  // The agent adds its system message again each time.
  const conversation = messages[0]?.role === 'system' ? messages.slice(1) : messages;
  const claims: Claims = {
    chat: chatId,
    person: person.id,
    issuedAt,
    expiresAt: issuedAt + expiresInMs,
    previous: continued ? beforeLast : lastToken,
    messageId,
    keep,
    messages: conversation.slice(keep),
  };
  return { type: 'data-seal', id: 'seal', data: { token: sealer.seal(claims) } };
}

type Decided = {
  readonly resume: Decisions;
  /** The key of the request that each entry of `resume` decides. */
  readonly keys: ReadonlyMap<string, string>;
  readonly problems: ReadonlyMap<string, readonly Problem[]>;
};

function problemsByKey(error: UsageError, keys: ReadonlyMap<string, string>): ReadonlyMap<string, readonly Problem[]> {
  const faults: unknown = error.details.faults;
  const found = new Map<string, readonly Problem[]>();
  for (const fault of Array.isArray(faults) ? faults : []) {
    const key = isObject(fault) ? keys.get(String(fault.where)) : undefined;
    if (key !== undefined) found.set(key, problemsOf(new UsageError(error.code, { faults: [fault] }, error.message)));
  }
  return found;
}

const sealExpired = (requestId: string, { expiresAt }: Claims): UsageError =>
  new UsageError(
    'seal-expired',
    { status: 403, requestId, expiresAt },
    `Request ${requestId} expired at ${new Date(expiresAt).toISOString()}. Ask the model again.`,
  );
