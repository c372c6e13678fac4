// What the client has of a conversation: the messages of the last snapshot, with every event since. It turns the chunks of
// a chat into events, and leaves out what the client already has.
import { isDeepStrictEqual } from 'node:util';
import type { AssistantMessage, Message, ToolCall, ToolMessage } from '@ag-ui/core';
import type { ChatChunk, ChatMessage, RequestCard } from 'countersign/ui';
import type { AgUiEvent } from './events.ts';
import { agUiMessages, deniedText, outputText, reasoningId, replyId, toolMessage } from './messages.ts';

type Events = Generator<AgUiEvent, void, undefined>;

export class Transcript {
  #messages: Message[];
  /** The model's message that the chunks are about. */
  #messageId = '';
  /** The replies that the client had before. */
  #known: ReadonlySet<string> = new Set();
  /** How many replies the chunks have begun. */
  #replies = 0;
  /** The texts, reasonings and calls that are not complete, with the events that close each. */
  readonly #open = new Map<string, readonly AgUiEvent[]>();
  readonly #reasons = new Map<string, string>();

  /** `held` are the messages that the client sent, which may be anything. They are only compared until `correct` was called. */
  constructor(held: readonly object[]) {
    this.#messages = [...held] as Message[];
  }

  /** The next chunks are about this message of the model. */
  begin(messageId: string): void {
    this.#messageId = messageId;
    this.#replies = 0;
    this.#known = new Set(this.#messages.map(({ id }) => id));
  }

