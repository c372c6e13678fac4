// Endpoints: what a route takes and gives, said once; the checks and the OpenAPI document come from it.
import { type OpenAPIHono, type RouteConfig, z } from '@hono/zod-openapi';
import { UsageError } from 'countersign';
import { readJson } from 'countersign/ui';
import type { Context } from 'hono';
import type { Caller } from '../identity/identify.ts';
import type { Person, Scope } from '../identity/person.ts';
import { ProblemShape } from '../schemas/problem.ts';
import type { OpenStreams } from '../telemetry/open-streams.ts';

/** What an endpoint is given, checked. */
export type Asked<Params, Query, Body> = {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly person: Person;
  readonly request: Request;
  readonly context: Context;
};

type Shape = z.ZodObject | undefined;
type Read<S> = S extends z.ZodType ? z.output<S> : undefined;

/** An answer as the document tells it. */
export type Answer = {
  readonly description: string;
  readonly shape?: z.ZodType;
  readonly type?: string;
  /** Other forms in which it is given. */
  readonly also?: readonly string[];
};

export type Definition<P extends Shape, Q extends Shape, B extends z.ZodType | undefined> = {
  readonly method: 'get' | 'post' | 'delete';
  /** Parameters in braces. */
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  readonly tag: string;
  /** What the caller must be allowed to do; null: anybody who is known. */
  readonly scope: Scope | null;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  /** A body that may be left out. */
  readonly bodyIsOptional?: boolean;
  readonly headers?: z.ZodObject;
  readonly answers: Readonly<Record<number, Answer>>;
  /** What can go wrong beside what can go wrong everywhere. */
  readonly problems?: readonly number[];
};

export type Endpoint = {
  readonly definition: Definition<Shape, Shape, z.ZodType | undefined>;
  readonly handle: (asked: Asked<any, any, any>) => Promise<Response> | Response;
};

export function endpoint<
  P extends Shape = undefined,
  Q extends Shape = undefined,
  B extends z.ZodType | undefined = undefined,
>(
  definition: Definition<P, Q, B>,
  handle: (asked: Asked<Read<P>, Read<Q>, Read<B>>) => Promise<Response> | Response,
): Endpoint {
  return { definition: definition as Endpoint['definition'], handle };
}

export const json = (value: unknown, status = 200): Response => Response.json(value, { status });

export type MountOptions = {
  /** Who asks; throws if nobody is known or the request comes from elsewhere. */
  readonly caller: (context: Context) => Promise<Caller>;
  readonly streams: OpenStreams;
  readonly maxBodyBytes: number;
  readonly bodyTimeoutMs: number;
};

/** Everything that comes in is checked in this order: who, whether they may, what they ask. */
export function mountEndpoint(app: OpenAPIHono, { definition, handle }: Endpoint, options: MountOptions): void {
  app.openAPIRegistry.registerPath(documented(definition));
  const path = definition.path.replaceAll(/\{(\w+)\}/g, ':$1');
  app.on(definition.method.toUpperCase(), path, async (context) => {
    const { person } = await options.caller(context);
    requireScope(person, definition.scope);
    // Checked before the request does anything: a post that is answered with a stream must not act and then be refused.
    if (definition.answers[200]?.type === 'text/event-stream') options.streams.checkRoom(person.id);
    const { searchParams } = new URL(context.req.url);
    const params = check(definition.params, context.req.param(), 'path');
    const query = check(definition.query, single(searchParams, definition.query), 'query');
    const body = await bodyOf(definition, context.req.raw, options);
    return handle({ params, query, body, person, request: context.req.raw, context });
  });
}

export function requireScope(person: Person, scope: Scope | null): void {
  if (scope === null || person.scopes.includes(scope)) return;
  throw new UsageError('not-allowed', { status: 403, scope }, `This needs the scope ${scope}.`);
}

