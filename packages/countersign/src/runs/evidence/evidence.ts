// The evidence of a run: one document with its events, their chain, the cards as people saw them, and the decisions.
import { hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { Json } from '../../core/json.ts';
import { GrantRecords } from '../grants/records.ts';
import { CANNOT_BE_READ, tamperedRun, UNREADABLE } from '../port/chain.ts';
import type { LoadedRun, RequestRecord, RunRecord, Store, StoredEvent } from '../port/store.ts';
import type { EvidenceGrant } from './grant-uses.ts';
import { type ReplayedRequest, replay, type StartedCall } from './replay.ts';

/** The format that this release writes and reads. */
export const EVIDENCE_FORMAT = 'countersign-evidence/1';

/** A request of the run, as its events tell it, and its row in the store. */
export type EvidenceRequest = ReplayedRequest & {
  /** The card that people saw; null if the request was settled at once, before it was shown. */
  readonly shown: Pick<RequestRecord, 'card' | 'digest' | 'createdAt' | 'settledAt' | 'settlement'> | null;
};

/** Everything that `verifyEvidence` needs to check a run without its store. Write it to a file with `evidenceText`. */
export type Evidence = {
  readonly format: typeof EVIDENCE_FORMAT;
  /** The record of the run. `hash` is the end of the chain over its events; its status and times follow from them. */
  readonly run: RunRecord;
  readonly events: readonly StoredEvent[];
  readonly requests: readonly EvidenceRequest[];
  /** The calls that started, in order, and what let each of them run. */
  readonly started: readonly StartedCall[];
  /** The records of the grants under which calls of the run ran without a request. */
  readonly grants: readonly EvidenceGrant[];
  /** The SHA-256 of everything above. Keep it in another place to find out later whether the document was rewritten. */
  readonly hash: string;
};

/** Collects the evidence of a run. Throws `tampered-run` or `tampered-grant` if a record cannot be read. */
export async function collectEvidence(store: Store, { run, events }: LoadedRun): Promise<Evidence> {
  if (events === UNREADABLE) throw tamperedRun(run.id, CANNOT_BE_READ);
  // Each part takes long for a large run, and a store that answers synchronously ends no turn.
  await setImmediate();
  const { requests, granted, started, status } = replay(run, events);
  const records = new GrantRecords(store.notes);
  const grants: EvidenceGrant[] = [];
  for (const id of new Set(granted.map(({ grantId }) => grantId))) {
    const { events: made, hash } = await records.read(id);
    grants.push({ id, events: made, hash });
  }
  const shown = await Promise.all(
    requests.map(async (question) => shownOf(question, await store.request(question.id))),
  );
  await setImmediate();
  const content = {
    format: EVIDENCE_FORMAT,
    run: { ...run, status, ...timesOf(events) },
    events,
    requests: requests.map((question, index) => ({ ...question, shown: shown[index] ?? null })),
    started,
    grants,
  } as const;
  return { ...content, hash: contentHash(content) };
}

/** When the run was made, and when it last changed. */
export function timesOf(events: readonly StoredEvent[]): Pick<RunRecord, 'createdAt' | 'updatedAt'> {
  return { createdAt: events[0]?.at ?? 0, updatedAt: events.at(-1)?.at ?? 0 };
}

/** What the row says now may be newer than the events: it counts only if the events have settled the request too. */
function shownOf({ settled }: ReplayedRequest, row: RequestRecord | undefined): EvidenceRequest['shown'] {
  if (!row) return null;
  const { card, digest, createdAt } = row;
  const { settledAt, settlement } = settled ? row : { settledAt: null, settlement: null };
  return { card, digest, createdAt, settledAt, settlement };
}

/** The evidence as the text of a file. Each byte counts: `verifyEvidence` accepts this text and no other form of it. */
export function evidenceText(evidence: Evidence): string {
  return textOf(evidence);
}

/** The hash of a document without its `hash`. */
export function contentHash(content: object): string {
  return `sha256-${hash('sha256', textOf(content), 'hex')}`;
}

export const textOf = (value: object): string => `${JSON.stringify(value as Json, null, 1)}\n`;
