// The one way from a public class to what only our own server, chat route and adapters use of it.

/** From the registry of all copies of this package: bundlers and servers that reload make several. */
export const INTERNALS: unique symbol = Symbol.for('countersign.internals');

/**
 * What our own packages use of an instance or its runs, beside their public members. It can change in any release.
 * @internal
 */
export function internalsOf<T>(owner: { readonly [INTERNALS]: T }): T {
  return owner[INTERNALS];
}
