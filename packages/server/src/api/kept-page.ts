// Pages of the items that a person can see.
import type { Page } from 'countersign/store';

/** How many items are read at once, at most. */
const PAGE_SIZE = 200;
/** How many items are checked for one page; after that a shorter page is returned, with its cursor. */
const MAX_CHECKED = 2_000;

/** A page of the items that `keep` lets through. It may be short, even empty, and still have a cursor. */
export async function keptPage<T, Kept>(
  load: (options: { readonly cursor?: string; readonly limit: number }) => Promise<Page<T>>,
  { cursor, limit }: { readonly cursor: string | undefined; readonly limit: number },
  keep: (items: readonly T[]) => Promise<readonly (Kept | undefined)[]> | readonly (Kept | undefined)[],
): Promise<Page<Kept>> {
  const kept: Kept[] = [];
  let from = cursor;
  let size = limit;
  for (let checked = 0; checked < MAX_CHECKED; ) {
    const room = limit - kept.length;
    const asked = Math.max(size, room);
    let [page, found] = await read(asked, from);
    // A cursor belongs to the last item of a page, so a page with too many items is read again at the right size.
    if (found.length > room) [page, found] = await read(room, from);
    // If few items pass, larger pages are read.
    size = Math.min(PAGE_SIZE, size * 2);
    checked += Math.max(1, page.items.length);
    kept.push(...found);
    // A page that is full before its limit has large items; more of them would make the response too large.
    const isLarge = page.items.length < asked && kept.length > 0;
    if (page.cursor === null || kept.length >= limit || isLarge) return { items: kept, cursor: page.cursor };
    from = page.cursor;
    // SQLite answers synchronously: this lets other requests run in between.
    await new Promise(setImmediate);
  }
  return { items: kept, cursor: from ?? null };

  async function read(most: number, after: string | undefined): Promise<readonly [Page<T>, readonly Kept[]]> {
    const page = await load({ limit: most, ...(after !== undefined && { cursor: after }) });
    return [page, (await keep(page.items)).filter((item) => item !== undefined)];
  }
}
