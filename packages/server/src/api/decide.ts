// POST /requests/{id}/decide: records a person's decision.
import { z } from '@hono/zod-openapi';
import type { Json } from 'countersign';
import { endpoint, json } from '../http/endpoint.ts';
import { DecideResultShape, DecideShape } from '../schemas/decision.ts';
import { requestIdShape } from '../schemas/request.ts';
import { IdempotencyHeaders, remember } from './idempotency.ts';
import { CHANNELS, decidableRequest, recordDecision } from './record-decision.ts';
import type { Services } from './services.ts';

export const ChannelHeaders = z.object({
  'x-countersign-channel': z.enum(CHANNELS).default('api').openapi({ description: '`api` by default.' }),
});

export function decideEndpoints(services: Services) {
  return [
    endpoint({
      route: 'POST /requests/{requestId}/decide',
      operationId: 'decideRequest',
      summary: 'Decide a request',
      description:
        'The decision is durable before the response is sent. Repeating it returns the recorded decision; a different one is ' +
        'a conflict that says who decided what, and when. A decision that the `allows` of the card does not list is ' +
        'invalid, except to reject and to cancel.',
      tag: 'Requests',
      scope: 'decide',
      params: z.object({ requestId: requestIdShape }),
      headers: IdempotencyHeaders.extend(ChannelHeaders.shape),
      body: DecideShape,
      answers: { 200: { description: 'The recorded decision, or the votes so far.', shape: DecideResultShape } },
      problems: [409, 422],
      handle: async ({ params: { requestId }, body, headers, person, request }) => {
        const { 'x-countersign-channel': channel, 'idempotency-key': key } = headers;
        const seen = await decidableRequest(services, requestId, person, body);
        // A figure about the decision, not a part of it.
        const { seenForMs: _viewed, ...asked } = body;
        if (key !== undefined)
          await remember(services.ai.runs.notes, {
            key,
            person: person.id,
            asked: ['decide', requestId, asked as Json],
            kept: null,
          });
        return json(
          await recordDecision(services, seen, { person, channel, address: services.addressOf(request) }, body),
        );
      },
    }),
  ];
}
