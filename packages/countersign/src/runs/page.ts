// A page of a list.

/** A page: `after` is the `cursor` of the page before. */
export type Page<T> = { readonly items: readonly T[]; readonly cursor: string | null };
