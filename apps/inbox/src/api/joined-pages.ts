// Pages of a list joined into one: what stays and what goes when a page is loaded.
import type { Page } from './wire.ts';

export type Identified = { readonly id: string };

/**
 * The list after its first page was loaded again. What stood behind that page's last entry stays, so that entries which
 * moved down are not lost; items that are gone from the page are gone. If the page shares nothing with the list, it is the list.
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

/** The list without an entry that is known to be gone, wherever it stood. */
export function without<Item extends Identified>(known: Page<Item>, gone: string): Page<Item> {
  const items = known.items.filter(({ id }) => id !== gone);
  return items.length === known.items.length ? known : { ...known, items };
}
