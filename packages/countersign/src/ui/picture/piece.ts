// The pieces that a message of the model consists of in a browser.
import type { Result } from '../../core/event.ts';
import type { Json } from '../../core/json.ts';
import type { Part } from '../../core/message.ts';
import type { InterruptCard } from './card.ts';

/** What the model says; it grows while it is said. */
export type TextPiece = { readonly type: 'text' | 'reasoning'; readonly id: string; text: string; done: boolean };

type FilePiece = { readonly type: 'file'; readonly url: string; readonly mediaType: string };

/** A call: where it stands, and the cards of its questions. */
export type ToolPiece = {
  readonly type: 'tool';
  /** Of the part in the browser. */
  readonly id: string;
  readonly name: string;
  input: Json;
  /** What has been written of the input so far, as JSON text. */
  inputText: string;
  at: ToolAt;
  /** Of the last question that is more than one to be answered. */
  approvalId: string | undefined;
  readonly cards: Map<string, InterruptCard>;
};

/** Where a call stands. `decided`: a person decided, and it runs or is about to. */
export type ToolAt =
  | { readonly state: 'input-streaming' | 'input' | 'asked' | 'question' | 'decided' | 'denied' }
  | { readonly state: 'output'; readonly output: Json }
  | { readonly state: 'error'; readonly text: string };

export type Piece = TextPiece | FilePiece | ToolPiece;

/** A message of the browser. One of the model has a step for each reply. */
export type PictureMessage =
  | { readonly role: 'user'; id: string; readonly content: readonly Part[] }
  | { readonly role: 'assistant'; readonly id: string; readonly steps: Piece[][] };

export type AssistantMessage = Extract<PictureMessage, { role: 'assistant' }>;

export function toolPiece(id: string, name: string, input: Json, state: 'input-streaming' | 'input'): ToolPiece {
  return { type: 'tool', id, name, input, inputText: '', at: { state }, approvalId: undefined, cards: new Map() };
}

export function filePiece({ url, contentType }: { readonly url: string; readonly contentType?: string }): FilePiece {
  const inUrl = /^data:([^;,]+)/.exec(url)?.[1];
  return { type: 'file', url, mediaType: contentType ?? inUrl ?? 'application/octet-stream' };
}

/** How a call stands that has come to an end. */
export function endOf(piece: ToolPiece, result: Pick<Result, 'type'> & { output?: Json; text?: string }): ToolAt {
  if (result.type === 'output') return { state: 'output', output: result.output ?? null };
  if (result.type === 'rejected' && piece.approvalId !== undefined) return { state: 'denied' };
  return { state: 'error', text: result.text ?? '' };
}

export function isEnded({ state }: ToolAt): boolean {
  return state === 'output' || state === 'error' || state === 'denied';
}
