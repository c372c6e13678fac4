// Pages: of lists, and of the events of a run.

/** A page: pass its `cursor` as `after` to get the next one. Items of the same time are in the order of their arrival. */
export type Page<T> = { readonly items: readonly T[]; readonly cursor: string | null };

/** A page of events is full once their JSON has this many characters or bytes, so that reading it does not take long. */
export const FULL_PAGE_SIZE = 500_000;
/** A page of events never has more events than this. */
export const MOST_PAGE_EVENTS = 5_000;
