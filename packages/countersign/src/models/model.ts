// The model port: the one small thing the loop asks of a language model.
import type { Message, Part } from '../core/messages/message.ts';
import type { Usage } from '../core/run/usage.ts';

/** A JSON Schema document. */
export type JsonSchema = { readonly [key: string]: unknown };

/** A tool as models get it. */
export type ToolSpec = {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
};

/** Whether the model may, must or must not call a tool. */
export type ToolChoice = 'auto' | 'none' | 'required' | { readonly tool: string };

/** Settings of one model call. What only one provider knows goes into `providerOptions`. */
export type ModelConfig = {
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  readonly stopSequences?: readonly string[];
  readonly seed?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Options by provider name, as AI SDK providers document them. */
  readonly providerOptions?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
};

/** What a model is asked. */
export type ModelRequest = {
  /**
   * The whole conversation. The array belongs to the loop and grows after the call: a model that keeps it must copy it.
   * The same array with more messages at its end comes with the next turn, so work done on it can be kept beside it.
   */
  readonly messages: readonly Message[];
  /** The same array in every turn of one `generate`. */
  readonly tools: readonly ToolSpec[];
  readonly toolChoice: ToolChoice;
  /** The reply's text must be JSON that fits this schema. */
  readonly outputSchema?: JsonSchema;
  readonly config: ModelConfig;
  readonly signal?: AbortSignal;
};

/** Why a reply ended, as the provider says. `cut-off`: it did not end by itself and its calls must not run. */
export type ReplyFinish = 'stop' | 'tool-calls' | 'length' | 'blocked' | 'error' | 'cut-off' | 'other';

/** A call as the model requests it: its input is unchecked. */
export type RequestedCall = {
  readonly toolRequest: { readonly name: string; readonly ref?: string; readonly input?: unknown };
  readonly metadata?: { readonly [key: string]: unknown };
};

/** One whole turn of a model. */
export type ModelReply = {
  /**
   * In the order of the model's output. A tool request whose input was not JSON carries the text as `input` and
   * `metadata.invalidInput` with the reason; the loop tells the model.
   */
  readonly content: readonly (Part | RequestedCall)[];
  readonly finishReason: ReplyFinish;
  readonly finishMessage?: string;
  readonly usage?: Usage;
};

/** What streams in while a model replies. */
export type ModelChunk =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  | { readonly type: 'tool-input'; readonly ref: string; readonly name: string; readonly delta: string };

/**
 * A language model. `reply` resolves to one whole turn; with `emit` it also hands out what streams in, in order.
 * It rejects with a `ProviderError` (`retryable` where trying again may help; `details.partial` holds the parts that had
 * arrived) and lets the reason of an abort pass through. It neither retries nor runs tools.
 */
export interface Model {
  /** Recorded with each reply, and shown in traces: the provider and the model, as in `acme/large-2`. */
  readonly name: string;
  reply(request: ModelRequest, emit?: (chunk: ModelChunk) => void): Promise<ModelReply>;
}
