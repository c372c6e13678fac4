// The connection of one call: to its client, and to the MCP server behind the gateway.
import type { Params, RpcResponse } from './messages.ts';
import type { McpTool } from './rules.ts';

export type Line = {
  /** Identifies the person. Doubts about their calls, and the sealed states of their calls, are theirs on every connection. */
  readonly person: string;
  /** Identifies the client; undefined if the next call of the same client cannot be recognised. */
  readonly client: string | undefined;
  /** Whom the call is made for, as people see it. */
  readonly by: string;
  /** Aborted with `CANCELLED` if the client cancels the call, and with `CLOSED` if it is gone. */
  readonly signal: AbortSignal;
  /** What the server says about the tool; undefined if it does not list it. */
  tool(name: string): Promise<McpTool | undefined>;
  /** Sends the call; the client gets the response. */
  pass(): Promise<void>;
  /**
   * Sends the call with these parameters, and resolves with the response. Rejects if there will be none. `isDetached`: whatever its
   * client does. `method`: another request, about the call.
   */
  send(params: Params, more?: { readonly isDetached?: boolean; readonly method?: string }): Promise<RpcResponse>;
  /** Shows a form in the client, and resolves with its answer. Undefined if the client cannot show one. */
  readonly elicit?: ((params: Params) => Promise<unknown>) | undefined;
  /** Tells the client that its call waits, if it wants to know. */
  tick(): void;
  /** Answers the client. Resolves once the answer is sent. */
  deliver(response: RpcResponse): Promise<void>;
};

export const CANCELLED = 'the client cancelled the call';
export const CLOSED = 'the client is gone';
