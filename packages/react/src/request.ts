// Requests as a browser sees them, typed by the tools of the app.
import type { RequestCard } from 'countersign/ui';

/**
 * The tools of an app by name, in the shape of the AI SDK's `UITools`: `InferUITools<typeof tools>` fits.
 * Only types: nothing of a tool reaches the browser.
 */
export type InterruptTools = { readonly [tool: string]: { readonly input: any; readonly output?: any } };

/** The default: every tool takes and returns any value. */
export type AnyTools = { readonly [tool: string]: { readonly input: any; readonly output: any } };

/** A request that waits or waited for a person. `request.tool` tells which tool asks, and so what `input` is. */
export type Interrupt<Tools extends InterruptTools = AnyTools> = {
  [Name in keyof Tools & string]: RequestCard<Name, Tools[Name]['input']>;
}[keyof Tools & string];

/** The answer type of this tool's requests. */
export type AnswerOf<Tools extends InterruptTools, Name extends keyof Tools> = Tools[Name] extends {
  readonly output?: infer Output;
}
  ? Exclude<Output, undefined>
  : never;

/** What this package needs of `useChat()`, of the AI SDK 6 or 7. */
export type ChatLike = {
  readonly id: string;
  readonly messages: readonly ChatMessage[];
  readonly status: 'submitted' | 'streaming' | 'ready' | 'error';
  readonly error?: Error | undefined;
  sendMessage(message?: undefined, options?: { body?: object }): Promise<void>;
  resumeStream(): Promise<void>;
  /** Called when the conversation continued elsewhere and must be loaded again. */
  setMessages?(messages: any[]): void;
  /** Only used where a server has no Countersign: for tool parts that ask for approval and have no request part. */
  addToolApprovalResponse?(response: { id: string; approved: boolean; reason?: string }): void | PromiseLike<void>;
};

/** A message of the chat; its parts are looked at one by one. */
export type ChatMessage = {
  readonly id: string;
  readonly role: string;
  readonly parts: readonly { readonly type: string }[];
};
