// One client before one MCP server, on any transport: gives calls of tools and requests about tasks to the gate, and carries all other messages across.

import { isRecord } from '../is-record.ts';
import { CANCELLED, CLOSED, type Line } from './line.ts';
import type { McpGate } from './mcp-gate.ts';
import {
  isRequest,
  isResponse,
  metaOf,
  type Params,
  progressTokenOf,
  type RequestId,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
} from './messages.ts';
import { OpenRequests } from './open-requests.ts';
import type { McpTool } from './rules.ts';
import { listTools } from './tool-list.ts';

export type SessionOptions = {
  readonly gate: McpGate;
  /** Whom the record names as the one who asks. */
  readonly by: string;
  /** Identifies the person: doubts about their calls are theirs on every connection. */
  readonly person: string;
  /** Identifies the client across connections; undefined if its next call cannot be recognised as its own. */
  readonly client: string | undefined;
  /** Whether all ids in this session are those of one client. */
  readonly ownsIds: boolean;
};

/** The two ends of one call. */
export type Ends = {
  /** Sends a request. The promise settles only once no response can come any more. */
  post(request: RpcRequest, signal: AbortSignal, tool: McpTool | undefined): Promise<void>;
  /** Sends a request whose response goes to the client. */
  pass(request: RpcRequest, tool: McpTool | undefined): Promise<void>;
  /** Sends a message to the client. Resolves once it is sent. */
  write(message: RpcMessage): Promise<void>;
};

/** How long a cancelled call may still report its result. */
const CANCEL_GRACE_MS = 2_000;
const LIST_MS = 30_000;

