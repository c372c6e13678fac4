// A list that stays in the order of (createdAt, seq), so that a page of it costs the same however long it is.
import type { Order, Place } from '../rules/page.ts';

export class SortedList<T extends Place> {
  readonly #items: T[] = [];

  add(item: T): void {
    this.#items.splice(this.#indexOf(item), 0, item);
  }

  remove(place: Place): void {
    this.#items.splice(this.#indexOf(place), 1);
  }

  /** The items behind `after`, in this order. */
  *walk(order: Order, after: Place | undefined): Generator<T> {
    const step = order === 'oldest' ? 1 : -1;
    let index = step === 1 ? 0 : this.#items.length - 1;
    if (after !== undefined) {
      const found = this.#indexOf(after);
      const there = this.#items[found];
      index = step === -1 ? found - 1 : found + (there !== undefined && compare(there, after) === 0 ? 1 : 0);
    }
    for (let item = this.#items[index]; item !== undefined; index += step, item = this.#items[index]) yield item;
  }

  /** The index of the first item that does not stand before `place`. */
  #indexOf(place: Place): number {
    let low = 0;
    let high = this.#items.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const item = this.#items[middle];
      if (item !== undefined && compare(item, place) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function compare(a: Place, b: Place): number {
  return a.createdAt === b.createdAt ? a.seq - b.seq : a.createdAt - b.createdAt;
}
