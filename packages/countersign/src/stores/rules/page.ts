// Pages of a list in the order of (createdAt, seq). The cursor is the place of the last item, opaque to callers.
import { UsageError } from '../../core/errors.ts';
import { FULL_PAGE_SIZE, MOST_PAGE_EVENTS, type Page } from '../../runs/port/page.ts';
import { mapValid } from '../../runs/port/skip-invalid.ts';
import type { RequestQuery } from '../../runs/port/store.ts';

/** Where an item stands in a list. `seq` orders items of the same millisecond. */
export type Place = { readonly createdAt: number; readonly seq: number };

export type Order = 'newest' | 'oldest';

/** Whether the list of requests is in the order of their settlement. */
export const isBySettlement = ({ settledSince, settledBefore }: RequestQuery): boolean =>
  settledSince !== undefined || settledBefore !== undefined;

export type PageRequest = { readonly after: Place | undefined; readonly limit: number };

export function readPageRequest(query: { readonly after?: string; readonly limit: number }): PageRequest {
  const limit = readLimit(query.limit);
  return { after: query.after === undefined ? undefined : readCursor(query.after), limit };
}

/** The most events that one read returns. */
export function readEventLimit(limit = MOST_PAGE_EVENTS): number {
  return Math.min(readLimit(limit), MOST_PAGE_EVENTS);
}

export function readLimit(limit: number): number {
  if (Number.isSafeInteger(limit) && limit >= 1) return limit;
  throw new UsageError(
    'invalid-options',
    { limit },
    `The limit of a page must be a whole number above 0, not ${limit}.`,
  );
}

/**
 * `found` holds one more than fits on the page if another page follows. Items at which `itemOf` throws are skipped with a
 * warning. `sizeOf` is the length of the JSON of an item.
 */
export function makePage<Found, T extends object>(
  found: readonly Found[],
  query: { readonly limit: number },
  itemOf: (found: Found) => T,
  placeOf: (found: Found) => Place,
  sizeOf: (found: Found) => number,
): Page<T> {
  const room = new PageRoom(query.limit);
  const onPage = found.slice(0, found.findIndex((item) => !room.takes(sizeOf(item))) >>> 0);
  const last = onPage.at(-1);
  const isLast = found.length === onPage.length || last === undefined;
  return { items: mapValid(onPage, itemOf), cursor: isLast ? null : writeCursor(placeOf(last)) };
}

/** What a page still takes: a number of items, until their JSON is large. */
export class PageRoom {
  #items: number;
  #size = FULL_PAGE_SIZE;

  constructor(limit: number) {
    this.#items = limit;
  }

  /** Whether the next item, of this size, is on the page. */
  takes(size: number): boolean {
    if (this.#items === 0 || this.#size <= 0) return false;
    this.#items -= 1;
    this.#size -= size;
    return true;
  }
}

function writeCursor({ createdAt, seq }: Place): string {
  return Buffer.from(JSON.stringify([createdAt, seq])).toString('base64url');
}

function readCursor(cursor: string): Place {
  try {
    const [createdAt, seq] = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (Number.isSafeInteger(createdAt) && Number.isSafeInteger(seq)) return { createdAt, seq };
  } catch {
    // Not JSON: refused like a wrong shape.
  }
  throw new UsageError(
    'invalid-options',
    { after: cursor },
    'The cursor `after` is not from a page of this list. Start again without it.',
  );
}
