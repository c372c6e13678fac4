// What models say while they say it, for those in this process who listen. Nothing of it is kept: the record follows.

import { guarded } from '../../loop/call/guarded.ts';
import type { Chunk } from '../../loop/stream/chunk.ts';

/** A piece of a reply. `reply` is how many messages it replies to: later replies of the run have higher numbers. */
export type LiveChunk = { readonly reply: number; readonly chunk: Chunk };

type Heard = { readonly listeners: Set<(heard: LiveChunk) => void>; reply: number; chunks: Chunk[] };

export class Live {
  readonly #runs = new Map<string, Heard>();

  /** Tells of the reply that is being said from its beginning, then of everything that follows. One that throws is not called again. */
  listen(runId: string, told: (heard: LiveChunk) => void): () => void {
    const listener = guarded(told);
    const heard = this.#runs.get(runId) ?? { listeners: new Set(), reply: 0, chunks: [] };
    this.#runs.set(runId, heard);
    for (const chunk of heard.chunks) listener({ reply: heard.reply, chunk });
    heard.listeners.add(listener);
    return () => {
      heard.listeners.delete(listener);
      if (heard.listeners.size === 0 && this.#runs.get(runId) === heard) this.#runs.delete(runId);
    };
  }

  /** Where the chunks of a run go while it is driven here; undefined if nobody listens. */
  emitter(runId: string, reply: () => number): ((chunk: Chunk) => void) | undefined {
    const known = this.#runs.get(runId);
    if (!known) return undefined;
    // What a try before this one had said of the reply is not part of it.
    known.chunks = [];
    let said: Chunk[] = [];
    let saying = -1;
    return (chunk) => {
      if (chunk.path || !PIECES.has(chunk.type)) return;
      const now = reply();
      if (now !== saying) said = [];
      saying = now;
      said.push(chunk);
      const heard = this.#runs.get(runId);
      if (!heard) return;
      // Whoever came when nobody was left has heard nothing of this reply yet.
      const news = heard.chunks === said ? [chunk] : said;
      heard.reply = now;
      heard.chunks = said;
      for (const listener of heard.listeners) for (const chunk of news) listener({ reply: now, chunk });
    };
  }
}

/** Everything else is told by the record. */
const PIECES: ReadonlySet<Chunk['type']> = new Set(['text', 'reasoning', 'tool-input']);

type Listener = (chunk: Chunk) => void;

/** Each hears of every chunk. */
export function tellBoth(one: Listener | undefined, other: Listener | undefined): Listener | undefined {
  if (!one || !other) return one ?? other;
  return (chunk) => {
    one(chunk);
    other(chunk);
  };
}
