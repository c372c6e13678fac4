// A queue for one reader that reads at its client's pace.

/** `post` never waits. What the reader can do without is `offer`ed, and dropped while the buffer is full. */
export class Mailbox<T> {
  readonly #items: T[] = [];
  readonly #capacity: number;
  #wake: (() => void) | undefined;
  #closed = false;

  constructor(capacity = Number.POSITIVE_INFINITY) {
    this.#capacity = capacity;
  }

  /** Returns false if the item was dropped because the buffer is full. */
  offer(item: T): boolean {
    if (this.#closed || this.#items.length >= this.#capacity) return false;
    this.post(item);
    return true;
  }

  post(item: T): void {
    if (this.#closed) return;
    this.#items.push(item);
    this.#wake?.();
  }

  close(): void {
    this.#closed = true;
    this.#wake?.();
  }

  /** Resolves with all buffered items as soon as there are any; with undefined once it is closed and empty. */
  async take(): Promise<readonly T[] | undefined> {
    while (this.#items.length === 0 && !this.#closed)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    this.#wake = undefined;
    return this.#items.length > 0 ? this.#items.splice(0) : undefined;
  }
}
