// Endpoints: one definition per route, from which the checks and the OpenAPI document are made.
import { type OpenAPIHono, type RouteConfig, z } from '@hono/zod-openapi';
import { UsageError } from 'countersign';
import { readJson } from 'countersign/ui';
import type { Context } from 'hono';
import { defined } from '../defined.ts';
import type { Caller } from '../identity/identify.ts';
import type { Person, Scope } from '../identity/person.ts';
import { ProblemShape } from '../schemas/problem.ts';
import type { OpenStreams } from './open-streams.ts';

/** The checked request of an endpoint. */
export type Asked<Params, Query, Headers, Body> = {
  readonly params: Params;
  readonly query: Query;
  readonly headers: Headers;
  readonly body: Body;
  readonly person: Person;
  /** How the caller was identified. */
  readonly proof: Caller['proof'];
  readonly request: Request;
};

type Shape = z.ZodObject | undefined;
type BodyShape = z.ZodType | undefined;
type Read<S> = S extends z.ZodType ? z.output<S> : undefined;

/** A response in the OpenAPI document. */
export type Answer = {
  readonly description: string;
  readonly shape?: z.ZodType;
  readonly type?: string;
  /** Other content types of the same response. */
  readonly also?: readonly string[];
};

export type Definition<P extends Shape, Q extends Shape, H extends Shape, B extends BodyShape> = {
  /** The method and the path, with parameters in braces. */
  readonly route: `${'GET' | 'POST' | 'DELETE'} ${string}`;
  /** What generated clients call it: a verb and a noun. It stays, whatever the route becomes. */
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tag: string;
  /** The scope that the caller needs; null for every signed-in caller. */
  readonly scope: Scope | null;
  /** `all`: only for callers who see the runs of everyone. */
  readonly reach?: 'all';
  readonly params?: P;
  readonly query?: Q;
  readonly headers?: H;
  /** May be left out of a request if all its fields are optional. */
  readonly body?: B;
  /** How many values the body may have; see `readJson`. */
  readonly maxValues?: number;
  readonly answers: Readonly<Record<number, Answer>>;
  /** Problem statuses besides those that follow from the other fields. */
  readonly problems?: readonly number[];
  readonly handle: (asked: Asked<Read<P>, Read<Q>, Read<H>, Read<B>>) => Promise<Response> | Response;
};

export type Endpoint = Omit<Definition<Shape, Shape, Shape, BodyShape>, 'handle'> & {
  readonly handle: (asked: Asked<any, any, any, any>) => Promise<Response> | Response;
};

export function endpoint<
  P extends Shape = undefined,
  Q extends Shape = undefined,
  H extends Shape = undefined,
  B extends BodyShape = undefined,
>(definition: Definition<P, Q, H, B>): Endpoint {
  return definition as Endpoint;
}

export const json = (value: unknown, status = 200): Response => Response.json(value, { status });

export type MountOptions = {
  /** Identifies the caller; throws if they are not signed in or the origin is not allowed. */
  readonly caller: (context: Context) => Promise<Caller>;
  readonly streams: OpenStreams;
  readonly maxBodyBytes: number;
  readonly bodyTimeoutMs: number;
};

/** Mounts the route. It checks the caller first, then their scope, then the request. */
export function mountEndpoint(app: OpenAPIHono, endpoint: Endpoint, options: MountOptions): void {
  app.openAPIRegistry.registerPath(documented(endpoint));
  const { method, path } = partsOf(endpoint);
  app.on(method, path.replaceAll(/\{(\w+)\}/g, ':$1'), async (context) => {
    const { person, proof } = await options.caller(context);
    requireScope(person, endpoint.scope);
    if (endpoint.reach === 'all') requireReach(person);
    // Checked before the request does anything: a post that is answered with a stream must not act and then be refused.
    if (endpoint.answers[200]?.type === 'text/event-stream') options.streams.checkRoom(person.id);
    const request = context.req.raw;
    const params = check(endpoint.params, context.req.param(), 'path');
    const query = check(endpoint.query, single(new URL(request.url).searchParams, endpoint.query), 'query');
    const headers = check(endpoint.headers, named(request.headers, endpoint.headers), 'header');
    const body = await bodyOf(endpoint, request, options);
    return endpoint.handle({ params, query, headers, body, person, proof, request });
  });
}

function partsOf({ route }: Endpoint) {
  const [method = '', path = ''] = route.split(' ');
  return { method, path };
}

