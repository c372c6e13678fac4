// The gateway before an MCP server that speaks Streamable HTTP: forwards every request, and gives the calls of tools to the gate.
import { readServerEvents } from '../client/server-events.ts';
import { isLoopback, LOOPBACK } from '../http/host-check.ts';
import { hashOf } from './hash-of.ts';
import { CANCELLED, CLOSED, type Line } from './line.ts';
import type { McpGate } from './mcp-gate.ts';
import {
  failure,
  INVALID_PARAMS,
  isModern,
  isRecord,
  isResponse,
  isToolCall,
  metaOf,
  type Params,
  progressTokenOf,
  type RpcMessage,
  type RpcRequest,
  type RpcResponse,
} from './messages.ts';
import type { McpTool } from './rules.ts';
import { listTools } from './tool-list.ts';

export type HttpProxyOptions = {
  /** The endpoint of the MCP server. */
  readonly url: string;
  readonly gate: McpGate;
  /** Whom the calls are made for. */
  readonly by: string;
  /** The address that the gateway listens on. On this machine's own, only its own names are answered. */
  readonly host: string;
};

const LIST_MS = 30_000;
const CANCEL_GRACE_MS = 2_000;

/** Answers requests of clients. The client's credentials go to the MCP server as they are, and identify the client here. */
export function httpProxy(options: HttpProxyOptions): (request: Request) => Promise<Response> {
  const proxy = new HttpProxy(options);
  return async (request) => {
    try {
      return await proxy.handle(request);
    } catch (error) {
      return refused(502, `The MCP server cannot be reached: ${(error as Error).message}`);
    }
  };
}

class HttpProxy {
  readonly #options: HttpProxyOptions;
  /** Calls that the gate handles, by client and id. */
  readonly #calls = new Map<string, { readonly controller: AbortController; isSent: boolean }>();
  readonly #lists = new Map<string, { readonly at: number; readonly tools: Promise<ReadonlyMap<string, McpTool>> }>();

  constructor(options: HttpProxyOptions) {
    this.#options = options;
  }

  async handle(request: Request): Promise<Response> {
    const { hostname, pathname } = new URL(request.url);
    const { host, url } = this.#options;
    // A page in a browser could reach a gateway on this machine.
    const origin = request.headers.get('origin');
    const isForeign = origin !== null && !LOOPBACK.has(URL.canParse(origin) ? new URL(origin).hostname : '');
    if (isLoopback(host) && (!LOOPBACK.has(hostname) || isForeign))
      return refused(403, 'This host or origin is not allowed.');
    if (pathname !== new URL(url).pathname) return refused(404, `The gateway is at ${new URL(url).pathname}.`);
    if (request.method !== 'POST') return this.#forward(request, undefined);
    const text = await request.text();
    const message = parsed(text);
    if (message === undefined) return refused(400, 'Expected one JSON-RPC message. Batches are not supported.');
    if (isToolCall(message)) return this.#gated(request, message, text);
    if ('method' in message && message.method === 'notifications/cancelled') {
      const call = this.#calls.get(callId(request, message.params?.requestId));
      call?.controller.abort(CANCELLED);
      if (call && !call.isSent) return new Response(null, { status: 202 });
    }
    return this.#forward(request, text);
  }

