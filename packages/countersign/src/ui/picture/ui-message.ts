// The AI SDK's UI messages and stream chunks: the subset that the chat reads and writes.
import { isObject } from '../../core/json.ts';
import type { Tool } from '../../loop/tool/definition.ts';
import type { RequestCard } from './card.ts';

/** One message as `useChat` keeps it. */
export type ChatMessage = {
  readonly id: string;
  readonly role: 'user' | 'assistant';
  readonly parts: readonly ChatPart[];
};

/** One part of a message; its fields depend on its type. */
export type ChatPart = { readonly type: string; readonly [key: string]: unknown };

/** One chunk of the stream; its fields depend on its type. */
export type ChatChunk = { readonly type: string; readonly [key: string]: unknown };

/** The inputs and outputs of tools, as the type parameter of the AI SDK's `UIMessage`. */
export type InferTools<Tools extends Record<string, Tool>> = {
  [Name in keyof Tools]: Tools[Name] extends Tool<infer Input, infer Output> ? { input: Input; output: Output } : never;
};

/** The data parts that the chat sends, as the type parameter of the AI SDK's `UIMessage`. */
export type ChatDataParts = {
  request: RequestCard;
  seal: { readonly token: string };
  end: { readonly finishReason: string };
};

/**
 * The id of a tool part in the browser: the refs of the calls around it, then its own. A slash inside a ref is escaped,
 * because refs come from models and two calls must not share an id.
 */
export function toolCallIdAt(path: readonly string[], ref: string): string {
  return [...path, ref].map((step) => step.replace(/[%/]/g, encodeURIComponent)).join('/');
}

/** Whether the part belongs to a tool call. */
export function isToolPart({ type }: ChatPart): boolean {
  return type === 'dynamic-tool' || type.startsWith('tool-');
}

/** The ids of the requests that a message shows, in the order they were asked, by tool call. */
export function requestsByCall(parts: readonly ChatPart[]): ReadonlyMap<string, readonly string[]> {
  const questions = new Map<string, string[]>();
  for (const { type, data } of parts) {
    if (type !== 'data-request' || !isObject(data)) continue;
    const { id, toolCallId } = data;
    if (typeof id !== 'string' || typeof toolCallId !== 'string') continue;
    const asked = questions.get(toolCallId);
    if (asked) asked.push(id);
    else questions.set(toolCallId, [id]);
  }
  return questions;
}
