// The messages of a conversation as `useChat` keeps them, for a page that is opened or loaded again.
import type { Part } from '../../core/message.ts';
import type { PictureMessage, Piece, ToolPiece } from '../picture/piece.ts';
import { filePiece } from '../picture/piece.ts';
import type { ChatMessage, ChatPart } from '../picture/ui-message.ts';
import type { WriterOptions } from '../picture/writer.ts';

export function chatMessage(message: PictureMessage, options: WriterOptions): ChatMessage {
  const { id, role } = message;
  if (role === 'user') return { id, role, parts: message.content.flatMap(userPart) };
  const parts = message.steps.flatMap((step) => [
    { type: 'step-start' },
    ...step.flatMap((p) => pieceParts(p, options)),
  ]);
  return { id, role, parts };
}

function userPart(part: Part): readonly ChatPart[] {
  if ('text' in part) return [{ type: 'text', text: part.text }];
  if ('media' in part) return [filePiece(part.media)];
  return [];
}

function pieceParts(piece: Piece, { approvals }: WriterOptions): readonly ChatPart[] {
  switch (piece.type) {
    case 'text':
    case 'reasoning':
      return [{ type: piece.type, text: piece.text, state: piece.done ? 'done' : 'streaming' }];
    case 'file':
      return [piece];
    case 'tool':
      return [
        {
          type: `tool-${piece.name}`,
          toolCallId: piece.id,
          input: piece.input,
          ...(approvals === 'native' ? nativeState(piece) : plainState(piece)),
        },
        ...[...piece.cards].map(([id, data]) => ({ type: 'data-interrupt', id, data })),
      ];
  }
}

function nativeState(piece: ToolPiece): { readonly state: string; readonly [key: string]: unknown } {
  const { at, approvalId: id } = piece;
  const reason = [...piece.cards.values()].at(-1)?.decision?.reason;
  const approved = id === undefined ? {} : { approval: { id, approved: true } };
  switch (at.state) {
    case 'asked':
      return { state: 'approval-requested', approval: { id } };
    case 'decided':
      return id === undefined ? { state: 'input-available' } : { state: 'approval-responded', ...approved };
    case 'output':
      return { state: 'output-available', output: at.output, ...approved };
    case 'denied':
      return { state: 'output-denied', approval: { id, approved: false, ...(reason !== undefined && { reason }) } };
    case 'error':
    case 'input-streaming':
    case 'input':
    case 'question':
      return plainState(piece);
  }
}

function plainState({ at, cards }: ToolPiece): { readonly state: string; readonly [key: string]: unknown } {
  switch (at.state) {
    case 'input-streaming':
      return { state: 'input-streaming' };
    case 'input':
    case 'asked':
    case 'question':
    case 'decided':
      return { state: 'input-available' };
    case 'output':
      return { state: 'output-available', output: at.output };
    case 'error':
      return { state: 'output-error', errorText: at.text };
    case 'denied': {
      const reason = [...cards.values()].at(-1)?.decision?.reason;
      return { state: 'output-error', errorText: reason ?? 'It was rejected and did not run.' };
    }
  }
}
