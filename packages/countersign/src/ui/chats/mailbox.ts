// A queue between those who have news and the one who reads them at a client's pace.

/** For one reader. `post` never waits; what the reader can do without is dropped when it is slow. */
export class Mailbox<T> {
  readonly #items: T[] = [];
  readonly #room: number;
  #wake: (() => void) | undefined;
  #closed = false;

  constructor(room = Number.POSITIVE_INFINITY) {
    this.#room = room;
  }

  /** False if it was dropped, because too much waits already. */
  offer(item: T): boolean {
    if (this.#closed || this.#items.length >= this.#room) return false;
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

  /** Everything that waits, as soon as there is something; undefined once it is closed and empty. */
  async take(): Promise<readonly T[] | undefined> {
    while (this.#items.length === 0 && !this.#closed)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    this.#wake = undefined;
    return this.#items.length > 0 ? this.#items.splice(0) : undefined;
  }
}
