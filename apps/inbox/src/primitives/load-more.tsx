// The button below a list that has more pages.
import type { ReactElement } from 'react';

type List = { readonly hasMore: boolean; readonly isLoadingMore: boolean; loadMore(): void };

/** Shows nothing after the last page. */
export function LoadMore({
  list,
  className,
}: {
  readonly list: List;
  readonly className: string;
}): ReactElement | null {
  if (!list.hasMore) return null;
  return (
    <button type="button" className={`button ${className}`} onClick={list.loadMore}>
      {list.isLoadingMore ? 'Loading…' : 'Load more'}
    </button>
  );
}