export function requireScope(person: Person, scope: Scope | null): void {
  if (scope === null || person.scopes.includes(scope)) return;
  throw new UsageError('not-allowed', { status: 403, scope }, `The scope ${scope} is required.`);
}

export function requireReach({ id, reach }: Person): void {
  if (reach === 'all') return;
  const message = `${id} has access to their own runs only. This needs the reach \`all\`.`;
  throw new UsageError('not-allowed', { status: 403 }, message);
}

async function bodyOf({ body, maxValues }: Endpoint, request: Request, options: MountOptions): Promise<unknown> {
  if (!body) return undefined;
  const isAbsent = request.headers.get('content-type') === null && !hasBody(request);
  if (isOptional(body) && isAbsent) return check(body, {}, 'body');
  const limits = { maxBytes: options.maxBodyBytes, timeoutMs: options.bodyTimeoutMs, ...defined({ maxValues }) };
  return check(body, await readJson(request, limits), 'body');
}

const isOptional = (body: z.ZodType): boolean => body.safeParse({}).success;

function hasBody({ headers }: Request): boolean {
  return headers.has('transfer-encoding') || Number(headers.get('content-length') ?? 0) > 0;
}

function named(headers: Headers, shape: Shape): Record<string, string> {
  const names = Object.keys(shape?.shape ?? {}).filter((name) => headers.has(name));
  return Object.fromEntries(names.map((name) => [name, headers.get(name) ?? '']));
}

/** Rejects duplicate query parameters. */
function single(given: URLSearchParams, shape: Shape): Record<string, string> {
  const found: Record<string, string> = Object.create(null);
  if (!shape) return found;
  for (const [name, value] of given) {
    if (name in found) throw invalid('query', [{ path: [name], message: 'is duplicated' }]);
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
  const faults = problems.map(({ path, message }) => `${[where, ...path].join('.')}: ${message}`).join('; ');
  const detail = `Invalid request: ${faults.slice(0, 1000)}.`;
  return new UsageError('invalid-request', { status: 400, where, problems }, detail);
}

const PROBLEMS: Readonly<Record<number, string>> = {
  400: 'The request is invalid.',
  401: 'Not signed in.',
  403: 'The caller is not allowed to do this.',
  404: 'It does not exist, or the caller cannot see it.',
  408: 'The body took too long to arrive.',
  409: 'Another request was first.',
  413: 'The body is too large or nested too deeply, or the run would become too large.',
  415: 'The body is not JSON.',
  422: 'The decision is invalid; `problems` says where. Or the idempotency key was used for a different request.',
  429: 'The person has too many open streams.',
  503: 'The store is unavailable, too many streams are open, or the server is stopping. Try again later.',
};

const OTHER_PROBLEMS = 'Wrong method (405), wrong host (421), or an error on the server (500, 502).';

function documented(endpoint: Endpoint): RouteConfig {
  const {
    operationId,
    summary,
    description,
    tag,
    scope,
    reach,
    params,
    query,
    body,
    headers,
    answers,
    problems = [],
  } = endpoint;
  const { method, path } = partsOf(endpoint);
  const streams = Object.values(answers).some(({ type, also = [] }) => [type, ...also].includes('text/event-stream'));
  const faults = new Set([
    ...[401, 403, 503, ...problems],
    ...(params ? [404] : []),
    ...(params || query || body || headers ? [400] : []),
    ...(streams ? [429] : []),
    ...(body ? [408, 413, 415] : []),
  ]);
  const scopeNote = scope === null ? 'For every signed-in caller.' : `Needs the scope \`${scope}\`.`;
  return {
    method: method.toLowerCase() as RouteConfig['method'],
    path,
    operationId,
    summary,
    description: [description, scopeNote, reach && 'Needs `reach: "all"`.'].filter(Boolean).join(' '),
    tags: [tag],
    security: [{ token: [] }, { session: [] }],
    request: {
      ...(params && { params }),
      ...(query && { query }),
      ...(headers && { headers }),
      ...(body && { body: { required: !isOptional(body), content: { 'application/json': { schema: body } } } }),
    },
    responses: {
      ...Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, documentedAnswer(answer)])),
      ...Object.fromEntries([...faults].map((status) => [status, documentedProblem(PROBLEMS[status] ?? '')])),
      default: documentedProblem(OTHER_PROBLEMS),
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
