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
  const at = { method: 'get' as const, tags: ['Operation'], servers: [{ url: root }] };
  const status = (description: string, ...values: [string, ...string[]]) => ({
    description,
    content: { 'application/json': { schema: z.object({ status: z.enum(values) }) } },
  });
  const routes: RouteConfig[] = [
    {
      ...{ ...at, path: '/healthz', summary: 'Check that the process runs', security: [] },
      responses: { 200: status('It runs.', 'ok'), default: documentedProblem('Wrong method or wrong host.') },
    },
    {
      ...{ ...at, path: '/readyz', summary: 'Check that the server is ready', security: [] },
      responses: {
        200: status('It is ready.', 'ok'),
        503: status(
          'The server is stopping, or the store does not answer within two seconds.',
          'stopping',
          'store-failed',
        ),
        default: documentedProblem('Wrong method or wrong host.'),
      },
    },
  ];
  if (metrics !== 'off')
    routes.push({
      ...{ ...at, path: '/metrics', summary: 'Get metrics for Prometheus' },
      description: 'Needs the scope `read` and the reach `all`, unless the option `metrics` is `open`.',
      security: metrics === 'open' ? [] : [{ token: [] }, { session: [] }],
      responses: {
        200: { description: 'The text format of Prometheus.', content: { 'text/plain': { schema: z.string() } } },
        401: documentedProblem('Not signed in.'),
        403: documentedProblem('The caller cannot see all runs.'),
        503: documentedProblem('The store is unavailable.'),
        default: documentedProblem('Wrong method or wrong host.'),
      },
    });
  for (const route of routes) registry.registerPath(route);
}
