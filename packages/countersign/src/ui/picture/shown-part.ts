// The parts that a message of the model has in a browser.

import type { Json } from '../../core/json.ts';
import type { Part } from '../../core/messages/message.ts';
import type { Result } from '../../core/run/event.ts';
import type { RequestCard } from './card.ts';

/** Text of the model; it grows while the model writes. `added`: the text since its changes were last taken. */
export type ShownText = {
  readonly type: 'text' | 'reasoning';
  readonly id: string;
  text: string;
  added: string;
  done: boolean;
};

type ShownFile = { readonly type: 'file'; readonly url: string; readonly mediaType: string };

export type ShownCall = {
  readonly type: 'tool';
  /** The `toolCallId` of the part in the browser. */
  readonly id: string;
  readonly name: string;
  input: Json;
  /** The input as JSON text, as far as the model has written it. */
  inputText: string;
  status: CallStatus;
  /** The id of its last request, unless that asks for an answer. */
  approvalId: string | undefined;
  readonly cards: Map<string, RequestCard>;
};

/** `asked`: waits for approval. `question`: waits for an answer. `decided`: a person decided, and it runs or is about to. */
export type CallStatus =
  | { readonly state: 'input-streaming' | 'input' | 'asked' | 'question' | 'decided' | 'denied' }
  | { readonly state: 'output'; readonly output: Json }
  | { readonly state: 'error'; readonly text: string };

export type ShownPart = ShownText | ShownFile | ShownCall;

/** A message in the browser. A message of the model has one step per reply. */
export type ShownMessage =
  | { readonly role: 'user'; id: string; readonly content: readonly Part[] }
  | { readonly role: 'assistant'; readonly id: string; readonly steps: ShownPart[][] };

export type AssistantMessage = Extract<ShownMessage, { role: 'assistant' }>;

export function shownCall(id: string, name: string, input: Json, state: 'input-streaming' | 'input'): ShownCall {
  return { type: 'tool', id, name, input, inputText: '', status: { state }, approvalId: undefined, cards: new Map() };
}

export function shownFile({ url, contentType }: { readonly url: string; readonly contentType?: string }): ShownFile {
  const inUrl = /^data:([^;,]+)/.exec(url)?.[1];
  return { type: 'file', url, mediaType: contentType ?? inUrl ?? 'application/octet-stream' };
}

/** The status of a call that ended with this result. */
export function endStatus(
  call: ShownCall,
  result: Pick<Result, 'type'> & { output?: Json; text?: string },
): CallStatus {
  if (result.type === 'output') return { state: 'output', output: result.output ?? null };
  if (result.type === 'rejected' && call.approvalId !== undefined) return { state: 'denied' };
  return { state: 'error', text: result.text ?? '' };
}

export function hasEnded({ state }: CallStatus): boolean {
  return state === 'output' || state === 'error' || state === 'denied';
}

export const lastCard = ({ cards }: ShownCall): RequestCard | undefined => [...cards.values()].at(-1);