async function bodyOf(definition: Endpoint['definition'], request: Request, options: MountOptions): Promise<unknown> {
  const { body, bodyIsOptional } = definition;
  if (!body) return undefined;
  const isAbsent = request.headers.get('content-type') === null && !hasBody(request);
  if (bodyIsOptional && isAbsent) return check(body, {}, 'body');
  const limits = { maxBytes: options.maxBodyBytes, timeoutMs: options.bodyTimeoutMs };
  return check(body, await readJson(request, limits), 'body');
}

function hasBody({ headers }: Request): boolean {
  return headers.has('transfer-encoding') || Number(headers.get('content-length') ?? 0) > 0;
}

/** Whoever gives a parameter twice means something that is not there. */
function single(given: URLSearchParams, shape: Shape): Record<string, string> {
  const found: Record<string, string> = Object.create(null);
  if (!shape) return found;
  for (const [name, value] of given) {
    if (name in found) throw invalid('query', [{ path: [name], message: 'is given more than once' }]);
    found[name] = value;
  }
  return { ...found };
}

function check(shape: z.ZodType | undefined, value: unknown, where: string): unknown {
  if (!shape) return undefined;
  const read = shape.safeParse(value);
  if (read.success) return read.data;
  throw invalid(
    where,
    read.error.issues.slice(0, 20).map(({ path, message }) => ({ path: path.map(String), message })),
  );
}

function invalid(where: string, problems: readonly { path: string[]; message: string }[]): UsageError {
  const told = problems.map(({ path, message }) => `${[where, ...path].join('.')}: ${message}`).join('; ');
  const detail = `The request does not fit: ${told.slice(0, 1000)}.`;
  return new UsageError('invalid-request', { status: 400, where, problems }, detail);
}

const PROBLEMS: Readonly<Record<number, string>> = {
  400: 'The request does not fit.',
  401: 'Nobody is known who asks this.',
  403: 'The person may not do this.',
  404: 'There is no such thing, or not for this person.',
  408: 'The body arrives too slowly.',
  409: 'Somebody was first.',
  413: 'The body is too large or nested too deeply.',
  415: 'The body is not JSON.',
  422: 'What was decided does not fit; `problems` says where. Or a key was used for another request.',
  429: 'The person has too many open streams.',
  503: 'The store is away, or too many streams are open. Try again later.',
};

/** What can happen to any request. */
const ELSE = 'Whatever else is wrong: another method (405), another host (421), an error here (500, 502).';

function documented(definition: Endpoint['definition']): RouteConfig {
  const { method, path, summary, description, tag, scope, params, query, body, headers, answers } = definition;
  const faults = new Set([401, 403, 503, ...(definition.problems ?? [])]);
  if (params || query || body || headers) faults.add(400);
  if (Object.values(answers).some(({ type, also }) => [type, ...(also ?? [])].includes('text/event-stream')))
    faults.add(429);
  if (body) for (const status of [408, 413, 415]) faults.add(status);
  const scopeNote = scope === null ? 'Anybody who is known may ask.' : `Needs the scope \`${scope}\`.`;
  return {
    method,
    path,
    summary,
    description: [description, scopeNote].filter(Boolean).join(' '),
    tags: [tag],
    security: [{ token: [] }, { session: [] }],
    request: {
      ...(params && { params }),
      ...(query && { query }),
      ...(headers && { headers }),
      ...(body && {
        body: { required: definition.bodyIsOptional !== true, content: { 'application/json': { schema: body } } },
      }),
    },
    responses: {
      ...Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, documentedAnswer(answer)])),
      ...Object.fromEntries([...faults].map((status) => [status, documentedProblem(PROBLEMS[status] ?? '')])),
      default: documentedProblem(ELSE),
    },
  };
}

function documentedAnswer({ description, shape, type = 'application/json', also = [] }: Answer) {
  if (!shape) return { description };
  const others = also.map((other) => [other, { schema: z.string() }]);
  return { description, content: { [type]: { schema: shape }, ...Object.fromEntries(others) } };
}

export function documentedProblem(description: string) {
  return { description, content: { 'application/problem+json': { schema: ProblemShape } } };
}
