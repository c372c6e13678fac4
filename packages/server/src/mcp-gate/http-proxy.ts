// The gateway before an MCP server that speaks Streamable HTTP: reads each request strictly, and gives the calls of tools to the gate.
import { isLoopback, LOOPBACK } from '../http/host-check.ts';
import { jsonHash } from '../json-hash.ts';
import { ClientSession, type Ends } from './client-session.ts';
import { forwarded } from './http-headers.ts';
import {
  framesOf,
  HttpRefusal,
  HttpUpstream,
  isStream,
  MOST_ANSWER_BYTES,
  messageIn,
  type ReceivedFrame,
  TooLong,
  textOf,
} from './http-upstream.ts';
import { CANCELLED, CLOSED } from './line.ts';
import type { McpGate } from './mcp-gate.ts';
import {
  failure,
  INVALID_PARAMS,
  INVALID_REQUEST,
  isHandled,
  isModern,
  isRequest,
  isResponse,
  isToolCall,
  METHOD_NOT_FOUND,
  MISSING_CAPABILITY,
  type RpcRequest,
} from './messages.ts';
import { MOST_BYTES, readMessage } from './read-message.ts';
import { encodedFrame, type Frame, Reply } from './reply.ts';

export type HttpProxyOptions = {
  /** The endpoint of the MCP server. */
  readonly url: string;
  readonly gate: McpGate;
  /** Whom the calls are made for. */
  readonly by: string;
  /** The address that the gateway listens on. On this machine's own, only its own names are answered. */
  readonly host: string;
};

/** The sessions that were not used for longest are forgotten beyond this. */
const MOST_SESSIONS = 1_000;
/** How long a client may take to resume a stream that the server has ended. */
const RESUMED_WITHIN_MS = 60_000;

/** Answers requests of clients. The client's credentials go to the MCP server as they are, and identify the person here. */
export function httpProxy(options: HttpProxyOptions): (request: Request) => Promise<Response> {
  const proxy = new HttpProxy(options);
  return async (request) => {
    try {
      return await proxy.handle(request);
    } catch (error) {
      // The rest of the body is not read, so the connection cannot be used again.
      if (error instanceof TooLong)
        return refused(413, `The message is refused: ${error.message}`, { connection: 'close' });
      return refused(502, `The MCP server cannot be reached: ${(error as Error).message}`);
    }
  };
}

/** A client, and the replies that it may come back for, by the last event that it has. */
type Visitor = { readonly session: ClientSession; readonly parked: Map<string, Reply> };

class HttpProxy {
  readonly #options: HttpProxyOptions;
  readonly #upstream: HttpUpstream;
  readonly #visitors = new Map<string, Visitor>();

  constructor(options: HttpProxyOptions) {
    this.#options = options;
    this.#upstream = new HttpUpstream(options.url);
  }

  async handle(request: Request): Promise<Response> {
    const { hostname, pathname } = new URL(request.url);
    const { host, url } = this.#options;
    const { method, headers } = request;
    // A page in a browser could reach a gateway on this machine.
    const origin = headers.get('origin');
    const isForeign = origin !== null && !LOOPBACK.has(URL.canParse(origin) ? new URL(origin).hostname : '');
    if (isLoopback(host) && (!LOOPBACK.has(hostname) || isForeign))
      return refused(403, 'This host or origin is not allowed.');
    if (pathname !== new URL(url).pathname) return refused(404, `The gateway is at ${new URL(url).pathname}.`);
    const visitor = this.#visitor(headers);
    if (method === 'POST') return this.#post(request, visitor);
    if (method !== 'GET' && method !== 'DELETE') return refused(405, 'Only GET, POST and DELETE are supported.');
    const reply = visitor.parked.get(headers.get('last-event-id') ?? '');
    if (method === 'GET' && reply) return reply.resume();
    const response = await this.#upstream.request(method, forwarded(headers), request.signal);
    return translated(response, visitor.session);
  }

