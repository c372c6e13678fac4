// What `useChat` posts, reduced to what counts: who says or decides what in which chat.
import { UsageError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { Part } from '../../core/message.ts';
import type { DecisionInput } from '../../runs/questions/decision.ts';
import { type ChatMessage, type ChatPart, shownQuestions } from '../picture/ui-message.ts';

/** A decision in so many words. */
export type PostedDecision = {
  readonly interruptId: string;
  readonly decision: DecisionInput;
  readonly digest?: string;
  readonly note?: string;
};

/** What a person did to a tool part in the browser. */
export type PostedPart =
  | { readonly approvalId: string; readonly approved: boolean; readonly reason?: string }
  | (AnsweredCall & { readonly output: unknown })
  | (AnsweredCall & { readonly errorText: string });

type AnsweredCall = {
  readonly toolCallId: string;
  /** The question that the browser showed last for this call; undefined if the page keeps no data parts. */
  readonly shown?: string;
};

export type Post = {
  readonly chatId: string;
  readonly regenerate: boolean;
  /** What the user says, under the id that the browser gave it. */
  readonly said?: { readonly id: string; readonly content: readonly Part[] };
  readonly decisions: readonly PostedDecision[];
  readonly parts: readonly PostedPart[];
  /** The last message of the model, where nothing comes after it: what the browser has. */
  readonly known?: ChatMessage;
  /** Everything that was posted, for those who keep nothing themselves. */
  readonly messages: readonly ChatMessage[];
};

/** Throws `invalid-request` that says which field is wrong. */
export function readPost(body: unknown): Post {
  if (!isObject(body)) throw invalid('The body', 'must be an object');
  const chatId = checkChatId(body.id, 'id');
  // Pages that post only the last message would otherwise say it to nobody.
  if (body.messages === undefined && body.message !== undefined)
    throw invalid('message', 'is not read. Post messages: [message]');
  const messages = readMessages(body.messages);
  const decisions = readDecisions(body.decisions);
  const last = messages.at(-1);
  return {
    chatId,
    regenerate: body.trigger === 'regenerate-message',
    ...(last?.role === 'user' && { said: { id: last.id, content: saidIn(last) } }),
    decisions,
    parts: postedParts(messages),
    ...(last?.role === 'assistant' && { known: last }),
    messages,
  };
}

/** What was done to the tool parts of the model's messages. */
export function postedParts(messages: readonly ChatMessage[]): readonly PostedPart[] {
  return messages
    .filter(({ role }) => role === 'assistant')
    .flatMap(({ parts }) => parts.flatMap((part) => postedPart(part, parts)));
}

/** Dots alone lead elsewhere in an address, and these stand behind the id of a chat there. */
const NO_IDS: ReadonlySet<string> = new Set(['.', '..', 'stream', 'watch']);

/** The id of a chat is the id of its run. */
export function checkChatId(id: unknown, where: string): string {
  if (typeof id === 'string' && NO_IDS.has(id)) throw invalid(where, `must not be ${JSON.stringify(id)}`);
  if (typeof id === 'string' && /^[\w.-]{1,128}$/.test(id)) return id;
  throw invalid(where, 'must be a text of 1 to 128 letters, digits, "_", "." or "-"');
}

function readMessages(given: unknown): readonly ChatMessage[] {
  if (given === undefined) return [];
  if (!Array.isArray(given)) throw invalid('messages', 'must be a list');
  return given.flatMap((message: unknown, index) => {
    const where = `messages[${index}]`;
    if (!isObject(message)) throw invalid(where, 'must be an object');
    const { id, role, parts } = message;
    if (role === 'system') return [];
    if (role !== 'user' && role !== 'assistant') throw invalid(`${where}.role`, 'must be user or assistant');
    if (typeof id !== 'string' || id.length > 256) throw invalid(`${where}.id`, 'must be a text');
    if (!Array.isArray(parts)) throw invalid(`${where}.parts`, 'must be a list');
    const known = parts.filter((part): part is ChatPart => isObject(part) && typeof part.type === 'string');
    if (known.length !== parts.length) throw invalid(`${where}.parts`, 'must be objects with a type');
    return [{ id, role, parts: known }];
  });
}

function readDecisions(given: unknown): readonly PostedDecision[] {
  if (given === undefined) return [];
  if (!Array.isArray(given)) throw invalid('decisions', 'must be a list');
  return given.map((entry: unknown, index) => {
    const where = `decisions[${index}]`;
    if (!isObject(entry)) throw invalid(where, 'must be an object');
    const { interruptId, decision, digest, note, ...others } = entry;
    // Whoever puts `edit` beside the decision would let run what they meant to change.
    const [unknown] = Object.keys(others);
    if (unknown !== undefined)
      throw invalid(`${where}.${unknown}`, 'is not known; there are interruptId, decision, digest and note');
    if (typeof interruptId !== 'string') throw invalid(`${where}.interruptId`, 'must be a text');
    if (!isObject(decision) || typeof decision.type !== 'string')
      throw invalid(`${where}.decision`, 'must be an object with a type');
    if (digest !== undefined && typeof digest !== 'string') throw invalid(`${where}.digest`, 'must be a text');
    if (note !== undefined && typeof note !== 'string') throw invalid(`${where}.note`, 'must be a text');
    return {
      interruptId,
      decision: decision as DecisionInput,
      ...(digest !== undefined && { digest }),
      ...(note !== undefined && { note }),
    };
  });
}

/** The text and files of a user's message. */
export function saidIn({ parts }: ChatMessage): readonly Part[] {
  const content = parts.flatMap((part): readonly Part[] => {
    if (part.type === 'text' && typeof part.text === 'string' && part.text !== '') return [{ text: part.text }];
    if (part.type !== 'file' || typeof part.url !== 'string') return [];
    if (!/^(data:|https:)/i.test(part.url))
      throw invalid('the url of a file', 'must be a data: or https: URL; nothing else is fetched');
    const contentType = typeof part.mediaType === 'string' ? { contentType: part.mediaType } : {};
    return [{ media: { url: part.url, ...contentType } }];
  });
  if (content.length === 0) throw invalid('the last message', 'has no text');
  return content;
}

function postedPart(part: ChatPart, all: readonly ChatPart[]): readonly PostedPart[] {
  if (part.type !== 'dynamic-tool' && !part.type.startsWith('tool-')) return [];
  const { toolCallId, state, approval, output, errorText } = part;
  if (state === 'approval-responded' && isObject(approval) && typeof approval.approved === 'boolean') {
    if (typeof approval.id !== 'string') return [];
    const reason = typeof approval.reason === 'string' && approval.reason !== '' ? { reason: approval.reason } : {};
    return [{ approvalId: approval.id, approved: approval.approved, ...reason }];
  }
  if (typeof toolCallId !== 'string') return [];
  const shown = shownQuestions(all, toolCallId).at(-1);
  const call = { toolCallId, ...(shown !== undefined && { shown }) };
  if (state === 'output-available' && 'output' in part) return [{ ...call, output }];
  if (state === 'output-error' && typeof errorText === 'string') return [{ ...call, errorText }];
  return [];
}

function invalid(where: string, problem: string): UsageError {
  return new UsageError('invalid-request', { status: 400, where }, `${where} ${problem}.`);
}
