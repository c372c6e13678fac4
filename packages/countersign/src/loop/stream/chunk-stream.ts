// The stream of a run's chunks: kept until somebody reads them, dropped once nobody will.
import type { Chunk } from './chunk.ts';

/** For one reader. A reader that leaves early does not stop the run. */
export class ChunkStream implements AsyncIterableIterator<Chunk> {
  #chunks: Chunk[] = [];
  #next = 0;
  #end: { readonly error?: unknown } | undefined;
  readonly #waiting: { resolve(result: IteratorResult<Chunk>): void; reject(error: unknown): void }[] = [];

  push(chunk: Chunk): void {
    if (this.#end) return;
    // One reader waits as a rule, and taking the last is cheaper than taking the first.
    const waiting = this.#waiting.length > 1 ? this.#waiting.shift() : this.#waiting.pop();
    if (waiting) waiting.resolve({ value: chunk, done: false });
    else this.#chunks.push(chunk);
  }

  /** No more chunks come; with an error, the reader gets it after the last chunk. */
  end(end: { readonly error?: unknown } = {}): void {
    if (this.#end) return;
    this.#end = end;
    const [first, ...others] = this.#waiting.splice(0);
    if (first && 'error' in end) {
      // It is told once; whoever reads on finds the end.
      this.#end = {};
      first.reject(end.error);
    } else first?.resolve(DONE);
    for (const waiting of others) waiting.resolve(DONE);
  }

  next(): Promise<IteratorResult<Chunk>> {
    const chunk = this.#chunks[this.#next];
    if (chunk) {
      this.#next += 1;
      // What was read is let go in blocks, so that a long stream neither keeps it all nor shifts it one by one.
      if (this.#next === this.#chunks.length) this.#reset();
      return Promise.resolve({ value: chunk, done: false });
    }
    const end = this.#end;
    if (!end) return new Promise((resolve, reject) => void this.#waiting.push({ resolve, reject }));
    if (!('error' in end)) return Promise.resolve(DONE);
    this.#end = {};
    return Promise.reject(end.error);
  }

  return(): Promise<IteratorResult<Chunk>> {
    this.#end = {};
    this.#reset();
    for (const waiting of this.#waiting.splice(0)) waiting.resolve(DONE);
    return Promise.resolve(DONE);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #reset(): void {
    this.#chunks = [];
    this.#next = 0;
  }
}

const DONE: IteratorResult<Chunk> = { value: undefined, done: true };
