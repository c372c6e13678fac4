// Immutable lists and sets that grow in constant time, so that a turn costs the same in a long run as in a short one.

/** A list whose versions share their storage and never change: appending to the newest one is O(1). */
export class GrowList<T> {
  static of<T>(items: readonly T[]): GrowList<T> {
    return new GrowList(items.slice(), items.length);
  }

  /** Takes ownership of the array: the caller must not touch it again. */
  static owning<T>(items: T[]): GrowList<T> {
    return new GrowList(items, items.length);
  }

  readonly length: number;
  readonly #items: T[];

  private constructor(items: T[], length: number) {
    this.#items = items;
    this.length = length;
  }

  get last(): T | undefined {
    return this.#items[this.length - 1];
  }

  append(...added: readonly T[]): GrowList<T> {
    const items = this.#items.length === this.length ? this.#items : this.#items.slice(0, this.length);
    items.push(...added);
    return new GrowList(items, items.length);
  }

  withoutLast(): GrowList<T> {
    return new GrowList(this.#items, this.length === 0 ? 0 : this.length - 1);
  }

  withLast(item: T): GrowList<T> {
    return this.withoutLast().append(item);
  }

  /** The shared storage when this is the newest version: read it at once, or copy it. */
  toArray(): readonly T[] {
    return this.#items.length === this.length ? this.#items : this.#items.slice(0, this.length);
  }
}

/** A set that shares its storage like `GrowList`: each item has its place, so an older version ignores later ones. */
export class GrowSet<T> {
  static of<T>(items: Iterable<T> = []): GrowSet<T> {
    return new GrowSet(new Map<T, number>(), 0).add(items);
  }

  readonly size: number;
  readonly #places: Map<T, number>;

  private constructor(places: Map<T, number>, size: number) {
    this.#places = places;
    this.size = size;
  }

  has(item: T): boolean {
    const place = this.#places.get(item);
    return place !== undefined && place < this.size;
  }

  add(added: Iterable<T>): GrowSet<T> {
    const newest = this.#places.size === this.size;
    const places = newest ? this.#places : new Map([...this.#places].filter(([, place]) => place < this.size));
    for (const item of added) if (!places.has(item)) places.set(item, places.size);
    return new GrowSet(places, places.size);
  }
}
