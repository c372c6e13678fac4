// A page of a list.

/** A page: pass its `cursor` as `after` to get the next one. Items of the same time are in the order of their arrival. */
export type Page<T> = { readonly items: readonly T[]; readonly cursor: string | null };
