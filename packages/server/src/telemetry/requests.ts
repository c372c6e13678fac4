// Logs and counts every request: its route, duration and person, never its content.
import { randomBytes } from 'node:crypto';
import type { Context, MiddlewareHandler } from 'hono';
import type { OpenStreams } from '../http/open-streams.ts';
import { problemResponse } from '../http/problem.ts';
import type { Log } from '../log.ts';
import type { Measures } from './measures.ts';

type RequestWatch = { readonly log: Log; readonly measures: Measures; readonly streams: OpenStreams };

export function watchRequests({ log, measures, streams }: RequestWatch): MiddlewareHandler {
  return async (context, next) => {
    const startedAt = performance.now();
    const requestId = requestIdOf(context.req.raw);
    context.set('requestId', requestId);
    await next();
    const person: string | undefined = context.get('person');
    const route = routeOf(context);
    const about = { requestId, method: context.req.method, route, ...(person !== undefined && { person }) };
    try {
      context.res = streams.track(context.res, {
        person,
        isLimited: context.req.method === 'GET',
        stillKnown: context.get('stillKnown'),
        failed: (error) => log('error', 'stream', { ...about, error }),
        ...cutOf(context),
      });
    } catch (error) {
      context.res = problemResponse(error);
    }
    const { status, headers } = context.res;
    headers.set('x-request-id', requestId);
    const ms = performance.now() - startedAt;
    measures.request(methodOf(context.req.method), route, status, ms / 1000);
    log(status >= 500 ? 'error' : 'info', 'request', {
      ...about,
      status,
      ms: Math.round(ms * 10) / 10,
      ...(context.error && status >= 500 && { error: context.error }),
    });
  };
}

/** On a Node socket, the connection can be destroyed. */
function cutOf(context: Context): { readonly cut?: () => void } {
  const { outgoing } = (context.env ?? {}) as { outgoing?: { destroy(): unknown } };
  return outgoing ? { cut: () => void outgoing.destroy() } : {};
}

/**
 * The pattern, never the path: paths contain ids and URLs contain secrets. Asks the request itself: the helper in `hono/route`
 * only understands requests of the same copy of Hono, and the host app may have installed another.
 */
function routeOf(context: Context): string {
  const found = context.req.matchedRoutes.find(({ path }) => !path.endsWith('*'));
  return found?.path ?? 'page';
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'DELETE', 'PUT', 'PATCH', 'OPTIONS']);
const methodOf = (method: string): string => (METHODS.has(method) ? method : 'OTHER');

/** The request id of a proxy, if it is well formed, or a new one. */
function requestIdOf(request: Request): string {
  const given = request.headers.get('x-request-id');
  return given !== null && /^[\w.-]{8,64}$/.test(given) ? given : randomBytes(9).toString('base64url');
}
