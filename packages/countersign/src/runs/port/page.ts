// Pages: of lists, and of the events of a run.

/**
 * A page: pass its `cursor` as `after` to get the next one. Items of the same time are in the order of their arrival. A page
 * ends early with the item that makes it larger than `FULL_PAGE_SIZE`, so only a `cursor` of null says that no more follow.
 */
export type Page<T> = { readonly items: readonly T[]; readonly cursor: string | null };

/** A page is full once the JSON of its items has this many characters or bytes, so that reading it does not take long. */
export const FULL_PAGE_SIZE = 500_000;
/** A page of events never has more events than this. */
export const MOST_PAGE_EVENTS = 5_000;
