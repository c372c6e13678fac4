// Pages of a list in the order of (createdAt, seq): the cursor is the place of the last item, opaque to callers.
import { UsageError } from '../../core/errors.ts';
import { mapValid } from '../../runs/port/skip-invalid.ts';
import type { Page } from '../../runs/port/store.ts';

/** Where an item stands in a list. Two of one millisecond stand in the order in which they came, which `seq` counts. */
export type Place = { readonly createdAt: number; readonly seq: number };

export type Order = 'newest' | 'oldest';

/** What is asked for, with the cursor read. */
export type PageRequest = { readonly after: Place | undefined; readonly limit: number };

export function readPageRequest(query: { readonly after?: string; readonly limit: number }): PageRequest {
  const limit = readLimit(query.limit);
  return { after: query.after === undefined ? undefined : readCursor(query.after), limit };
}

export function readLimit(limit: number): number {
  if (Number.isSafeInteger(limit) && limit >= 1) return limit;
  throw new UsageError('invalid-options', { limit }, `The limit of a page is a whole number above 0, not ${limit}.`);
}

/** `found` holds one more than `limit` when there is a page after this one. What `itemOf` throws at is left out. */
export function makePage<Found, T extends object>(
  found: readonly Found[],
  { limit, order }: { readonly limit: number; readonly order?: Order },
  itemOf: (found: Found) => T,
  placeOf: (found: Found) => Place,
): Page<T> {
  const onPage = found.slice(0, limit);
  const last = onPage.at(-1);
  const isLast = found.length <= limit || last === undefined;
  return { items: mapValid(onPage, itemOf), cursor: isLast ? null : cursorAfter(placeOf(last), order) };
}

/**
 * Times that somebody changed may be beyond those that a cursor has. All of them stand together at one end of the list: at
 * its begin, the next page is the first of the others. At its end there is none, since none of them is believed.
 */
export function cursorAfter({ createdAt, seq }: Place, order: Order = 'oldest'): string | null {
  if (Number.isSafeInteger(createdAt)) return writeCursor({ createdAt, seq });
  const isAtBegin = createdAt > 0 === (order === 'newest');
  return isAtBegin ? writeCursor({ createdAt: Math.sign(createdAt) * Number.MAX_SAFE_INTEGER, seq }) : null;
}

function writeCursor({ createdAt, seq }: Place): string {
  return Buffer.from(JSON.stringify([createdAt, seq])).toString('base64url');
}

function readCursor(cursor: string): Place {
  try {
    const [createdAt, seq] = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (Number.isSafeInteger(createdAt) && Number.isSafeInteger(seq)) return { createdAt, seq };
  } catch {
    // Not what `writeCursor` wrote: the same mistake as a wrong shape.
  }
  throw new UsageError('invalid-options', { after: cursor }, 'The cursor is none that a page of this list came with.');
}
