// The stream of a run's chunks: buffers them until they are read, and drops them once the reader leaves.
import type { Chunk } from './chunk.ts';

/** For one reader. A reader that leaves early does not stop the run. */
export class ChunkStream implements AsyncIterableIterator<Chunk> {
  #chunks: Chunk[] = [];
  #next = 0;
  #end: { readonly error?: unknown } | undefined;
  readonly #waiting: { resolve(result: IteratorResult<Chunk>): void; reject(error: unknown): void }[] = [];

  push(chunk: Chunk): void {
    if (this.#end) return;
    const waiting = this.#waiting.shift();
    if (waiting) waiting.resolve({ value: chunk, done: false });
    else this.#chunks.push(chunk);
  }

  /** Ends the stream. With an error, the reader gets it after the last chunk. */
  end(end: { readonly error?: unknown } = {}): void {
    if (this.#end) return;
    this.#end = end;
    const [first, ...others] = this.#waiting.splice(0);
    if (first && 'error' in end) {
      // The error is reported once; later reads find the end.
      this.#end = {};
      first.reject(end.error);
    } else first?.resolve(DONE);
    for (const waiting of others) waiting.resolve(DONE);
  }

  next(): Promise<IteratorResult<Chunk>> {
    const chunk = this.#chunks[this.#next];
    if (chunk) {
      this.#next += 1;
      // Frees chunks in blocks, so that a long stream neither keeps them all nor shifts them one by one.
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
