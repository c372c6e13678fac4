// A page of a list.

/** A page: `after` is the `cursor` of the page before. What has the same time is in the order in which it arrived. */
export type Page<T> = { readonly items: readonly T[]; readonly cursor: string | null };
