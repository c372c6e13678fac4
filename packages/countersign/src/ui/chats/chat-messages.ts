// The messages of a conversation as `useChat` keeps them, for a page that loads the chat.
import type { Part } from '../../core/messages/message.ts';
import { lastCard, type ShownCall, type ShownMessage, type ShownPart, shownFile } from '../picture/shown-part.ts';
import type { ChatMessage, ChatPart } from '../picture/ui-message.ts';
import type { WriterOptions } from '../picture/writer.ts';

export function chatMessage(message: ShownMessage, options: WriterOptions): ChatMessage {
  const { id, role } = message;
  if (role === 'user') return { id, role, parts: message.content.flatMap(userPart) };
  const parts = message.steps.flatMap((step) => [
    { type: 'step-start' },
    ...step.flatMap((part) => chatParts(part, options)),
  ]);
  return { id, role, parts };
}

function userPart(part: Part): readonly ChatPart[] {
  if ('text' in part) return [{ type: 'text', text: part.text }];
  if ('media' in part) return [shownFile(part.media)];
  return [];
}

function chatParts(part: ShownPart, { approvals }: WriterOptions): readonly ChatPart[] {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return [{ type: part.type, text: part.text, state: part.done ? 'done' : 'streaming' }];
    case 'file':
      return [part];
    case 'tool':
      return [
        {
          type: `tool-${part.name}`,
          toolCallId: part.id,
          input: part.input,
          ...stateOf(part, approvals === 'native'),
        },
        ...[...part.cards].map(([id, data]) => ({ type: 'data-request', id, data })),
      ];
  }
}

function stateOf(call: ShownCall, native: boolean): { readonly state: string; readonly [key: string]: unknown } {
  const { status, approvalId } = call;
  const id = native ? approvalId : undefined;
  const approved = id !== undefined && { approval: { id, approved: true } };
  const reason = lastCard(call)?.decision?.reason;
  switch (status.state) {
    case 'input-streaming':
      return { state: 'input-streaming' };
    case 'input':
    case 'question':
      return { state: 'input-available' };
    case 'asked':
      return native ? { state: 'approval-requested', approval: { id } } : { state: 'input-available' };
    case 'decided':
      return approved ? { state: 'approval-responded', ...approved } : { state: 'input-available' };
    case 'output':
      return { state: 'output-available', output: status.output, ...approved };
    case 'error':
      return { state: 'output-error', errorText: status.text };
    case 'denied':
      if (!native) return { state: 'output-error', errorText: reason ?? 'It was rejected and did not run.' };
      return { state: 'output-denied', approval: { id, approved: false, ...(reason !== undefined && { reason }) } };
  }
}
