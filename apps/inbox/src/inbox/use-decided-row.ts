// A list is kept fresh by its first page alone. A row behind it goes when its card is found to be decided.
import { type QueryClient, type QueryKey, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { without } from '../api/joined-pages.ts';
import type { ApiRequest, Page } from '../api/wire.ts';

export function useDecidedRow(request: Pick<ApiRequest, 'id' | 'status'> | undefined): void {
  const client = useQueryClient();
  const decided = request?.status === 'decided' ? request.id : undefined;
  useEffect(() => {
    if (decided !== undefined) removeRow(client, decided);
  }, [client, decided]);
}

export function removeRow(client: QueryClient, requestId: string): void {
  client.setQueriesData<Page<ApiRequest>>(
    { queryKey: ['requests'], predicate: ({ queryKey }) => isOfWhatWaits(queryKey) },
    (known) => known && without(known, requestId),
  );
}

const isOfWhatWaits = ([, query]: QueryKey): boolean => (query as { readonly status?: string }).status === 'pending';
