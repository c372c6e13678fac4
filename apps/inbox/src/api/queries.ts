// The queries to the server, their cache keys, and their retry rules.
import { keepPreviousData, QueryCache, QueryClient, queryOptions } from '@tanstack/react-query';
import type { Names } from 'countersign/request';
import { queryOf, Refusal, request } from './request.ts';
import type { AgentInfo, Insights, Me, Page, Plan, RequestWithMessages, Run, RunEvent, Stats } from './wire.ts';

const FEW_TRIES = 2;

/** Only what may pass by itself is tried again: a refusal stays one. */
export function createQueries(): QueryClient {
  const client: QueryClient = new QueryClient({
    queryCache: new QueryCache({
      // The session has expired; the query for the current user finds out.
      onError: (error, { queryKey }) => {
        if (error instanceof Refusal && error.status === 401 && queryKey[0] !== 'me')
          void client.invalidateQueries({ queryKey: ['me'] });
      },
    }),
    defaultOptions: {
      queries: {
        retry: (failures, error) => !(error instanceof Refusal) && failures < FEW_TRIES,
        retryDelay: (failures) => 400 * 2 ** failures,
        refetchOnWindowFocus: false,
        // A server on this machine is reached without any network.
        networkMode: 'always',
        staleTime: 5_000,
      },
      mutations: { networkMode: 'always' },
    },
  });
  return client;
}

export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: ({ signal }) => request<Me>('me', { signal }),
  staleTime: 60_000,
});

export const agentsQuery = queryOptions({
  queryKey: ['agents'],
  queryFn: ({ signal }) => request<{ readonly items: readonly AgentInfo[] }>('agents', { signal }),
  staleTime: 60_000,
});

export const requestQuery = (id: string) =>
  queryOptions({
    queryKey: ['request', id],
    queryFn: ({ signal }) => request<RequestWithMessages>(`requests/${encodeURIComponent(id)}`, { signal }),
  });

export const planQuery = (id: string) =>
  queryOptions({
    queryKey: ['request', id, 'plan'],
    queryFn: ({ signal }) => request<Plan>(`requests/${encodeURIComponent(id)}/plan`, { signal }),
  });

export const runQuery = (id: string) =>
  queryOptions({
    queryKey: ['run', id],
    queryFn: ({ signal }) => request<Run>(`runs/${encodeURIComponent(id)}`, { signal }),
  });

/** The names of the people in a run, asked for again when it changes. */
export const runNamesQuery = (id: string) =>
  queryOptions({
    queryKey: ['run', id, 'names'],
    queryFn: ({ signal }) => request<Names>(`runs/${encodeURIComponent(id)}/names`, { signal }),
  });

const EVENTS_AT_ONCE = 200;

/** All events of a run; those that are known already are not fetched again. */
export const eventsQuery = (id: string) =>
  queryOptions({
    queryKey: ['events', id],
    queryFn: async ({ signal, client }) => {
      const known = client.getQueryData<readonly RunEvent[]>(['events', id]) ?? [];
      const events = [...known];
      for (;;) {
        const after = queryOf({ after: events.at(-1)?.seq, limit: EVENTS_AT_ONCE });
        const page = await request<Page<RunEvent>>(`runs/${encodeURIComponent(id)}/events${after}`, { signal });
        const seen = events.at(-1)?.seq ?? -1;
        const fresh = page.items.filter(({ seq }) => seq > seen);
        events.push(...fresh);
        if (page.cursor === null || fresh.length === 0) return events;
      }
    },
  });

export const statsQuery = (days: number) =>
  queryOptions({
    queryKey: ['stats', days],
    queryFn: ({ signal }) => request<Stats>(`stats${queryOf({ days })}`, { signal }),
  });

/** What the dashboard counts; an empty name selects all. */
export type InsightFilters = {
  readonly days: number;
  readonly tool: string;
  readonly person: string;
  readonly policy: string;
};

/** The address of the figures, in the time zone of the reader. */
export const insightsPath = (route: 'insights' | 'insights.csv', filters: InsightFilters): string =>
  `${route}${queryOf({ ...filters, timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone })}`;

/** Fetched again now and then instead of after every change: the server reads many requests for it. */
export const insightsQuery = (filters: InsightFilters) =>
  queryOptions({
    queryKey: ['insights', filters],
    queryFn: ({ signal }) => request<Insights>(insightsPath('insights', filters), { signal }),
    placeholderData: keepPreviousData,
    refetchInterval: 15_000,
  });
