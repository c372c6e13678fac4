// Joins a client and an MCP server: passes every message on unchanged, and gives the calls of tools to the gate.
import type { Line } from './line.ts';
import { CANCELLED, CLOSED } from './line.ts';
import type { McpGate } from './mcp-gate.ts';
import {
  isRecord,
  isRequest,
  isResponse,
  isToolCall,
  metaOf,
  type Params,
  progressTokenOf,
  type RequestId,
  type RpcMessage,
  type RpcRequest,
  type RpcResponse,
} from './messages.ts';
import type { McpTool } from './rules.ts';
import { listTools } from './tool-list.ts';

/** A transport of the MCP SDK, as far as the relay uses it. */
export type Connection = {
  onmessage?: ((message: any) => void) | undefined;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  start(): Promise<void>;
  send(message: any): Promise<void>;
  close(): Promise<void>;
};

export type RelayOptions = {
  readonly client: Connection;
  readonly server: Connection;
  readonly gate: McpGate;
  readonly principal: string;
  readonly by: string;
  /** Stops the relay as if the client had left. */
  readonly stop?: AbortSignal;
};

/** How long a cancelled call may still report its result, and how long calls may run after their client left. */
const CANCEL_GRACE_MS = 2_000;
const CLOSE_GRACE_MS = 10_000;

/** Resolves once both sides are closed, and what was sent is on record. */
export async function relay(options: RelayOptions): Promise<void> {
  const joined = new Relay(options);
  const { client, server, stop } = options;
  const ended = Promise.withResolvers<void>();
  client.onclose = () => ended.resolve();
  stop?.addEventListener('abort', () => ended.resolve());
  server.onclose = () => {
    joined.lose();
    ended.resolve();
  };
  await server.start();
  await client.start();
  await ended.promise;
  await joined.close();
}

class Relay {
  readonly #options: RelayOptions;
  /** Calls that the gate handles, by the ids of the client. */
  readonly #calls = new Map<RequestId, AbortController>();
  /** Responses of the server that are not passed on, by their ids. */
  readonly #expected = new Map<RequestId, PromiseWithResolvers<RpcResponse>>();
  /** How much progress the client was told about waiting calls. The server counts from there. */
  readonly #told = new Map<RequestId, number>();
  readonly #handling = new Set<Promise<void>>();
  /** Forms that the client shows, by our ids. */
  readonly #forms = new Map<RequestId, (answer: unknown) => void>();
  #showsForms = false;
  #tools: Promise<ReadonlyMap<string, McpTool>> | undefined;
  #ownId = 0;
  #isLost = false;

  constructor(options: RelayOptions) {
    this.#options = options;
    options.client.onmessage = (message: RpcMessage) => this.#fromClient(message);
    options.server.onmessage = (message: RpcMessage) => this.#fromServer(message);
  }

  /** The server is gone: the calls that it was sent have no result. */
  lose(): void {
    this.#isLost = true;
    for (const { reject } of this.#expected.values()) reject(new Error('it ended'));
  }

  /** The client is gone. Calls that run may end; then the server is closed. */
  async close(): Promise<void> {
    const { client, server, gate } = this.#options;
    for (const [id, controller] of this.#calls) if (!this.#expected.has(id)) controller.abort(CLOSED);
    await Promise.race([this.#idle(), later(CLOSE_GRACE_MS)]);
    await server.close();
    this.lose();
    await this.#idle();
    await gate.close();
    await client.close();
  }

  async #idle(): Promise<void> {
    await Promise.allSettled([...this.#handling]);
  }

  #fromClient(message: RpcMessage): void {
    if (isToolCall(message)) return this.#handle(message);
    if (isResponse(message) && this.#forms.has(message.id)) return this.#forms.get(message.id)?.(message.result);
    if (isRequest(message) && message.method === 'initialize') {
      const { capabilities } = message.params ?? {};
      this.#showsForms = isRecord(capabilities) && isRecord(capabilities.elicitation);
    }
    if (!isRequest(message) && !isResponse(message) && message.method === 'notifications/cancelled') {
      const { requestId } = message.params ?? {};
      const call = this.#calls.get(requestId as RequestId);
      const isSent = this.#expected.has(requestId as RequestId);
      call?.abort(CANCELLED);
      // The server does not know of a call that is held.
      if (call && !isSent) return;
    }
    this.#toServer(message);
  }

  #fromServer(message: RpcMessage): void {
    if (isResponse(message)) {
      const expected = this.#expected.get(message.id);
      if (expected) return expected.resolve(message);
    } else if (message.method === 'notifications/tools/list_changed') this.#tools = undefined;
    else if (message.method === 'notifications/progress') return this.#toClient(this.#counted(message as RpcRequest));
    this.#toClient(message);
  }

  /** Progress has to rise, so the server's own starts where ours has ended. */
  #counted(message: RpcRequest): RpcMessage {
    const { progressToken, progress, total } = message.params ?? {};
    const told = this.#told.get(progressToken as RequestId);
    if (told === undefined || typeof progress !== 'number') return message;
    const further = { progress: progress + told, ...(typeof total === 'number' && { total: total + told }) };
    return { ...message, params: { ...message.params, ...further } };
  }

  #handle(request: RpcRequest): void {
    const controller = new AbortController();
    this.#calls.set(request.id, controller);
    const token = progressTokenOf(request);
    const handled = this.#options.gate.handle(request, this.#line(request, controller.signal)).finally(() => {
      this.#calls.delete(request.id);
      if (token !== undefined) this.#told.delete(token);
      this.#handling.delete(handled);
    });
    this.#handling.add(handled);
  }

