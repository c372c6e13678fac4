// The hash chain over a run's events: a past that was changed does not fit its end.
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

/** 132 bits of SHA-256: it is written with every append, and nobody finds a second text for it. */
export function shortHash(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 22);
}

export function linkAll(before: string, events: readonly StoredEvent[]): string {
  return events.reduce(link, before);
}

/** As `linkAll`, for events that are about to be written: their text is kept for the store, which needs it next. */
export function linkNew(before: string, events: readonly StoredEvent[]): string {
  const texts = events.map((event) => JSON.stringify(event));
  newest = { events, text: `[${texts.join(',')}]` };
  return texts.reduce(linkText, before);
}

/** The events as one JSON array. */
export function eventsText(events: readonly StoredEvent[]): string {
  return newest?.events === events ? newest.text : JSON.stringify(events);
}

/** Only the last: a weak map would keep every text alive until the next full collection. */
let newest: { readonly events: readonly StoredEvent[]; readonly text: string } | undefined;

/** Stands for events that cannot be read. No release knows it and no chain fits it, so nothing is done on such a run. */
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
  return new ConflictError('tampered-run', { runId }, `Run ${runId} is not what was recorded. ${problem}`);
}

/** Where the chain of a run begins: with what is kept beside its events and says how they are gone on from. */
export function chainStart({ id, agent, startedBy }: Pick<RunRecord, 'id' | 'agent' | 'startedBy'>): string {
  // As stores give it back that keep well-formed text only.
  return shortHash(JSON.stringify([id, agent, startedBy?.toWellFormed() ?? null]));
}

/** Where the chains of the first runs begin. */
const OLD_START = '';
