// Messages and chunks of the AI SDK's user interface, as far as they are sent and read here.
import { isObject } from '../../core/json.ts';
import type { Tool } from '../../loop/tool/tool.ts';
import type { InterruptCard } from './card.ts';

/** One message as `useChat` keeps it. */
export type ChatMessage = {
  readonly id: string;
  readonly role: 'user' | 'assistant';
  readonly parts: readonly ChatPart[];
};

/** One part of a message, with whatever fields its type has. */
export type ChatPart = { readonly type: string; readonly [key: string]: unknown };

/** One chunk of the stream, with whatever fields its type has. */
export type ChatChunk = { readonly type: string; readonly [key: string]: unknown };

/** What tools take and give, in the shape that the AI SDK's `UIMessage` takes. */
export type InferTools<Tools extends Record<string, Tool>> = {
  [Name in keyof Tools]: Tools[Name] extends Tool<infer Input, infer Output> ? { input: Input; output: Output } : never;
};

/** The data parts that the chat sends, in the shape that the AI SDK's `UIMessage` takes. */
export type ChatDataParts = {
  interrupt: InterruptCard;
  seal: { readonly token: string };
  end: { readonly finishReason: string };
};

/**
 * The id of a tool part in the browser: the refs of the calls that lead to it, and its own. Refs come from models and may
 * have a slash of their own, which must not make two calls one.
 */
export function toolCallIdAt(path: readonly string[], ref: string): string {
  return [...path, ref].map((step) => step.replace(/[%/]/g, encodeURIComponent)).join('/');
}

/** The questions of this call that a message shows, in the order in which they were asked. */
export function shownQuestions(parts: readonly ChatPart[], toolCallId: string): readonly string[] {
  return parts.flatMap(({ type, data }) =>
    type === 'data-interrupt' && isObject(data) && data.toolCallId === toolCallId && typeof data.id === 'string'
      ? [data.id]
      : [],
  );
}
