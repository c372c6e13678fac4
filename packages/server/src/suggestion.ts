// Suggests a known name for a misspelt one.

/** The known name nearest to the given one, if it is close enough. */
export function nearest(given: string, known: readonly string[]): string | undefined {
  const limit = given.length <= 4 ? 1 : 2;
  const found = known
    .map((name) => ({ name, distance: name.startsWith(given) && given.length > 1 ? 0 : editDistance(given, name) }))
    .filter(({ distance }) => distance <= limit)
    .sort((one, other) => one.distance - other.distance);
  return found[0]?.name;
}

/** How many letters have to be added, removed, changed, or swapped with a neighbour. */
function editDistance(one: string, other: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row++) {
    const current = [row];
    for (let column = 1; column <= other.length; column++) {
      const same = one[row - 1] === other[column - 1];
      const swapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      current[column] = Math.min(
        (previous[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (previous[column - 1] ?? 0) + (same ? 0 : 1),
        swapped ? (before[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    before = previous;
    previous = current;
  }
  return previous[other.length] ?? 0;
}
