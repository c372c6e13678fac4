// Every request leaves a line in the log and a count in the measures: which route, how long, who; never what was said.
import { randomBytes } from 'node:crypto';
import { UsageError } from 'countersign';
import type { Context, MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import { problemResponse } from '../http/problem.ts';
import type { Log } from './log.ts';
import type { Measures } from './measures.ts';

export type RequestWatch = { readonly log: Log; readonly measures: Measures; readonly maxStreams: number };

export function watchRequests({ log, measures, maxStreams }: RequestWatch): MiddlewareHandler {
  let open = 0;

  /** An answer that goes on for long is counted until it ends. */
  function counted(response: Response): Response {
    const { body, status, headers } = response;
    if (!body || !(headers.get('content-type') ?? '').startsWith('text/event-stream')) return response;
    if (open >= maxStreams) {
      void body.cancel().catch(() => undefined);
      throw new UsageError('too-many-streams', { status: 503 }, 'Too many streams are open. Try again later.');
    }
    open += 1;
    measures.stream(1);
    const ended = once(() => {
      open -= 1;
      measures.stream(-1);
    });
    return new Response(tapped(body, ended), { status, headers });
  }

  return async (context, next) => {
    const startedAt = performance.now();
    const requestId = requestIdOf(context.req.raw);
    await next();
    try {
      context.res = counted(context.res);
    } catch (error) {
      context.res = problemResponse(error);
    }
    const { status, headers } = context.res;
    headers.set('x-request-id', requestId);
    const ms = performance.now() - startedAt;
    const route = routeOf(context);
    measures.request(methodOf(context.req.method), route, status, ms / 1000);
    const person: unknown = context.get('person');
    log(status >= 500 ? 'error' : 'info', 'request', {
      requestId,
      method: context.req.method,
      route,
      status,
      ms: Math.round(ms * 10) / 10,
      ...(typeof person === 'string' && { person }),
      ...(context.error && status >= 500 && { error: context.error }),
    });
  };
}

/** The pattern, never the path: paths hold ids, and addresses hold secrets. */
function routeOf(context: Context): string {
  const found = matchedRoutes(context).find(({ path }) => !path.endsWith('*'));
  return found?.path ?? 'page';
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'DELETE', 'PUT', 'PATCH', 'OPTIONS']);
const methodOf = (method: string): string => (METHODS.has(method) ? method : 'OTHER');

/** That of a proxy in front, where it is nothing strange. */
function requestIdOf(request: Request): string {
  const given = request.headers.get('x-request-id');
  return given !== null && /^[\w.-]{8,64}$/.test(given) ? given : randomBytes(9).toString('base64url');
}

/** The same bytes at the pace of the reader; `ended` is told however it ends. */
function tapped(body: ReadableStream<Uint8Array>, ended: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          ended();
          controller.close();
        } catch (error) {
          ended();
          controller.error(error);
        }
      },
      async cancel(reason) {
        ended();
        await reader.cancel(reason);
      },
    },
    // Nothing is kept here: what the reader has not asked for stays where it is.
    { highWaterMark: 0 },
  );
}

function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    work();
  };
}
