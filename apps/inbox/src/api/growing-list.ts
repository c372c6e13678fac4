// A list that is loaded page by page and kept fresh by its first page alone, however long it is.
import { type QueryKey, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { queryOf, request } from './request.ts';
import type { Page } from './wire.ts';

type Identified = { readonly id: string };

/**
 * The list after its first page was loaded again. What stood behind that page's last entry stays, so that entries which
 * moved down are not lost; what is gone from the page is gone. If the page shares nothing with the list, it is the list.
 */
export function refreshed<Item extends Identified>(known: Page<Item> | undefined, first: Page<Item>): Page<Item> {
  const last = first.items.at(-1);
  if (!known || first.cursor === null || !last) return first;
  const place = known.items.findIndex(({ id }) => id === last.id);
  if (place < 0) return first;
  const onPage = new Set(first.items.map(({ id }) => id));
  const behind = known.items.slice(place + 1).filter(({ id }) => !onPage.has(id));
  return behind.length === 0 ? first : { items: [...first.items, ...behind], cursor: known.cursor };
}

/** The list with one more page at its end. */
export function extended<Item extends Identified>(known: Page<Item>, more: Page<Item>): Page<Item> {
  const there = new Set(known.items.map(({ id }) => id));
  return { items: [...known.items, ...more.items.filter(({ id }) => !there.has(id))], cursor: more.cursor };
}

export type GrowingList<Item> = {
  readonly items: readonly Item[] | undefined;
  readonly hasMore: boolean;
  readonly isLoadingMore: boolean;
  readonly error: Error | null;
  loadMore(): void;
  retry(): void;
};

const AT_ONCE = 50;

/** `query` is what the list is asked with; `kind` names it among what is kept. */
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
      const first = await load(undefined, signal);
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
