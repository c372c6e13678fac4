// Messages: the conversation as plain JSON, in the shape that users save, send and pass back.

/** Free-form data beside a part or a message. Foreign keys survive every pause unchanged. */
export type Metadata = { readonly [key: string]: unknown };

/** Text. */
export type TextPart = { readonly text: string; readonly metadata?: Metadata };
/** The reasoning of a model. */
export type ReasoningPart = { readonly reasoning: string; readonly metadata?: Metadata };
/** An image or another file, as a `data:` or `http` URL. */
export type MediaPart = {
  readonly media: { readonly url: string; readonly contentType?: string };
  readonly metadata?: Metadata;
};
/** Any JSON. */
export type DataPart = { readonly data: unknown; readonly metadata?: Metadata };

/** One call that the model asks for. `ref` is unique in the conversation. */
export type ToolRequestPart<Input = any> = {
  readonly toolRequest: { readonly name: string; readonly ref: string; readonly input: Input };
  readonly metadata?: Metadata;
};

/** The result of the call with the same `ref`, as the model reads it. */
export type ToolResponsePart<Output = any> = {
  readonly toolResponse: { readonly name: string; readonly ref: string; readonly output: Output };
  readonly metadata?: Metadata;
};

/** One piece of a message. */
export type Part = TextPart | ReasoningPart | MediaPart | DataPart | ToolRequestPart | ToolResponsePart;

/** The author of a message. `tool` messages hold the results of the calls in the `model` message before them. */
export type Role = 'system' | 'user' | 'model' | 'tool';

/** One message of a conversation: plain JSON that can be saved and passed back. */
export type Message = { readonly role: Role; readonly content: readonly Part[]; readonly metadata?: Metadata };

export const isToolRequest = (part: Part): part is ToolRequestPart => 'toolRequest' in part;
export const isToolResponse = (part: Part): part is ToolResponsePart => 'toolResponse' in part;

/** The text of all text parts, joined. */
export function textOf(content: readonly Part[]): string {
  let text = '';
  for (const part of content) if ('text' in part) text += part.text;
  return text;
}

export function reasoningOf(content: readonly Part[]): string {
  let text = '';
  for (const part of content) if ('reasoning' in part) text += part.reasoning;
  return text;
}
