// The hash chain over the events of a run: changed events do not match its end.
import { hash } from 'node:crypto';
import { ConflictError } from '../../core/errors.ts';
import type { LoadedRun, RunRecord, StoredEvent } from './store.ts';

/** The end of the chain after `event`, given the end before it. */
export function link(before: string, event: StoredEvent): string {
  return linkText(before, JSON.stringify(event));
}

function linkText(before: string, event: string): string {
  return shortHash(`${before}\n${event}`);
}

/** 132 bits of SHA-256: short, because every append stores it, and long enough to resist collisions. */
export function shortHash(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 22);
}

export function linkAll(before: string, events: readonly StoredEvent[]): string {
  return events.reduce(link, before);
}

/** As `linkAll`, for new events. Caches their JSON, which the store needs next. */
export function linkNew(before: string, events: readonly StoredEvent[]): string {
  const texts = events.map((event) => JSON.stringify(event));
  newest = { events, text: `[${texts.join(',')}]` };
  return texts.reduce(linkText, before);
}

/** The events as one JSON array. */
export function eventsText(events: readonly StoredEvent[]): string {
  return newest?.events === events ? newest.text : JSON.stringify(events);
}

/** Only the last one: a weak map would retain every text until the next full collection. */
let newest: { readonly events: readonly StoredEvent[]; readonly text: string } | undefined;

/** Stands for unreadable events. No release knows this event and no chain matches it, so nothing runs on it. */
export const UNREADABLE: readonly StoredEvent[] = [{ v: 0, type: 'unreadable', at: 0 } as unknown as StoredEvent];

/** Says why the record of a run cannot be trusted; undefined if it can. */
export function brokenChain(loaded: LoadedRun): string | undefined {
  return inspectChain(loaded).problem;
}

/** Throws if the events were changed after they were recorded. Returns the length of their JSON. */
export function checkChain(loaded: LoadedRun): number {
  const { problem, size } = inspectChain(loaded);
  if (problem) throw tamperedRun(loaded.run.id, problem);
  return size;
}

function inspectChain({ run, events }: LoadedRun): { readonly problem?: string; readonly size: number } {
  if (events === UNREADABLE) return { problem: CANNOT_BE_READ, size: 0 };
  let end = chainStart(run);
  let size = 0;
  for (const event of events) {
    const text = JSON.stringify(event);
    size += text.length;
    end = linkText(end, text);
  }
  if (events.length !== run.version)
    return { problem: `The run has ${events.length} events, and its record says ${run.version}.`, size };
  if (end === run.hash || linkAll(OLD_START, events) === run.hash) return { size };
  return { problem: 'An event, or whose run it is, was changed, removed or added after it was recorded.', size };
}

export const CANNOT_BE_READ =
  'Its events or its outcome cannot be read, or the rows of its events do not follow upon each other.';

export function tamperedRun(runId: string, problem: string): ConflictError {
  return new ConflictError('tampered-run', { runId }, `The record of run ${runId} does not verify. ${problem}`);
}

/** The start of the chain: covers the fields beside the events that decide how the run continues. */
export function chainStart({ id, agent, startedBy }: Pick<RunRecord, 'id' | 'agent' | 'startedBy'>): string {
  // As it comes back from stores that keep well-formed text only.
  return shortHash(JSON.stringify([id, agent, startedBy?.toWellFormed() ?? null]));
}

/** The start of chains that the first versions wrote. */
const OLD_START = '';
