// Runs a chat route on servers with Node's `req` and `res`: Express, Fastify's raw objects, `node:http`.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { ReadableStream as WebStream } from 'node:stream/web';
import { UsageError } from '../core/errors.ts';
import { problemResponse } from './http/problem.ts';
import type { ChatRoute } from './route.ts';

/**
 * Handles Node requests with a chat route. No other middleware may read the body.
 * @example
 * app.all('/api/chat{/*path}', nodeHandler(chatRoute(agent, { authorize })));
 */
export function nodeHandler(route: ChatRoute): (req: IncomingMessage, res: ServerResponse) => Promise<void> {
  return async (req, res) => {
    const left = new AbortController();
    res.on('close', () => left.abort());
    const answer = await respond(route, req, left.signal);
    res.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (!answer.body) return void res.end();
    const body = Readable.fromWeb(answer.body as WebStream).on('error', () => res.destroy());
    // When the client disconnects, the rest of the stream is discarded.
    res.on('close', () => body.destroy());
    if (res.destroyed) body.destroy();
    else body.pipe(res);
  };
}

async function respond(route: ChatRoute, req: IncomingMessage, signal: AbortSignal): Promise<Response> {
  if (req.method !== 'GET' && req.method !== 'POST')
    return new Response(null, { status: 405, headers: { allow: 'GET, POST' } });
  const request = readable(req, signal);
  if (!request) return problemResponse(UNREADABLE);
  return req.method === 'POST' ? route.POST(request) : route.GET(request);
}

const UNREADABLE = new UsageError('invalid-request', { status: 400 }, 'The URL or the host is invalid.');

/** Node accepts invalid URLs, such as `//`, and hosts with a space. They must not crash the process. */
function readable(req: IncomingMessage, signal: AbortSignal): Request | undefined {
  try {
    return requestOf(req, signal);
  } catch {
    return undefined;
  }
}

function requestOf(req: IncomingMessage, signal: AbortSignal): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(req.headers))
    for (const one of [value ?? []].flat()) headers.append(name, one);
  const url = new URL(originalUrl(req), `http://${req.headers.host ?? 'localhost'}`);
  return new Request(url, {
    method: req.method ?? 'GET',
    headers,
    signal,
    ...(req.method === 'POST' && { body: bodyOf(req), duplex: 'half' }),
  } as RequestInit);
}

/**
 * The body as a web stream. It leaves `req` alone until it is read, so that Node discards the body of a request that was
 * refused without reading it, and the connection can be reused.
 */
function bodyOf(req: IncomingMessage): ReadableStream<Uint8Array> {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        reader ??= (Readable.toWeb(req) as ReadableStream<Uint8Array>).getReader();
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader?.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

/** Express strips the mount path from `url`. */
function originalUrl(req: IncomingMessage): string {
  const { originalUrl: whole } = req as { originalUrl?: unknown };
  return typeof whole === 'string' ? whole : (req.url ?? '/');
}