  async #post(request: Request, visitor: Visitor): Promise<Response> {
    // A page of another origin can send other types without asking first.
    if (request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() !== 'application/json')
      return refused(415, 'The content type must be application/json.');
    const read = readMessage(await textOf(request, MOST_BYTES));
    if ('refused' in read) return Response.json(read.refused, { status: 400 });
    const { message } = read;
    if (isHandled(message)) return this.#call(request, message, visitor);
    const sent = visitor.session.fromClient(message);
    if (!sent) return new Response(null, { status: 202 });
    const response = await this.#upstream.post(request.headers, sent, request.signal);
    return translated(response, visitor.session);
  }

  #call(request: Request, message: RpcRequest, visitor: Visitor): Promise<Response> {
    const { headers, signal } = request;
    const { session } = visitor;
    const reply = new Reply();
    const gone = new AbortController();
    // A client since 2026-07-28 cancels by closing the stream.
    signal.addEventListener('abort', () => gone.abort(isModern(message) ? CANCELLED : CLOSED), { once: true });
    const ends: Ends = {
      pass: async (sent, tool) =>
        reply.pass(await translated(await this.#upstream.post(headers, sent, signal, tool), session)),
      write: async (told) => {
        // The protocol wants this status.
        if (isResponse(told) && told.error?.code === MISSING_CAPABILITY)
          return reply.pass(Response.json(told, { status: 400 }));
        await reply.send(told, RESUMED_WITHIN_MS).catch((error: unknown) => {
          gone.abort(CLOSED);
          throw error;
        });
        // The call of a task may run for longer.
        if (!isToolCall(message) && isResponse(told)) reply.end();
      },
      post: async (sent, over, tool) => {
        let last: string | undefined;
        try {
          for await (const frame of this.#upstream.exchange(headers, sent, over, tool)) {
            last = frame?.id ?? last;
            const told = frame && frameFor(frame, session);
            // The client did not ask for the list of tools, and has the answer about its task.
            if (sent.method !== message.method) {
              if (frame?.message && isRequest(frame.message)) await this.#refuse(headers, frame.message);
              continue;
            }
            if (told) reply.write(told);
            if (!frame && last !== undefined) {
              visitor.parked.set(last, reply);
              reply.park();
            }
          }
        } catch (error) {
          if (error instanceof HttpRefusal) reply.pass(cleaned(error.response, error.response.body));
          throw error;
        }
      },
    };
    void session.call(message, ends, gone.signal).finally(() => {
      for (const [last, parked] of visitor.parked) if (parked === reply) visitor.parked.delete(last);
      reply.end();
    });
    return reply.response;
  }

  /** The server asks a client that has its answer already. A refusal that is lost changes nothing. */
  async #refuse(headers: Headers, asked: RpcRequest): Promise<void> {
    const refusal = failure(asked, METHOD_NOT_FOUND, 'The client cannot be asked here.');
    const sent = this.#upstream.post(headers, refusal, AbortSignal.timeout(RESUMED_WITHIN_MS));
    await sent.then((response) => response.body?.cancel()).catch(() => undefined);
  }

  /** Clients without a session share one here, in which ids name no call. Without a token as well, no call continues another. */
  #visitor(headers: Headers): Visitor {
    const { gate, by } = this.#options;
    const [token, session] = [headers.get('authorization'), headers.get('mcp-session-id')];
    const key = jsonHash([token, session]);
    const person = token === null ? by : jsonHash(token);
    const client = token === null ? (session ?? undefined) : person;
    const found = this.#visitors.get(key) ?? {
      session: new ClientSession({ gate, by, person, client, ownsIds: session !== null }),
      parked: new Map(),
    };
    this.#visitors.delete(key);
    this.#visitors.set(key, found);
    for (const oldest of this.#visitors.keys()) {
      if (this.#visitors.size <= MOST_SESSIONS) break;
      this.#visitors.delete(oldest);
    }
    return found;
  }
}

/** A response of the server with the ids of the client. */
async function translated(response: Response, session: ClientSession): Promise<Response> {
  if (isStream(response)) {
    return cleaned(response, ReadableStream.from(encodedFrames(response, session)) as ReadableStream<Uint8Array>);
  }
  const text = await textOf(response, MOST_ANSWER_BYTES);
  const message = messageIn(text);
  if (!message) return cleaned(response, text === '' ? null : text);
  const told = isResponse(message) && (message.id ?? undefined) !== undefined ? session.fromServer(message) : message;
  // A method that the server does not know: the gateway may know it.
  const isKnown = response.status === 404 && told && isResponse(told) && told.error?.code === INVALID_PARAMS;
  return cleaned(isKnown ? new Response(null, { headers: response.headers }) : response, JSON.stringify(told));
}

/** A stream that breaks ends here: the client resumes it, as it would without the gateway. */
async function* encodedFrames(response: Response, session: ClientSession): AsyncGenerator<Uint8Array> {
  try {
    for await (const received of framesOf(response)) {
      const frame = frameFor(received, session);
      if (frame) yield encodedFrame(frame);
    }
  } catch {}
}

/** A frame of the server as the client gets it; undefined if it does not get it. */
function frameFor({ message, ...frame }: ReceivedFrame, session: ClientSession): Frame | undefined {
  if (!message) return frame.id === undefined && frame.retry === undefined ? undefined : { ...frame, data: '' };
  const told = session.fromServer(message);
  return told && { ...frame, data: JSON.stringify(told) };
}

/** The body was decoded. */
function cleaned({ status, headers: given }: Response, body: string | ReadableStream | null): Response {
  const headers = new Headers(given);
  for (const name of ['content-encoding', 'content-length', 'transfer-encoding', 'connection']) headers.delete(name);
  return new Response(body, { status, headers });
}

const refused = (status: number, message: string, headers: Record<string, string> = {}): Response =>
  Response.json({ jsonrpc: '2.0', id: null, error: { code: INVALID_REQUEST, message } }, { status, headers });
