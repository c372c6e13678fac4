// The stream of a run's chunks: buffers them until they are read, and drops them once the reader leaves.
import type { Chunk } from './chunk.ts';

/** For one reader. A reader that leaves early does not stop the run. */
export class ChunkStream implements AsyncIterableIterator<Chunk> {
  #chunks: Chunk[] = [];
  #next = 0;
  #end: { readonly error?: unknown } | undefined;
  #waiting: PromiseWithResolvers<IteratorResult<Chunk>> | undefined;

  push(chunk: Chunk): void {
    if (this.#end) return;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting) waiting.resolve({ value: chunk, done: false });
    else this.#chunks.push(chunk);
  }

  /** Ends the stream. With an error, the reader gets it after the last chunk. */
  end(end: { readonly error?: unknown } = {}): void {
    if (this.#end) return;
    this.#end = end;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting && 'error' in end) {
      // The error is reported once; later reads find the end.
      this.#end = {};
      waiting.reject(end.error);
    } else waiting?.resolve(DONE);
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
    if (!end) return this.#wait();
    if (!('error' in end)) return Promise.resolve(DONE);
    this.#end = {};
    return Promise.reject(end.error);
  }

  /** A second read that comes before the first has its chunk waits for its turn. */
  #wait(): Promise<IteratorResult<Chunk>> {
    const before = this.#waiting;
    if (before) return this.#afterwards(before.promise);
    this.#waiting = Promise.withResolvers();
    return this.#waiting.promise;
  }

  #afterwards(before: Promise<unknown>): Promise<IteratorResult<Chunk>> {
    const next = () => this.next();
    return before.then(next, next);
  }

  return(): Promise<IteratorResult<Chunk>> {
    this.#end = {};
    this.#reset();
    this.#waiting?.resolve(DONE);
    this.#waiting = undefined;
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
