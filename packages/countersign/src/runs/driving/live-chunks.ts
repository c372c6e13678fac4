// Streams replies of models to listeners in this process. Nothing is kept: the record follows.

import { guarded } from '../../loop/call/guarded.ts';
import type { Chunk } from '../../loop/stream/chunk.ts';

/** A chunk of a reply. `reply` counts the messages before it: later replies of the run have higher numbers. */
export type LiveChunk = { readonly reply: number; readonly chunk: Chunk };

type Heard = { readonly listeners: Set<(heard: LiveChunk) => void>; reply: number; chunks: Chunk[] };

export class Live {
  readonly #runs = new Map<string, Heard>();

  /** Sends the current reply from its beginning, then everything that follows. A listener that throws is not called again. */
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

  /** Takes the chunks of a run while it is driven here, and passes them on to `own`; undefined without listeners. */
  emitter(
    runId: string,
    reply: () => number,
    own: ((chunk: Chunk) => void) | undefined,
  ): ((chunk: Chunk) => void) | undefined {
    const known = this.#runs.get(runId);
    if (!known) return own;
    // Chunks of an earlier attempt are not part of the reply.
    known.chunks = [];
    let said: Chunk[] = [];
    let saying = -1;
    return (chunk) => {
      own?.(chunk);
      if (chunk.path || !PIECES.has(chunk.type)) return;
      const now = reply();
      if (now !== saying) said = [];
      saying = now;
      said.push(chunk);
      const heard = this.#runs.get(runId);
      if (!heard) return;
      // A listener that came after all others had left has received nothing of this reply yet.
      const news = heard.chunks === said ? [chunk] : said;
      heard.reply = now;
      heard.chunks = said;
      for (const listener of heard.listeners) for (const chunk of news) listener({ reply: now, chunk });
    };
  }
}

/** Everything else comes with the record. */
const PIECES: ReadonlySet<Chunk['type']> = new Set(['text', 'reasoning', 'tool-input']);
