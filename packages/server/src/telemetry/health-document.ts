// Health, readiness and metrics as the OpenAPI document tells them.
import { type OpenAPIHono, type RouteConfig, z } from '@hono/zod-openapi';
import { documentedProblem } from '../http/endpoint.ts';
import type { AppOptions } from '../options.ts';

/** What stands beside the API, at the root of the app, as the document tells it. */
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
      ...{ ...at, path: '/healthz', summary: 'Whether the process lives', security: [] },
      responses: { 200: status('It does.', 'ok'), default: documentedProblem('Another method, another host.') },
    },
    {
      ...{ ...at, path: '/readyz', summary: 'Whether it can work', security: [] },
      responses: {
        200: status('It can.', 'ok'),
        503: status(
          'It is being stopped, or the store does not answer within two seconds.',
          'stopping',
          'store-failed',
        ),
        default: documentedProblem('Another method, another host.'),
      },
    },
  ];
  if (metrics !== 'off')
    routes.push({
      ...{ ...at, path: '/metrics', summary: 'Numbers for Prometheus' },
      description: 'Needs the scope `read` and the reach `all`, unless the server is told otherwise.',
      security: metrics === 'open' ? [] : [{ token: [] }, { session: [] }],
      responses: {
        200: { description: 'Its text format.', content: { 'text/plain': { schema: z.string() } } },
        401: documentedProblem('Nobody is known who asks this.'),
        403: documentedProblem('The person may not see all runs.'),
        503: documentedProblem('The store is away.'),
        default: documentedProblem('Another method, another host.'),
      },
    });
  for (const route of routes) registry.registerPath(route);
}