  async #forward(request: Request, body: string | undefined): Promise<Response> {
    const { method, signal } = request;
    const response = await fetch(this.#options.url, {
      method,
      headers: forwarded(request.headers),
      redirect: 'manual',
      signal,
      ...(body !== undefined && { body }),
    });
    const headers = new Headers(response.headers);
    // The body was decoded.
    for (const name of ['content-encoding', 'content-length', 'transfer-encoding', 'connection']) headers.delete(name);
    return new Response(response.body, { status: response.status, headers });
  }

  #gated(request: Request, message: RpcRequest, text: string): Promise<Response> {
    const id = callId(request, message.id);
    const call = { controller: new AbortController(), isSent: false };
    this.#calls.set(id, call);
    const leave = () => call.controller.abort(isModern(message) ? CANCELLED : CLOSED);
    request.signal.addEventListener('abort', leave, { once: true });
    const reply = new Reply();
    const line = this.#line(request, message, { text, reply, call });
    void this.#options.gate.handle(message, line).finally(() => {
      this.#calls.delete(id);
      request.signal.removeEventListener('abort', leave);
      reply.end();
    });
    return reply.response;
  }

  #line(
    request: Request,
    message: RpcRequest,
    { text, reply, call }: { text: string; reply: Reply; call: { controller: AbortController; isSent: boolean } },
  ): Line {
    const progressToken = progressTokenOf(message);
    let told = 0;
    const { signal } = call.controller;
    return {
      principal: principalOf(request),
      by: this.#options.by,
      signal,
      tool: async (name) => (await this.#tools(request, message)).get(name),
      pass: async () => reply.pass(await this.#forward(request, text)),
      send: (params) => {
        call.isSent = true;
        return this.#send(request, { ...message, params }, signal, (other) =>
          reply.write(counted(other, progressToken, told)),
        );
      },
      tick: () => {
        if (progressToken === undefined) return;
        told += 1;
        const params = { progressToken, progress: told, message: 'Waiting for a person to approve' };
        reply.write({ jsonrpc: '2.0', method: 'notifications/progress', params });
      },
      deliver: async ({ jsonrpc, id, result, error }) =>
        reply.write((error ? { jsonrpc, id, error } : { jsonrpc, id, result }) as RpcResponse),
    };
  }

  /** Resolves with the response. Other messages that come before it go to `onOther`. */
  async #send(
    request: Request,
    message: RpcRequest,
    signal: AbortSignal | undefined,
    onOther: (message: RpcMessage) => void,
  ): Promise<RpcResponse> {
    const late = new AbortController();
    const cancel = () => {
      if (signal?.reason === CANCELLED) setTimeout(() => late.abort(new Error(CANCELLED)), CANCEL_GRACE_MS).unref();
    };
    signal?.addEventListener('abort', cancel, { once: true });
    try {
      const headers = forwarded(request.headers);
      if (headers.has('mcp-method')) headers.set('mcp-method', message.method);
      if (message.method !== 'tools/call') headers.delete('mcp-name');
      const body = JSON.stringify(message);
      const response = await fetch(this.#options.url, { method: 'POST', headers, body, signal: late.signal });
      // Nobody is asked about a call of a client that the MCP server does not know.
      const isUnknown = response.status === 401 || response.status === 403;
      if (response.status >= 500 || (isUnknown && message.method === 'tools/list'))
        throw new Error(`HTTP ${response.status}`);
      if (response.headers.get('content-type')?.startsWith('text/event-stream') && response.body) {
        for await (const { data } of readServerEvents(response.body)) {
          const found = parsed(data);
          if (found && isResponse(found) && found.id === message.id) return found;
          if (found) onOther(found);
        }
        throw new Error('its stream ended');
      }
      const found = parsed(await response.text());
      if (found && isResponse(found)) return found;
      if (response.status >= 400)
        return failure(message, INVALID_PARAMS, `The MCP server refused it: HTTP ${response.status}`);
      throw new Error(`HTTP ${response.status} without a response`);
    } finally {
      signal?.removeEventListener('abort', cancel);
    }
  }

  #tools(request: Request, { params }: RpcRequest): Promise<ReadonlyMap<string, McpTool>> {
    const principal = principalOf(request);
    const known = this.#lists.get(principal);
    if (known && Date.now() - known.at < LIST_MS) return known.tools;
    const { progressToken: _token, ...meta } = metaOf(params);
    const _meta = Object.keys(meta).length > 0 ? { _meta: meta } : {};
    const ask = (more: Params) => {
      const asked: RpcRequest = {
        jsonrpc: '2.0',
        id: 'countersign-tools',
        method: 'tools/list',
        params: { ...more, ..._meta },
      };
      return this.#send(request, asked, undefined, () => undefined);
    };
    const tools = listTools(ask);
    this.#lists.set(principal, { at: Date.now(), tools });
    tools.catch(() => this.#lists.delete(principal));
    return tools;
  }
}

/** The response to a call: that of the MCP server, or a stream that begins with the first message. */
class Reply {
  readonly #response = Promise.withResolvers<Response>();
  #stream: ReadableStreamDefaultController<Uint8Array> | undefined;
  #isOver = false;

  get response(): Promise<Response> {
    return this.#response.promise;
  }

  pass(response: Response): void {
    this.#isOver = true;
    this.#response.resolve(response);
  }

  write(message: RpcMessage): void {
    if (this.#isOver) return;
    if (!this.#stream) {
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => {
          this.#stream = controller;
        },
        cancel: () => {
          this.#isOver = true;
        },
      });
      const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform' };
      this.#response.resolve(new Response(body, { headers }));
    }
    this.#stream?.enqueue(new TextEncoder().encode(`event: message\ndata: ${JSON.stringify(message)}\n\n`));
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#stream) this.#stream.close();
    // The client is gone, so nobody reads it.
    else this.#response.resolve(new Response(null, { status: 202 }));
  }
}

/** Progress has to rise, so the server's own starts where ours has ended. */
function counted(message: RpcMessage, token: unknown, told: number): RpcMessage {
  if (!('method' in message) || message.method !== 'notifications/progress' || message.params?.progressToken !== token)
    return message;
  const { progress, total } = message.params ?? {};
  if (typeof progress !== 'number') return message;
  const further = { progress: progress + told, ...(typeof total === 'number' && { total: total + told }) };
  return { ...message, params: { ...message.params, ...further } };
}

/** Who sends it, by the credentials that the MCP server checks. */
const principalOf = ({ headers }: Request): string => hashOf(headers.get('authorization') ?? '');

const callId = (request: Request, id: unknown): string =>
  hashOf([principalOf(request), request.headers.get('mcp-session-id'), id ?? null]);

const HOP_BY_HOP = [
  'host',
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-length',
  'accept-encoding',
  'upgrade',
  'origin',
];

function forwarded(given: Headers): Headers {
  const headers = new Headers(given);
  for (const name of HOP_BY_HOP) headers.delete(name);
  return headers;
}

function parsed(text: string): RpcMessage | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? (value as unknown as RpcMessage) : undefined;
  } catch {
    return undefined;
  }
}

const refused = (status: number, message: string): Response =>
  Response.json({ jsonrpc: '2.0', id: null, error: { code: -32600, message } }, { status });
