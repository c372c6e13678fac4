// The JSON-RPC messages of MCP, as far as the gateway looks into them.
import { isRecord } from '../is-record.ts';

export type RequestId = string | number;
export type Params = { readonly [key: string]: unknown };

export type RpcRequest = {
  readonly jsonrpc: '2.0';
  readonly id: RequestId;
  readonly method: string;
  readonly params?: Params;
};
export type RpcNotification = { readonly jsonrpc: '2.0'; readonly method: string; readonly params?: Params };
export type RpcError = { readonly code: number; readonly message: string; readonly data?: unknown };
export type RpcResponse = { readonly jsonrpc: '2.0'; readonly id: RequestId } & (
  | { readonly result: Params; readonly error?: undefined }
  | { readonly error: RpcError; readonly result?: undefined }
);
export type RpcMessage = RpcRequest | RpcNotification | RpcResponse;

export const isRequest = (message: RpcMessage): message is RpcRequest => 'method' in message && 'id' in message;
export const isResponse = (message: RpcMessage): message is RpcResponse => !('method' in message);

/** A call of a tool. Only such requests are gated, and the reader refuses everything that only looks like one. */
export const isToolCall = (message: RpcMessage): message is RpcRequest =>
  isRequest(message) && message.method === 'tools/call';

/** Requests about tasks, whose ids may be ours. */
const TASK_METHODS = ['tasks/get', 'tasks/result', 'tasks/update', 'tasks/cancel'];
export const isTaskRequest = (message: RpcMessage): boolean =>
  isRequest(message) && TASK_METHODS.includes(message.method) && typeof message.params?.taskId === 'string';

/** What goes to the gate, and not straight to the server. */
export const isHandled = (message: RpcMessage): message is RpcRequest => isToolCall(message) || isTaskRequest(message);

const CAPABILITIES_KEY = 'io.modelcontextprotocol/clientCapabilities';
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';

export const metaOf = (params: Params = {}): Params => (isRecord(params._meta) ? params._meta : {});

/** Requests since 2026-07-28 carry the version of the protocol. Their answer may be `input_required`. */
export const isModern = ({ params }: RpcRequest): boolean => typeof metaOf(params)[VERSION_KEY] === 'string';

/** What the client of a request since 2026-07-28 says that it can do. */
export function capabilitiesIn({ params }: Pick<RpcRequest, 'params'>): Params {
  const { [CAPABILITIES_KEY]: capabilities } = metaOf(params);
  return isRecord(capabilities) ? capabilities : {};
}

/** The parameters with other capabilities of the client. */
export const withCapabilities = (params: Params, capabilities: Params): Params => ({
  ...params,
  _meta: { ...metaOf(params), [CAPABILITIES_KEY]: capabilities },
});

/** The token under which the client wants to be told about progress; undefined if it does not. */
export function progressTokenOf({ params }: Pick<RpcRequest, 'params'>): RequestId | undefined {
  const { progressToken } = metaOf(params);
  return typeof progressToken === 'string' || typeof progressToken === 'number' ? progressToken : undefined;
}

/** A result that says why the tool gave none. Without `isError`, clients check it against the schema of the output. */
export const refusal = (request: RpcRequest, text: string): RpcResponse => ({
  jsonrpc: '2.0',
  id: request.id,
  result: { content: [{ type: 'text', text }], isError: true, ...(isModern(request) && { resultType: 'complete' }) },
});

export const failure = ({ id }: RpcRequest, code: number, message: string): RpcResponse => ({
  jsonrpc: '2.0',
  id,
  error: { code, message },
});

export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;
export const MISSING_CAPABILITY = -32021;
