// GET /stats: numbers for the dashboard.
import { endpoint, json } from '../http/endpoint.ts';
import { sharedStats } from '../live/shared-stats.ts';
import { StatsQueryShape, StatsShape } from '../schemas/stats.ts';
import type { Services } from './services.ts';

export function statsEndpoints({ ai, hub }: Services) {
  const statsOf = sharedStats(ai.runs, hub.closed);
  return [
    endpoint({
      route: 'GET /stats',
      operationId: 'getStats',
      summary: 'Get statistics of decisions',
      description:
        'Of all runs for callers with the reach `all`, otherwise of the runs that the caller started. Days are in UTC.',
      tag: 'Requests',
      scope: 'read',
      query: StatsQueryShape,
      answers: { 200: { description: 'The numbers.', shape: StatsShape } },
      handle: async ({ query: { days = 30 }, person }) =>
        json(await statsOf({ days, ...(person.reach !== 'all' && { startedBy: person.id }) })),
    }),
  ];
}
