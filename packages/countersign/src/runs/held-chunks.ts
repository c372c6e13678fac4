// Chunks that are kept back until what they tell of is on record.
import type { Chunk } from '../loop/chunk.ts';
import { guarded } from '../loop/guarded.ts';

export type HeldChunks = {
  readonly hear: (chunk: Chunk) => void;
  /** Tells what was kept back, and from now on everything at once. */
  readonly release: () => void;
};

/** If they are never released, nobody hears of them. A listener that throws is not called again. */
export function holdChunks(onChunk: (chunk: Chunk) => void): HeldChunks {
  const tell = guarded(onChunk);
  let held: Chunk[] | undefined = [];
  const hear = (chunk: Chunk): void => {
    if (held) held.push(chunk);
    else tell(chunk);
  };
  const release = (): void => {
    const waiting = held ?? [];
    held = undefined;
    for (const chunk of waiting) tell(chunk);
  };
  return { hear, release };
}
