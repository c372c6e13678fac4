// The AI SDK provider specification, versions 2 to 4, as far as Countersign speaks it. Types only.

export type SpecificationVersion = 'v2' | 'v3' | 'v4';

/** Data by provider name. A part's `providerMetadata` goes back with it as `providerOptions`. */
export type ProviderData = { readonly [provider: string]: { readonly [key: string]: unknown } };

type WithOptions = { readonly providerOptions?: ProviderData };

/** Version 4 tags the data of a file, versions 2 and 3 take it bare. */
export type FileData =
  | string
  | Uint8Array
  | URL
  | { readonly type: 'data'; readonly data: string | Uint8Array }
  | { readonly type: 'url'; readonly url: URL };

export type ToolOutput =
  | { readonly type: 'text' | 'error-text'; readonly value: string }
  | { readonly type: 'json' | 'error-json'; readonly value: unknown };

export type PromptPart = WithOptions &
  (
    | { readonly type: 'text' | 'reasoning'; readonly text: string }
    | { readonly type: 'file' | 'reasoning-file'; readonly mediaType: string; readonly data: FileData }
    | {
        readonly type: 'tool-call';
        readonly toolCallId: string;
        readonly toolName: string;
        readonly input: unknown;
        readonly providerExecuted?: true;
      }
    | {
        readonly type: 'tool-result';
        readonly toolCallId: string;
        readonly toolName: string;
        readonly output: ToolOutput;
      }
    | { readonly type: 'custom'; readonly kind: string }
  );

export type PromptMessage = WithOptions &
  (
    | { readonly role: 'system'; readonly content: string }
    | { readonly role: 'user' | 'assistant' | 'tool'; readonly content: readonly PromptPart[] }
  );

type WithMetadata = { readonly providerMetadata?: ProviderData };

export type FilePart = WithMetadata & {
  readonly type: 'file' | 'reasoning-file';
  readonly mediaType: string;
  readonly data:
    | string
    | Uint8Array
    | { readonly type: string; readonly data?: string | Uint8Array; readonly url?: URL };
};

/** `input` is JSON as text. */
export type ToolCallPart = WithMetadata & {
  readonly type: 'tool-call';
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: string;
  readonly providerExecuted?: boolean;
};

/** What a model says, whole or streamed. A stream has more kinds; those that say nothing of the reply are not listed. */
export type ReplyPart =
  | FilePart
  | ToolCallPart
  | (WithMetadata &
      (
        | { readonly type: 'text' | 'reasoning'; readonly text: string; readonly citations?: readonly unknown[] }
        | { readonly type: 'text-start' | 'reasoning-start'; readonly id: string }
        | { readonly type: 'text-delta' | 'reasoning-delta'; readonly id: string; readonly delta: string }
        | { readonly type: 'text-end' | 'reasoning-end'; readonly id: string; readonly citations?: readonly unknown[] }
        | {
            readonly type: 'tool-input-start';
            readonly id: string;
            readonly toolName: string;
            readonly providerExecuted?: boolean;
          }
        | { readonly type: 'tool-input-delta'; readonly id: string; readonly delta: string }
        | { readonly type: 'tool-result'; readonly preliminary?: boolean }
        | { readonly type: 'custom'; readonly kind: string }
        | { readonly type: 'source' | 'tool-approval-request' }
        | { readonly type: 'finish'; readonly finishReason: unknown; readonly usage: unknown }
      ));
