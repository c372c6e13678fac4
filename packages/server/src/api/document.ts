// The OpenAPI document, made from the definitions of the endpoints.
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { ApiDocument } from '../pages/docs.ts';
import { WebhookEventShape } from '../schemas/webhook.ts';

export function documentOf(api: OpenAPIHono, url: string): ApiDocument {
  api.openAPIRegistry.registerComponent('securitySchemes', 'token', {
    type: 'http',
    scheme: 'bearer',
    description: 'An API token, made by `countersign tokens create`.',
  });
  api.openAPIRegistry.registerComponent('securitySchemes', 'session', {
    type: 'apiKey',
    in: 'cookie',
    name: 'countersign',
    description:
      'The session of a browser. The cookie is called `countersign-` and the port, as in `countersign-3000`; with https it is ' +
      '`__Host-countersign`.',
  });
  api.openAPIRegistry.registerWebhook({
    method: 'post',
    path: 'request',
    operationId: 'receiveRequestEvent',
    summary: 'Posted by the channel `webhook` when something happens to a request',
    description: 'Signed as Standard Webhooks says: check it with the secret of the webhook.',
    // The receiver checks the signature; the request has no credentials of this API.
    security: [],
    request: { body: { content: { 'application/json': { schema: WebhookEventShape } } } },
    responses: { 200: { description: 'Any 2xx: the receiver has it. Otherwise it is posted again.' } },
  });
  return api.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Countersign',
      version: '1',
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
      description:
        'Runs of agents, and their requests to people. Times are in milliseconds. Errors are ' +
        '`application/problem+json` with a stable `code`.',
    },
    servers: [{ url }],
  }) as unknown as ApiDocument;
}
