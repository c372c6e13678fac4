// All that is on record of a run, as one digest: who knows it writes without reading first, and the store compares.
import { hash } from 'node:crypto';
import type { RunRecord } from './store.ts';

/** What of the record is acted on; `outcome` as JSON. */
export type DigestedRun = Pick<RunRecord, 'hash' | 'status' | 'agent' | 'startedBy'> & { readonly outcome: string };

/**
 * The SHA-256, in hex, of a text: the end of the hash chain, the status, the outcome as JSON, the agent as a JSON text, who
 * started the run as a JSON text or `null`, and then for each append the JSON list of its events, all on lines of their own.
 * None of them has a line end in it, so that no other record has the same text. `lists` are the last of these lines.
 */
export function recordDigest(lists: string, { hash: end, status, outcome, agent, startedBy }: DigestedRun): string {
  return hash('sha256', [end, status, outcome, JSON.stringify(agent), JSON.stringify(startedBy), lists].join('\n'));
}