  /** Sends the recorded messages if the client has others. */
  *correct(recorded: readonly ChatMessage[]): Events {
    const messages = agUiMessages(recorded);
    if (isDeepStrictEqual(messages, this.#messages)) return;
    const held = this.#messages.map(({ id }) => id);
    this.#messages = messages;
    // A client keeps its own order of the messages that it has. Then it first forgets them.
    if (!isOrderKept(held, messages)) yield { type: 'MESSAGES_SNAPSHOT', messages: [] };
    yield { type: 'MESSAGES_SNAPSHOT', messages: structuredClone(messages) };
  }

  /** Sends the recorded results of calls that the client has without one. */
  *settle(recorded: readonly ChatMessage[]): Events {
    for (const message of agUiMessages(recorded))
      if (message.role === 'tool' && this.#findCall(message.toolCallId)) yield* this.#result(message);
  }

  /** Ends everything that is open, which must happen before a run ends. */
  *close(): Events {
    for (const id of [...this.#open.keys()]) yield* this.#end(id);
  }

  *add(chunk: ChatChunk): Events {
    const id = String(chunk.id);
    switch (chunk.type) {
      case 'start-step':
        this.#replies += 1;
        return;
      case 'text-delta':
        return yield* this.#text(this.#replyOf(id), String(chunk.delta));
      case 'text-end':
        return yield* this.#end(this.#replyOf(id));
      case 'reasoning-delta':
        return yield* this.#reasoning(id, String(chunk.delta));
      case 'reasoning-end':
        return yield* this.#end(reasoningId(this.#messageId, id));
      case 'data-request':
        return this.#note(chunk.data as RequestCard);
      default:
        if (typeof chunk.toolCallId === 'string') yield* this.#call(chunk.toolCallId, chunk);
    }
  }

  *#call(toolCallId: string, chunk: ChatChunk): Events {
    switch (chunk.type) {
      case 'tool-input-start':
        return yield* this.#beginCall(toolCallId, String(chunk.toolName));
      case 'tool-input-delta':
        return yield* this.#arguments(toolCallId, String(chunk.inputTextDelta));
      case 'tool-input-available':
        yield* this.#beginCall(toolCallId, String(chunk.toolName));
        return yield* this.#endCall(toolCallId, JSON.stringify(chunk.input ?? null));
      case 'tool-output-available':
        return yield* this.#result({ toolCallId, content: outputText(chunk.output) });
      case 'tool-output-error':
        return yield* this.#result({ toolCallId, content: String(chunk.errorText), error: String(chunk.errorText) });
      case 'tool-output-denied': {
        const name = this.#findCall(toolCallId)?.function.name ?? 'The call';
        const error = deniedText(name, this.#reasons.get(toolCallId));
        return yield* this.#result({ toolCallId, content: error, error });
      }
    }
  }

  /** The id of a text begins with the number of its reply. */
  #replyOf(textId: string): string {
    return replyId(this.#messageId, Number.parseInt(textId, 10));
  }

  *#text(messageId: string, delta: string): Events {
    if (this.#known.has(messageId) || delta === '') return;
    if (!this.#open.has(messageId)) {
      yield { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' };
      this.#open.set(messageId, [{ type: 'TEXT_MESSAGE_END', messageId }]);
    }
    const message = this.#assistant(messageId);
    message.content = (message.content ?? '') + delta;
    yield { type: 'TEXT_MESSAGE_CONTENT', messageId, delta };
  }

  *#reasoning(part: string, delta: string): Events {
    const messageId = reasoningId(this.#messageId, part);
    if (this.#known.has(messageId) || this.#known.has(this.#replyOf(part)) || delta === '') return;
    if (!this.#open.has(messageId)) {
      yield { type: 'REASONING_START', messageId };
      yield { type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning' };
      this.#open.set(messageId, [
        { type: 'REASONING_MESSAGE_END', messageId },
        { type: 'REASONING_END', messageId },
      ]);
      this.#messages.push({ id: messageId, role: 'reasoning', content: '' });
    }
    const message = this.#messages.findLast(({ id }) => id === messageId);
    if (message?.role === 'reasoning') message.content += delta;
    yield { type: 'REASONING_MESSAGE_CONTENT', messageId, delta };
  }

  *#beginCall(toolCallId: string, toolCallName: string): Events {
    if (this.#findCall(toolCallId)) return;
    const parentMessageId = replyId(this.#messageId, Math.max(1, this.#replies));
    const message = this.#assistant(parentMessageId);
    message.toolCalls = [
      ...(message.toolCalls ?? []),
      { id: toolCallId, type: 'function', function: { name: toolCallName, arguments: '' } },
    ];
    this.#open.set(toolCallId, [{ type: 'TOOL_CALL_END', toolCallId }]);
    yield { type: 'TOOL_CALL_START', toolCallId, toolCallName, parentMessageId };
  }

  *#arguments(toolCallId: string, delta: string): Events {
    const call = this.#findCall(toolCallId);
    if (!call || !this.#open.has(toolCallId) || delta === '') return;
    call.function.arguments += delta;
    yield { type: 'TOOL_CALL_ARGS', toolCallId, delta };
  }

  /** Arguments that were streamed otherwise, or edited later, are corrected by the snapshot before the run ends. */
  *#endCall(toolCallId: string, whole: string): Events {
    const sent = this.#findCall(toolCallId)?.function.arguments ?? '';
    if (whole.startsWith(sent)) yield* this.#arguments(toolCallId, whole.slice(sent.length));
    yield* this.#end(toolCallId);
  }

  *#result(result: Pick<ToolMessage, 'toolCallId' | 'content' | 'error'>): Events {
    const { toolCallId, content } = result;
    if (this.#messages.some((message) => message.role === 'tool' && message.toolCallId === toolCallId)) return;
    yield* this.#end(toolCallId);
    const message = toolMessage(result);
    const owner = this.#messages.findIndex((message) => callsOf(message).some(({ id }) => id === toolCallId));
    let at = owner < 0 ? this.#messages.length : owner + 1;
    while (owner >= 0 && this.#messages[at]?.role === 'tool') at += 1;
    this.#messages.splice(at, 0, message);
    yield { type: 'TOOL_CALL_RESULT', messageId: message.id, toolCallId, content, role: 'tool' };
  }

  #note({ toolCallId, decision }: RequestCard): void {
    if (decision?.reason !== undefined) this.#reasons.set(toolCallId, decision.reason);
  }

  *#end(id: string): Events {
    yield* this.#open.get(id) ?? [];
    this.#open.delete(id);
  }

  #findCall(toolCallId: string): ToolCall | undefined {
    return this.#messages.flatMap(callsOf).find(({ id }) => id === toolCallId);
  }

  #assistant(id: string): AssistantMessage {
    const found = this.#messages.findLast((message) => message.id === id);
    if (found?.role === 'assistant') return found;
    const made: AssistantMessage = { id, role: 'assistant' };
    this.#messages.push(made);
    return made;
  }
}

/** Whether a client that keeps the order of what it has, and appends the rest, ends up with this order. */
function isOrderKept(held: readonly string[], messages: readonly Message[]): boolean {
  const ids = messages.map(({ id }) => id);
  const kept = held.filter((id) => ids.includes(id));
  return kept.every((id, index) => ids[index] === id);
}

const callsOf = (message: Message): readonly ToolCall[] =>
  message.role === 'assistant' ? (message.toolCalls ?? []) : [];
