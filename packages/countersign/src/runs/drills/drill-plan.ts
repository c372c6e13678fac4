// When a drill comes, and which: computed from the seed and the time of the store, so that all workers agree.
import { hash } from 'node:crypto';
import type { DrillRequest, DrillsOptions } from './drill-options.ts';

/** There is at most one drill in each hour. */
export const HOUR_MS = 3_600_000;
const BITS_32 = 2 ** 32;

/** A drill that is due. Its run id is the same for every worker, so that only one of them starts it. */
export type PlannedDrill = { readonly runId: string; readonly at: number; readonly request: DrillRequest };

/** The drill of this hour, if it has one and its time has come. */
export function dueDrill({ seed, perDay, requests }: DrillsOptions, now: number): PlannedDrill | undefined {
  const hour = Math.floor(now / HOUR_MS);
  const bytes = Buffer.from(hash('sha256', JSON.stringify([seed, hour]), 'hex'), 'hex');
  const share = (offset: number): number => bytes.readUInt32BE(offset) / BITS_32;
  const request = requests[Math.floor(share(8) * requests.length)];
  const at = hour * HOUR_MS + Math.floor(share(4) * HOUR_MS);
  if (!request || share(0) >= perDay / 24 || at > now) return undefined;
  // As long as other run ids.
  return { runId: `run_${bytes.toString('base64url', 12, 27)}`, at, request };
}
