// The events of a run and the stream of changes, as pages and as server-sent events.
import { z } from '@hono/zod-openapi';
import { endpoint, json } from '../../http/endpoint.ts';
import { changesFor } from '../../live/changes.ts';
import { eventStream } from '../../live/event-stream.ts';
import { pageOf, runIdShape } from '../../schemas/page.ts';
import { EventQueryShape, EventShape } from '../../schemas/run.ts';
import type { Services } from '../services.ts';

const LastEventHeaders = z.object({
  'last-event-id': z
    .string()
    .regex(/^\d{0,9}$/, 'must be the id of an event')
    .transform((id) => (id === '' ? undefined : Number(id)))
    .optional()
    .openapi({
      type: 'string',
      description: 'The last `seq` received, as browsers send it; overrides `cursor` and `after`.',
    }),
});

export function eventEndpoints(services: Services) {
  const { ai, access, followRun, keepAliveMs } = services;
  return [
    endpoint({
      route: 'GET /runs/{runId}/events',
      operationId: 'listEvents',
      summary: 'The events of a run',
      description:
        'With `Accept: text/event-stream` or `follow=1` as server-sent events: `id` is the `seq`, `event: event` each fact, ' +
        '`event: end` when the run has ended.',
      tag: 'Live',
      scope: 'read',
      params: z.object({ runId: runIdShape }),
      query: EventQueryShape,
      headers: LastEventHeaders,
      answers: {
        200: {
          description: 'A page of events, or a stream of them.',
          shape: pageOf(EventShape),
          also: ['text/event-stream'],
        },
      },
      handle: async ({
        params: { runId },
        query: { cursor, after = 0, limit = 50, follow },
        headers,
        person,
        request,
      }) => {
        await access.readable(runId, person);
        const from = headers['last-event-id'] ?? cursor ?? after;
        if (follow === '1' || wantsStream(request))
          return eventStream((signal) => followRun(runId, from, signal), request, keepAliveMs);
        const loaded = await ai.runs.store.read(runId, { after: from, limit });
        const items = (loaded?.events ?? []).map((event, index) => ({ ...event, seq: from + index + 1 }));
        const last = items.at(-1)?.seq;
        const hasMore = loaded !== undefined && last !== undefined && last < loaded.run.version;
        return json({ items, cursor: hasMore ? String(last) : null });
      },
    }),
    endpoint({
      route: 'GET /changes',
      operationId: 'followChanges',
      summary: 'Follow changes',
      description:
        'Server-sent events `{ runId }` for each changed run that the caller can see; `runId: null` means that anything may ' +
        'have changed.',
      tag: 'Live',
      scope: 'read',
      answers: { 200: { description: 'A stream that does not end.', shape: z.string(), type: 'text/event-stream' } },
      handle: ({ person, request }) =>
        eventStream((signal) => changesFor(services, person, signal), request, keepAliveMs),
    }),
  ];
}

function wantsStream(request: Request): boolean {
  return (request.headers.get('accept') ?? '').includes('text/event-stream');
}
