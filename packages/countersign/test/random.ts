// Random numbers that are the same for the same seed.

export type Random = {
  below(count: number): number;
  chance(probability: number): boolean;
  pick<T>(items: readonly T[]): T;
};

/** Numbers from 0 up to 1. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function randomFrom(seed: number): Random {
  const next = randomOf(seed);
  const below = (count: number) => Math.floor(next() * count);
  return { below, chance: (p) => next() < p, pick: (items) => items[below(items.length)] as (typeof items)[number] };
}
