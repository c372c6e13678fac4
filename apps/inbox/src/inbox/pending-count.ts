// How many wait, as far as one page tells: `3`, `50+`, or nothing.

import { useGrowingList } from '../api/growing-list.ts';
import type { ApiRequest } from '../api/wire.ts';
import { NO_FILTERS, queryFor } from './filters.ts';

export function usePendingCount(): string {
  // The same list as the inbox shows without filters, so that it is asked for once.
  const { items = [], hasMore } = useGrowingList<ApiRequest>(
    'requests',
    'requests',
    queryFor('pending', NO_FILTERS, 0),
  );
  return items.length === 0 ? '' : `${items.length}${hasMore ? '+' : ''}`;
}
