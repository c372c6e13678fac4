// Pages of a list in the order of (createdAt, id): the cursor is the place of the last item, opaque to callers.
import { UsageError } from '../core/errors.ts';
import type { Page } from '../runs/store.ts';

/** Where an item stands in a list. Two items of one millisecond are told apart by their ids. */
export type Place = { readonly createdAt: number; readonly id: string };

export type Order = 'newest' | 'oldest';

/** What is asked for, with the cursor read. */
export type PageRequest = { readonly after: Place | undefined; readonly limit: number };

export function readPageRequest(query: { readonly after?: string; readonly limit: number }): PageRequest {
  const { limit } = query;
  if (!Number.isSafeInteger(limit) || limit < 1) {
    throw new UsageError('invalid-options', { limit }, `The limit of a page is a whole number above 0, not ${limit}.`);
  }
  return { after: query.after === undefined ? undefined : readCursor(query.after), limit };
}

/** `found` holds one item more than `limit` when there is a page after this one. */
export function makePage<T extends Place>(found: readonly T[], limit: number): Page<T> {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return { items, cursor: found.length > limit && last !== undefined ? writeCursor(last) : null };
}

function writeCursor({ createdAt, id }: Place): string {
  return Buffer.from(JSON.stringify([createdAt, id])).toString('base64url');
}

function readCursor(cursor: string): Place {
  try {
    const [createdAt, id] = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (Number.isSafeInteger(createdAt) && typeof id === 'string') return { createdAt, id };
  } catch {
    // Not what `writeCursor` wrote: the same mistake as a wrong shape.
  }
  throw new UsageError('invalid-options', { after: cursor }, 'The cursor is none that a page of this list came with.');
}
