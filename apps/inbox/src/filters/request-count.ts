// How many requests a list has: those that are loaded if that is all, otherwise as the server counts them.
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type GrowingList, useGrowingList } from '../api/growing-list.ts';
import { queryOf, request } from '../api/request.ts';
import type { ApiRequest, RequestCount } from '../api/wire.ts';
import { NO_FILTERS, type Query, queryFor } from './filters.ts';

/** Shared between callers of the server, so it may be a little old. */
const COUNTED_AGAIN_MS = 10_000;

/** Undefined until it is known. `list`: the list itself, where it is loaded. */
export function useRequestCount(
  query: Query,
  list: GrowingList<ApiRequest> | undefined,
  isWanted = true,
): RequestCount | undefined {
  const isWhole = list?.items !== undefined && !list.hasMore;
  const { order: _order, ...filters } = query;
  const { data } = useQuery({
    queryKey: ['requests', 'count', filters],
    queryFn: ({ signal }) => request<RequestCount>(`requests/count${queryOf(filters)}`, { signal }),
    enabled: isWanted && !isWhole && (list === undefined || list.items !== undefined),
    refetchInterval: COUNTED_AGAIN_MS,
    placeholderData: keepPreviousData,
  });
  return isWhole ? { count: list.items.length, isComplete: true } : data;
}

/** `1,234`, or `5,000 or more` where the server counts no further. */
export const countText = ({ count, isComplete }: RequestCount): string =>
  `${count.toLocaleString('en')}${isComplete ? '' : ' or more'}`;

/** How many requests wait for the user. */
export function useMyCount(): RequestCount | undefined {
  const query = queryFor('pending', NO_FILTERS, 0);
  // The same list as the inbox shows without filters, so that it is asked for once.
  return useRequestCount(query, useGrowingList<ApiRequest>('requests', 'requests', query));
}
