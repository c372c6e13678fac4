// GET /insights and /insights.csv: how people decide.
import { z } from '@hono/zod-openapi';
import { endpoint, json } from '../http/endpoint.ts';
import type { Person } from '../identity/person.ts';
import { csvOf } from '../insights/csv.ts';
import { insightsOf, readSettled, sharedRequests } from '../insights/settled-requests.ts';
import { type Insights, InsightsQueryShape, InsightsShape } from '../schemas/insights.ts';
import { csvHeaders } from '../text/csv.ts';
import type { Services } from './services.ts';

type Query = z.output<typeof InsightsQueryShape>;

const description =
  'Of requests that were settled in the period: in all runs for callers with the reach `all`, otherwise in the ' +
  'runs that the caller started. At most the newest 10,000 are counted; `isComplete` says whether that was all.';

export function insightsEndpoints({ ai }: Services) {
  const requestsOf = sharedRequests((period, before) => readSettled(ai, period, before));

  const figures = (query: Query, { reach, id }: Person): Promise<Insights> =>
    insightsOf(requestsOf, { ...query, ...(reach !== 'all' && { startedBy: id }) });

  const common = { description, tag: 'Requests', scope: 'read' as const, query: InsightsQueryShape };
  return [
    endpoint({
      ...common,
      route: 'GET /insights',
      operationId: 'getInsights',
      summary: 'Get figures about how people decide',
      answers: { 200: { description: 'The figures.', shape: InsightsShape } },
      handle: async ({ query, person }) => json(await figures(query, person)),
    }),
    endpoint({
      ...common,
      route: 'GET /insights.csv',
      operationId: 'getInsightsCsv',
      summary: 'Get figures about how people decide, as CSV',
      answers: { 200: { description: 'A table with a header.', shape: z.string(), type: 'text/csv' } },
      handle: async ({ query, person }) =>
        new Response(csvOf(await figures(query, person)), { headers: csvHeaders('countersign-insights.csv') }),
    }),
  ];
}
