// Gives items to places.

/** The indexes of the places that can be taken at once (Kuhn's algorithm). */
export function matched<Place, Item>(
  places: readonly Place[],
  items: readonly Item[],
  fits: (item: Item, place: Place) => boolean,
): ReadonlySet<number> {
  const holder = new Map<number, Item>();
  const findPlace = (item: Item, seen: Set<number>): boolean =>
    places.some((place, index) => {
      if (seen.has(index) || !fits(item, place)) return false;
      seen.add(index);
      const current = holder.get(index);
      if (current !== undefined && !findPlace(current, seen)) return false;
      holder.set(index, item);
      return true;
    });
  for (const item of items) findPlace(item, new Set());
  return new Set(holder.keys());
}