  #line(request: RpcRequest, signal: AbortSignal): Line {
    const { principal, by, client } = this.#options;
    const token = progressTokenOf(request);
    return {
      principal,
      by,
      signal,
      tool: async (name) => (await this.#list(request)).get(name),
      pass: () => this.#toServer(request),
      ...(this.#showsForms && { elicit: (params: Params) => this.#elicit(params) }),
      send: (params) => this.#send({ ...request, params }, signal),
      tick: () => {
        if (token === undefined) return;
        const progress = (this.#told.get(token) ?? 0) + 1;
        this.#told.set(token, progress);
        const params = { progressToken: token, progress, message: 'Waiting for a person to approve' };
        this.#toClient({ jsonrpc: '2.0', method: 'notifications/progress', params });
      },
      deliver: ({ jsonrpc, id, result, error }) =>
        client.send(error ? { jsonrpc, id, error } : { jsonrpc, id, result }),
    };
  }

  #elicit({ mode: _mode, ...params }: Params): Promise<unknown> {
    const id = `countersign-${++this.#ownId}`;
    const answer = Promise.withResolvers<unknown>();
    this.#forms.set(id, answer.resolve);
    this.#toClient({ jsonrpc: '2.0', id, method: 'elicitation/create', params });
    return answer.promise.finally(() => this.#forms.delete(id));
  }

  /** Sends a request whose response is not passed on. A cancelled one has a moment to report its result. */
  async #send(request: RpcRequest, signal?: AbortSignal): Promise<RpcResponse> {
    if (this.#isLost) throw new Error('it ended');
    const expected = Promise.withResolvers<RpcResponse>();
    this.#expected.set(request.id, expected);
    const cancel = () => void later(CANCEL_GRACE_MS).then(() => expected.reject(new Error(String(signal?.reason))));
    signal?.addEventListener('abort', cancel, { once: true });
    try {
      await this.#options.server.send(request);
      return await expected.promise;
    } finally {
      signal?.removeEventListener('abort', cancel);
      this.#expected.delete(request.id);
    }
  }

  /** The tools of the server. If it does not list them, none is known, and the rules for unknown ones apply. */
  #list({ params }: RpcRequest): Promise<ReadonlyMap<string, McpTool>> {
    const { progressToken: _token, ...meta } = metaOf(params);
    const ask = (more: Params) =>
      this.#send({
        jsonrpc: '2.0',
        id: `countersign-${++this.#ownId}`,
        method: 'tools/list',
        params: { ...more, ...(Object.keys(meta).length > 0 && { _meta: meta }) },
      });
    this.#tools ??= listTools(ask);
    return this.#tools;
  }

  #toServer(message: RpcMessage): void {
    this.#options.server.send(message).catch(this.#options.server.onerror ?? (() => undefined));
  }

  #toClient(message: RpcMessage): void {
    this.#options.client.send(message).catch(this.#options.client.onerror ?? (() => undefined));
  }
}

const later = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms).unref());
