// Reads the body that `useChat` posts: the chat, the user's new message, and the decisions.
import { UsageError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { Part } from '../../core/messages/message.ts';
import type { DecisionInput } from '../../runs/requests/decision.ts';
import { type ChatMessage, type ChatPart, isToolPart, requestsByCall } from '../picture/ui-message.ts';
import { refuseTooMany } from './post-limits.ts';

export type PostedDecision = {
  readonly requestId: string;
  readonly decision: DecisionInput;
  readonly digest?: string;
  readonly note?: string;
};

export type PostedPart =
  | { readonly approvalId: string; readonly approved: boolean; readonly reason?: string }
  | (AnsweredCall & { readonly output: unknown })
  | (AnsweredCall & { readonly errorText: string });

type AnsweredCall = {
  readonly toolCallId: string;
  /** The last request the browser showed for this call; undefined if the page keeps no data parts. */
  readonly questionId?: string;
};

/** The user's new message, with the id that the browser gave it. */
export type PostedMessage = { readonly id: string; readonly content: readonly Part[] };

export type Post = {
  readonly chatId: string;
  readonly regenerate: boolean;
  /** Withdraws the pending requests, so that the messages which wait for them are answered now. */
  readonly withdraw: boolean;
  readonly userMessage?: PostedMessage;
  readonly decisions: readonly PostedDecision[];
  readonly parts: readonly PostedPart[];
  /** The last message of the model, as the browser has it, if the user has not spoken since. */
  readonly known?: ChatMessage;
  /** All posted messages, for chats without a store. */
  readonly messages: readonly ChatMessage[];
};

/** Throws `invalid-request` with the name of the invalid field, or `too-large`. */
export function readPost(body: unknown): Post {
  if (!isObject(body)) throw invalid('The body', 'must be an object');
  const chatId = checkChatId(body.id, 'id');
  // A page that posts `message` instead of `messages` would lose the message without an error.
  if (body.messages === undefined && body.message !== undefined)
    throw invalid('message', 'is not supported. Post messages: [message]');
  const messages = readMessages(body.messages);
  const decisions = readDecisions(body.decisions);
  const last = messages.at(-1);
  return {
    chatId,
    regenerate: body.trigger === 'regenerate-message',
    withdraw: body.withdraw === true,
    ...(last?.role === 'user' && { userMessage: { id: last.id, content: contentOf(last) } }),
    decisions,
    parts: postedParts(messages),
    ...(last?.role === 'assistant' && { known: last }),
    messages,
  };
}

export function postedParts(messages: readonly ChatMessage[]): readonly PostedPart[] {
  return messages
    .filter(({ role }) => role === 'assistant')
    .flatMap(({ parts }) => {
      const questions = requestsByCall(parts);
      return parts.flatMap((part) => postedPart(part, questions));
    });
}

/** Ids that would clash with the paths of the route. */
const RESERVED_IDS: ReadonlySet<string> = new Set(['.', '..', 'stream', 'watch']);

/** The id of a chat is the id of its run. */
export function checkChatId(id: unknown, where: string): string {
  if (typeof id === 'string' && RESERVED_IDS.has(id)) throw invalid(where, `must not be ${JSON.stringify(id)}`);
  if (typeof id === 'string' && /^[\w.-]{1,128}$/.test(id)) return id;
  throw invalid(where, 'must be a string of 1 to 128 letters, digits, "_", "." or "-"');
}

function readMessages(value: unknown): readonly ChatMessage[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw invalid('messages', 'must be an array');
  refuseTooMany('messages', value.length);
  let partCount = 0;
  return value.flatMap((message: unknown, index) => {
    const where = `messages[${index}]`;
    if (!isObject(message)) throw invalid(where, 'must be an object');
    const { id, role, parts } = message;
    if (role === 'system') return [];
    if (role !== 'user' && role !== 'assistant') throw invalid(`${where}.role`, 'must be user or assistant');
    if (typeof id !== 'string' || id.length > 256) throw invalid(`${where}.id`, 'must be a string');
    if (!Array.isArray(parts)) throw invalid(`${where}.parts`, 'must be an array');
    partCount += parts.length;
    refuseTooMany('parts', partCount);
    if (!parts.every(isPart)) throw invalid(`${where}.parts`, 'must be objects with a type');
    return [{ id, role, parts }];
  });
}

function isPart(part: unknown): part is ChatPart {
  return isObject(part) && typeof part.type === 'string';
}

function readDecisions(value: unknown): readonly PostedDecision[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw invalid('decisions', 'must be an array');
  refuseTooMany('decisions', value.length);
  return value.map((entry: unknown, index) => {
    const where = `decisions[${index}]`;
    if (!isObject(entry)) throw invalid(where, 'must be an object');
    const { requestId, decision, digest, note, ...others } = entry;
    // With `edit` beside `decision` instead of inside it, the unedited input would run.
    const [unknown] = Object.keys(others);
    if (unknown !== undefined)
      throw invalid(`${where}.${unknown}`, 'is unknown; allowed are requestId, decision, digest and note');
    if (typeof requestId !== 'string') throw invalid(`${where}.requestId`, 'must be a string');
    if (!isObject(decision) || typeof decision.type !== 'string')
      throw invalid(`${where}.decision`, 'must be an object with a type');
    if (digest !== undefined && typeof digest !== 'string') throw invalid(`${where}.digest`, 'must be a string');
    if (note !== undefined && typeof note !== 'string') throw invalid(`${where}.note`, 'must be a string');
    return {
      requestId,
      decision: decision as DecisionInput,
      ...(digest !== undefined && { digest }),
      ...(note !== undefined && { note }),
    };
  });
}

export function contentOf({ parts }: ChatMessage): readonly Part[] {
  const content = parts.flatMap((part): readonly Part[] => {
    if (part.type === 'text' && typeof part.text === 'string' && part.text !== '') return [{ text: part.text }];
    if (part.type !== 'file' || typeof part.url !== 'string') return [];
    if (!/^(data:|https:)/i.test(part.url))
      throw invalid('the url of a file', 'must be a data: or https: URL; other URLs are not fetched');
    const contentType = typeof part.mediaType === 'string' ? { contentType: part.mediaType } : {};
    return [{ media: { url: part.url, ...contentType } }];
  });
  if (content.length === 0) throw invalid('the last message', 'has no text');
  return content;
}

function postedPart(part: ChatPart, questions: ReadonlyMap<string, readonly string[]>): readonly PostedPart[] {
  if (!isToolPart(part)) return [];
  const { toolCallId, state, approval, output, errorText } = part;
  if (state === 'approval-responded' && isObject(approval) && typeof approval.approved === 'boolean') {
    if (typeof approval.id !== 'string') return [];
    const reason = typeof approval.reason === 'string' && approval.reason !== '' ? { reason: approval.reason } : {};
    return [{ approvalId: approval.id, approved: approval.approved, ...reason }];
  }
  if (typeof toolCallId !== 'string') return [];
  const questionId = questions.get(toolCallId)?.at(-1);
  const call = { toolCallId, ...(questionId !== undefined && { questionId }) };
  if (state === 'output-available' && 'output' in part) return [{ ...call, output }];
  if (state === 'output-error' && typeof errorText === 'string') return [{ ...call, errorText }];
  return [];
}

function invalid(where: string, problem: string): UsageError {
  return new UsageError('invalid-request', { status: 400, where }, `${where} ${problem}.`);
}