export class ClientSession {
  readonly #options: SessionOptions;
  readonly #ofClient = new OpenRequests();
  readonly #ofServer = new OpenRequests();
  /** Calls that the gate handles, by the ids of the client. */
  readonly #calls = new Map<RequestId, AbortController>();
  readonly #handling = new Set<Promise<void>>();
  #list: { readonly at: number; readonly tools: Promise<ReadonlyMap<string, McpTool>> } | undefined;
  #showsForms = false;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** A message of the client as the server gets it; undefined if it does not get it. What the gate handles goes to `call`. */
  fromClient(message: RpcMessage): RpcMessage | undefined {
    if (isResponse(message)) return this.#ofServer.response(message);
    if (isRequest(message)) {
      if (message.method === 'initialize') this.#showsForms = canElicit(message.params);
      return this.#ofClient.open(message, { change: this.#options.gate.addsTo(message) });
    }
    if (message.method === 'notifications/cancelled') {
      // An id alone does not say which of several clients it belongs to.
      if (!this.#options.ownsIds) return undefined;
      const { requestId } = message.params ?? {};
      this.#calls.get(requestId as RequestId)?.abort(CANCELLED);
    }
    return translated(message, this.#ofClient, this.#ofServer);
  }

  /** A message of the server as the client gets it; undefined if it does not get it. */
  fromServer(message: RpcMessage): RpcMessage | undefined {
    if (isResponse(message)) return this.#ofClient.response(message);
    if (isRequest(message)) return this.#ofServer.open(message);
    if (message.method === 'notifications/tools/list_changed') this.#list = undefined;
    return translated(message, this.#ofServer, this.#ofClient);
  }

  /** Gives a call, or a request about a task, to the gate. Resolves once the client has its answer or is gone. */
  call(request: RpcRequest, ends: Ends, gone?: AbortSignal): Promise<void> {
    const controller = new AbortController();
    const leave = () => controller.abort(gone?.reason ?? CLOSED);
    gone?.addEventListener('abort', leave, { once: true });
    this.#calls.set(request.id, controller);
    const handled = this.#options.gate.handle(request, this.#line(request, ends, controller.signal)).finally(() => {
      gone?.removeEventListener('abort', leave);
      if (this.#calls.get(request.id) === controller) this.#calls.delete(request.id);
      this.#handling.delete(handled);
    });
    this.#handling.add(handled);
    return handled;
  }

  /** The client is gone. Resolves once all its calls are over; calls that were sent wait for their results. */
  async leave(): Promise<void> {
    for (const controller of this.#calls.values()) controller.abort(CLOSED);
    await Promise.allSettled([...this.#handling]);
  }

  #line(request: RpcRequest, ends: Ends, signal: AbortSignal): Line {
    const { person, client, by } = this.#options;
    const progressToken = progressTokenOf(request);
    let told = 0;
    let tool: McpTool | undefined;
    const write = (message: RpcMessage) => void ends.write(message).catch(() => undefined);
    return {
      person,
      client,
      by,
      signal,
      tool: async (name) => {
        tool = (await this.#tools(request, ends)).get(name);
        return tool;
      },
      pass: () => ends.pass(this.#ofClient.open(request, { change: this.#options.gate.addsTo(request) }), tool),
      send: (params, { isDetached = false, method = 'tools/call' } = {}) =>
        isDetached
          ? this.#send({ jsonrpc: '2.0', method, params }, ends, { tool })
          : this.#send({ ...request, method, params }, ends, { signal, tool, told: () => told }),
      ...(this.#showsForms && { elicit: (params: Params) => this.#elicit(params, write) }),
      tick: () => {
        if (progressToken === undefined) return;
        told += 1;
        const params = { progressToken, progress: told, message: 'Waiting for a person to approve' };
        write({ jsonrpc: '2.0', method: 'notifications/progress', params });
      },
      deliver: (response) => ends.write(response),
    };
  }

  /** Sends a request whose response is not passed on. Rejects if there is none; a cancelled one has a moment to report it. */
  async #send(
    request: Omit<RpcRequest, 'id'> & { readonly id?: RequestId },
    ends: Ends,
    more: { signal?: AbortSignal; tool?: McpTool | undefined; told?: () => number } = {},
  ): Promise<RpcResponse> {
    const { signal, tool, told = () => 0 } = more;
    const { promise, resolve, reject } = Promise.withResolvers<RpcResponse>();
    const sent = this.#ofClient.open(request, { settle: resolve, told });
    const over = new AbortController();
    const cancel = () => {
      if (signal?.reason === CANCELLED) setTimeout(() => reject(new Error(CANCELLED)), CANCEL_GRACE_MS).unref();
    };
    signal?.addEventListener('abort', cancel, { once: true });
    try {
      ends.post(sent, over.signal, tool).then(() => reject(new Error('its stream ended')), reject);
      return await promise;
    } finally {
      signal?.removeEventListener('abort', cancel);
      this.#ofClient.close(sent.id);
      over.abort();
    }
  }

  #elicit({ mode: _mode, ...params }: Params, write: (message: RpcMessage) => void): Promise<unknown> {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const settle = (response: RpcResponse) => resolve(response.result);
    write(this.#ofServer.open({ jsonrpc: '2.0', method: 'elicitation/create', params }, { settle }));
    return promise;
  }

  /** The tools of the server. A list that cannot be read is asked for again with the next call. */
  #tools({ params }: RpcRequest, ends: Ends): Promise<ReadonlyMap<string, McpTool>> {
    if (this.#list && Date.now() - this.#list.at < LIST_MS) return this.#list.tools;
    const { progressToken: _token, ...meta } = metaOf(params);
    const _meta = Object.keys(meta).length > 0 ? { _meta: meta } : {};
    const ask = (more: Params) =>
      this.#send({ jsonrpc: '2.0', method: 'tools/list', params: { ...more, ..._meta } }, ends);
    const list = { at: Date.now(), tools: listTools(ask) };
    this.#list = list;
    list.tools.catch(() => {
      if (this.#list === list) this.#list = undefined;
    });
    return list.tools;
  }
}

/** A notification with the ids and tokens of its receiver. `own` are the requests of its sender, `others` those of the receiver. */
function translated(message: RpcNotification, own: OpenRequests, others: OpenRequests): RpcNotification | undefined {
  const { method, params } = message;
  if (params === undefined) return message;
  if (method === 'notifications/cancelled') {
    const requestId = own.idOf(params.requestId);
    return requestId === undefined ? undefined : { ...message, params: { ...params, requestId } };
  }
  const given = method === 'notifications/progress' ? others.progress(params) : others.subscribed(params);
  return given && { ...message, params: given };
}

const canElicit = (params: Params = {}): boolean =>
  isRecord(params.capabilities) && isRecord(params.capabilities.elicitation);
