// All that is on record of a run, as one digest: who knows it writes without reading first, and the store compares.
import { hash } from 'node:crypto';
import type { RunRecord } from './store.ts';

/** What of the record is acted on; `outcome` as JSON. */
export type DigestedRun = Pick<RunRecord, 'hash' | 'status' | 'agent' | 'startedBy'> & { readonly outcome: string };

/**
 * The SHA-256, in hex, of a text of six lines: the JSON of each event with commas between them, the end of the hash
 * chain, the status, the outcome as JSON, and as JSON texts the agent and who started it, or `null`. None of them has a line
 * end of its own, so a text with others does not pass for it.
 */
export function recordDigest(events: string, { hash: end, status, outcome, agent, startedBy }: DigestedRun): string {
  return hash('sha256', [events, end, status, outcome, JSON.stringify(agent), JSON.stringify(startedBy)].join('\n'));
}
