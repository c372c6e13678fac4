// The hash chain over the events of a run, with one hash for each append: changed events do not match its end.
import { hash } from 'node:crypto';
import { ConflictError } from '../../core/errors.ts';
import { forEachInTurns } from './in-turns.ts';
import type { LoadedRun, RunRecord, StoredEvent } from './store.ts';

/** The end of the chain after `event`, given the end before it. */
export function link(before: string, event: object): string {
  return linkText(before, JSON.stringify(event));
}

function linkText(before: string, event: string): string {
  return shortHash(`${before}\n${event}`);
}

/** 132 bits of SHA-256: short, because every append stores it, and long enough to resist collisions. */
export function shortHash(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 22);
}

/** The end of the chain after these events, which are whole appends. */
export function linkAll(before: string, events: readonly StoredEvent[]): string {
  let end = before;
  for (const append of appendsIn(events)) end = linkText(end, textOf(append));
  return end;
}

/** Events that were appended together. The first of several says how many they are, and the hash covers that. */
export function* appendsIn(events: readonly StoredEvent[]): Generator<readonly StoredEvent[]> {
  for (let from = 0; from < events.length; ) {
    const { appended = 1 } = events[from] as StoredEvent;
    const until = Number.isSafeInteger(appended) && appended > 1 ? from + appended : from + 1;
    yield events.slice(from, until);
    from = until;
  }
}

/** The events as one append, and the end of the chain after it. Caches their JSON, which the store needs next. */
export function linkNew(
  before: string,
  [first, ...rest]: readonly [StoredEvent, ...StoredEvent[]],
): { readonly events: readonly StoredEvent[]; readonly hash: string } {
  const events = rest.length === 0 ? [first] : [{ ...first, appended: rest.length + 1 }, ...rest];
  const text = textOf(events);
  newest = { events, text: rest.length === 0 ? `[${text}]` : text };
  return { events, hash: linkText(before, text) };
}

/** What a hash covers: an event, or the array of several. */
function textOf(append: readonly StoredEvent[]): string {
  return JSON.stringify(append.length === 1 ? append[0] : append);
}

/** The events as one JSON array. */
export function eventsText(events: readonly StoredEvent[]): string {
  return newest?.events === events ? newest.text : JSON.stringify(events);
}

/** Only the last one: a weak map would retain every text until the next full collection. */
let newest: { readonly events: readonly StoredEvent[]; readonly text: string } | undefined;

/** Stands for unreadable events. No release knows this event and no chain matches it, so nothing runs on it. */
export const UNREADABLE: readonly StoredEvent[] = [{ v: 0, type: 'unreadable', at: 0 } as unknown as StoredEvent];

/** Throws if the events were changed after they were recorded. Returns the length of their JSON. */
export async function checkChain(loaded: LoadedRun): Promise<number> {
  const { problem, size } = await inspectChain(loaded);
  if (problem) throw tamperedRun(loaded.run.id, problem);
  return size;
}

/** Says why the record of a run cannot be trusted, if so, and how long the JSON of its events is. */
export async function inspectChain({
  run,
  events,
}: LoadedRun): Promise<{ readonly problem?: string; readonly size: number }> {
  if (events === UNREADABLE) return { problem: CANNOT_BE_READ, size: 0 };
  const { end, size } = await follow(chainStart(run), events);
  if (events.length !== run.version)
    return { problem: `The run has ${events.length} events, and its record says ${run.version}.`, size };
  if (end === run.hash || (await follow(OLD_START, events)).end === run.hash) return { size };
  return { problem: 'An event, or whose run it is, was changed, removed or added after it was recorded.', size };
}

/** The end of the chain over the events, and the length of their JSON. */
async function follow(start: string, events: readonly StoredEvent[]): Promise<{ end: string; size: number }> {
  let [end, size] = [start, 0];
  await forEachInTurns(appendsIn(events), (append) => {
    const text = textOf(append);
    size += text.length;
    end = linkText(end, text);
  });
  return { end, size };
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
