// Health, readiness and metrics in the OpenAPI document.
import { type OpenAPIHono, type RouteConfig, z } from '@hono/zod-openapi';
import { documentedProblem } from '../http/endpoint.ts';
import type { AppOptions } from '../options.ts';

/** Documents the routes at the root of the app, beside the API. */
export function documentHealth(
  registry: OpenAPIHono['openAPIRegistry'],
  root: string,
  metrics: NonNullable<AppOptions['metrics']>,
): void {
  const status = (description: string, ...values: [string, ...string[]]) => ({
    description,
    content: { 'application/json': { schema: z.object({ status: z.enum(values) }) } },
  });
  const get = (
    operationId: string,
    path: string,
    summary: string,
    responses: RouteConfig['responses'],
    more: Partial<RouteConfig> = {},
  ) =>
    registry.registerPath({
      ...{
        method: 'get',
        path,
        operationId,
        summary,
        tags: ['Operation'],
        servers: [{ url: root }],
        security: [],
        ...more,
      },
      responses: { ...responses, 421: documentedProblem('Wrong host.'), default: documentedProblem('Wrong method.') },
    });
  get('checkHealth', '/healthz', 'Check that the process runs', { 200: status('It runs.', 'ok') });
  const failed = 'The server is stopping, or the store does not answer within two seconds.';
  get('checkReadiness', '/readyz', 'Check that the server is ready', {
    200: status('It is ready.', 'ok'),
    503: status(failed, 'stopping', 'store-failed'),
  });
  if (metrics === 'off') return;
  const text = { description: 'The text format of Prometheus.', content: { 'text/plain': { schema: z.string() } } };
  get(
    'getMetrics',
    '/metrics',
    'Get metrics for Prometheus',
    {
      200: text,
      401: documentedProblem('Not signed in.'),
      403: documentedProblem('The caller cannot see all runs.'),
      503: documentedProblem('The store is unavailable.'),
    },
    {
      description: 'Needs the scope `read` and the reach `all`, unless the option `metrics` is `open`.',
      security: metrics === 'open' ? [] : [{ token: [] }, { session: [] }],
    },
  );
}
