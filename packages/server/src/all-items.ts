// Reads a whole list, page by page.
import type { Page } from 'countersign/store';

/** Returns every item. `load` gets the place to continue from, under both names that lists take it by. */
export async function allItems<T>(
  load: (from: { readonly after?: string; readonly cursor?: string }) => Promise<Page<T>>,
): Promise<readonly T[]> {
  let { items, cursor } = await load({});
  const found = [...items];
  while (cursor !== null) {
    // SQLite answers synchronously: this lets other requests run in between.
    await new Promise(setImmediate);
    ({ items, cursor } = await load({ after: cursor, cursor }));
    found.push(...items);
  }
  return found;
}
