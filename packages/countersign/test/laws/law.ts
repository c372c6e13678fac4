// A law: a property that holds for all values. The seed is fixed, so that the same values are tried each time.
import fc from 'fast-check';
import { test } from 'vitest';
import { campaignSize } from '../campaign-size.ts';

const { COUNTERSIGN_LAWS: runs, COUNTERSIGN_LAWS_SEED: seed } = process.env;

/** `usual`: how many values `npm test` tries. With COUNTERSIGN_LAWS it is that many, with another seed each time. */
export function law(name: string, property: fc.IProperty<any> | fc.IAsyncProperty<any>, usual = 300): void {
  const numRuns = runs === undefined ? campaignSize(usual, usual * 50) : Number(runs);
  const chosen = seed === undefined ? (runs === undefined ? { seed: 37 } : {}) : { seed: Number(seed) };
  test(name, () => fc.assert(property as fc.IAsyncProperty<any>, { numRuns, ...chosen }), 3_600_000);
}
