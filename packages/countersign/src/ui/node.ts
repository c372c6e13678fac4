// Runs a chat route on servers with Node's `req` and `res`: Express, Fastify's raw objects, `node:http`.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { ReadableStream } from 'node:stream/web';
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
    const body = Readable.fromWeb(answer.body as ReadableStream).on('error', () => res.destroy());
    // When the client disconnects, the rest of the stream is discarded.
    res.on('close', () => body.destroy());
    if (res.destroyed) body.destroy();
    else body.pipe(res);
  };
}

async function respond(route: ChatRoute, req: IncomingMessage, signal: AbortSignal): Promise<Response> {
  if (req.method !== 'GET' && req.method !== 'POST')
    return new Response(null, { status: 405, headers: { allow: 'GET, POST' } });
  let request: Request;
  try {
    request = requestOf(req, signal);
  } catch (cause) {
    // Node accepts invalid URLs, such as `//`, and hosts with a space. They must not crash the process.
    return problemResponse(
      new UsageError('invalid-request', { status: 400 }, 'The URL or the host is invalid.', { cause }),
    );
  }
  return req.method === 'POST' ? route.POST(request) : route.GET(request);
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
    // It leaves `req` alone until it is read, so that a connection can be reused whose body was refused unread.
    ...(req.method === 'POST' && { body: ReadableStream.from(req), duplex: 'half' }),
  } as RequestInit);
}

/** Express strips the mount path from `url`. */
function originalUrl(req: IncomingMessage): string {
  const { originalUrl: whole } = req as { originalUrl?: unknown };
  return typeof whole === 'string' ? whole : (req.url ?? '/');
}
