// The messages of a chat as messages of AG-UI: one assistant message per reply of the model, one tool message per result.
import type { AssistantMessage, ContentPart, Message, ReasoningMessage, ToolMessage } from '@ag-ui/core';
import type { ChatMessage, ChatPart, RequestCard } from 'countersign/ui';

/** The id of the message that holds a reply; replies of a message count from 1. */
export const replyId = (messageId: string, reply: number): string => `${messageId}/${reply}`;

/** `part`: the number of the reply and the position of the reasoning in it. */
export const reasoningId = (messageId: string, part: string): string => `${messageId}/${part}`;

export function agUiMessages(messages: readonly ChatMessage[]): Message[] {
  return messages.flatMap((message) => (message.role === 'user' ? [userMessage(message)] : replies(message)));
}

/** The requests that wait for a decision. */
export function pendingCards(messages: readonly ChatMessage[]): readonly RequestCard[] {
  return messages
    .flatMap(({ parts }) => parts.filter(isCard))
    .map(({ data }) => data)
    .filter(({ status }) => status === 'pending');
}

type ToolResult = Pick<ToolMessage, 'toolCallId' | 'content' | 'error'>;

/** A tool message with its own id, which is the same each time it is shown. */
export function toolMessage({ toolCallId, content, error }: ToolResult): ToolMessage {
  const message = { id: `${toolCallId}/result`, role: 'tool' as const, content, toolCallId };
  return error === undefined ? message : { ...message, error };
}

/** Texts are shown as they are, all other outputs as JSON. */
export function outputText(output: unknown): string {
  return typeof output === 'string' ? output : JSON.stringify(output ?? null);
}

export function deniedText(tool: string, reason: string | undefined): string {
  return `${tool} was rejected and did not run.${reason === undefined ? '' : ` Reason: ${reason}`}`;
}

function userMessage({ id, parts }: ChatMessage): Message {
  const [first] = parts;
  if (parts.length === 1 && first?.type === 'text') return { id, role: 'user', content: String(first.text) };
  return { id, role: 'user', content: parts.flatMap(userPart) };
}

function userPart({ type, text, url, mediaType }: ChatPart): ContentPart[] {
  if (type === 'text') return [{ type, text: String(text) }];
  if (type !== 'file' || typeof url !== 'string') return [];
  const mimeType = String(mediaType ?? 'application/octet-stream');
  const inline = /^data:[^,]*;base64,(.*)$/s.exec(url)?.[1];
  const source =
    inline === undefined
      ? { type: 'url' as const, value: url, mimeType }
      : { type: 'data' as const, value: inline, mimeType };
  return [{ type: partType(mimeType), source }];
}

function partType(mimeType: string): 'image' | 'audio' | 'video' | 'document' {
  const [kind] = mimeType.split('/');
  return kind === 'image' || kind === 'audio' || kind === 'video' ? kind : 'document';
}

function replies({ id, parts }: ChatMessage): Message[] {
  const found: Message[] = [];
  let reply = 0;
  let shown: ChatPart[] = [];
  for (const part of [...parts, { type: 'step-start' }])
    if (part.type === 'step-start') {
      if (reply > 0) found.push(...replyMessages(id, reply, shown));
      reply += 1;
      shown = [];
    } else shown.push(part);
  return found;
}

function replyMessages(messageId: string, reply: number, parts: readonly ChatPart[]): readonly Message[] {
  const own = parts.filter((part) => !part.type.startsWith('data-'));
  const reasoning = own.flatMap(({ type, text }, index): ReasoningMessage[] =>
    type === 'reasoning'
      ? [{ id: reasoningId(messageId, `${reply}.${index}`), role: 'reasoning', content: String(text) }]
      : [],
  );
  const text = own.map((part) => (part.type === 'text' ? part.text : '')).join('');
  const calls = own.filter(({ type }) => type.startsWith('tool-'));
  const reasons = new Map(parts.filter(isCard).map(({ data }) => [data.toolCallId, data.decision?.reason]));
  const assistant: AssistantMessage = {
    id: replyId(messageId, reply),
    role: 'assistant',
    ...(text !== '' && { content: text }),
    ...(calls.length > 0 && {
      toolCalls: calls.map(({ type, toolCallId, input }) => ({
        id: String(toolCallId),
        type: 'function',
        function: { name: toolName(type), arguments: JSON.stringify(input ?? null) },
      })),
    }),
  };
  const results = calls.flatMap((call) => resultOf(call, reasons) ?? []).map(toolMessage);
  return text === '' && calls.length === 0 ? reasoning : [...reasoning, assistant, ...results];
}

function resultOf(
  { type, toolCallId, state, output, errorText }: ChatPart,
  reasons: ReadonlyMap<string, string | undefined>,
): ToolResult | undefined {
  const id = String(toolCallId);
  if (state === 'output-available') return { toolCallId: id, content: outputText(output) };
  const error = state === 'output-error' ? String(errorText) : deniedText(toolName(type), reasons.get(id));
  if (state === 'output-error' || state === 'output-denied') return { toolCallId: id, content: error, error };
  return undefined;
}

const toolName = (type: string): string => type.slice('tool-'.length);

type CardPart = ChatPart & { readonly data: RequestCard };

const isCard = (part: ChatPart): part is CardPart => part.type === 'data-request';
