// The stream of a run's chunks: kept until somebody reads them, dropped once nobody will.
import type { Chunk } from './chunk.ts';

/** For one reader. A reader that leaves early does not stop the run. */
export class ChunkStream implements AsyncIterableIterator<Chunk> {
  #chunks: Chunk[] = [];
  #next = 0;
  #end: { readonly error?: unknown } | undefined;
  #waiting: { resolve(result: IteratorResult<Chunk>): void; reject(error: unknown): void } | undefined;

  push(chunk: Chunk): void {
    if (this.#end) return;
    const waiting = this.#waiting;
    if (!waiting) {
      this.#chunks.push(chunk);
      return;
    }
    this.#waiting = undefined;
    waiting.resolve({ value: chunk, done: false });
  }

  /** No more chunks come; with an error, the reader gets it after the last chunk. */
  end(end: { readonly error?: unknown } = {}): void {
    if (this.#end) return;
    this.#end = end;
    const waiting = this.#waiting;
    if (!waiting) return;
    this.#waiting = undefined;
    if ('error' in end) waiting.reject(end.error);
    else waiting.resolve(DONE);
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
    if (!end) return new Promise((resolve, reject) => (this.#waiting = { resolve, reject }));
    if (!('error' in end)) return Promise.resolve(DONE);
    this.#end = {};
    return Promise.reject(end.error);
  }

  return(): Promise<IteratorResult<Chunk>> {
    this.#end = {};
    this.#reset();
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
