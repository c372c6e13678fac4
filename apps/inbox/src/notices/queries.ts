// What the pages ask the server about notices.
import { queryOptions } from '@tanstack/react-query';
import { request } from '../api/request.ts';
import type { ChannelStatus } from './wire.ts';

const REFETCHED_EVERY_MS = 10_000;

export const channelsQuery = queryOptions({
  queryKey: ['notices', 'channels'],
  queryFn: ({ signal }) => request<{ readonly items: readonly ChannelStatus[] }>('notices/channels', { signal }),
  refetchInterval: REFETCHED_EVERY_MS,
});
