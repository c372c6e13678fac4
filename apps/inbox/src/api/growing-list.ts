// A list that is loaded page by page and kept fresh by its first page alone, however long it is.
import { type QueryKey, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { extended, type Identified, refreshed } from './joined-pages.ts';
import { queryOf, request } from './request.ts';
import type { Page } from './wire.ts';

export type GrowingList<Item> = {
  readonly items: readonly Item[] | undefined;
  readonly hasMore: boolean;
  readonly isLoadingMore: boolean;
  readonly error: Error | null;
  loadMore(): void;
  retry(): void;
};

const AT_ONCE = 50;
/** How many empty pages are passed over. */
const MOST_EMPTY = 10;

/** `query` holds the filters; `kind` is the cache key. */
export function useGrowingList<Item extends Identified>(
  kind: string,
  path: string,
  query: { readonly [name: string]: string | undefined },
): GrowingList<Item> {
  const client = useQueryClient();
  const queryKey: QueryKey = [kind, query];
  const load = (cursor: string | undefined, signal?: AbortSignal) =>
    request<Page<Item>>(`${path}${queryOf({ ...query, cursor, limit: AT_ONCE })}`, signal ? { signal } : {});

  const list = useQuery({
    queryKey,
    queryFn: async ({ signal }) => {
      let first = await load(undefined, signal);
      // The server looks at many requests for one page. It may find none that fit, and say where to go on.
      for (let more = 0; first.items.length === 0 && first.cursor !== null && more < MOST_EMPTY; more++)
        first = await load(first.cursor, signal);
      return refreshed(client.getQueryData<Page<Item>>(queryKey), first);
    },
  });
  const more = useMutation({
    mutationFn: (cursor: string) => load(cursor),
    onSuccess: (page) => client.setQueryData<Page<Item>>(queryKey, (known) => (known ? extended(known, page) : known)),
  });
  const cursor = list.data?.cursor ?? null;
  return {
    items: list.data?.items,
    hasMore: cursor !== null,
    isLoadingMore: more.isPending,
    error: list.error ?? more.error,
    loadMore: () => {
      if (cursor !== null && !more.isPending) more.mutate(cursor);
    },
    retry: () => {
      more.reset();
      void list.refetch();
    },
  };
}
