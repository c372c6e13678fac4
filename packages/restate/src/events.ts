// The events of a run in the state of its object: 64 to a key, so that an append costs the same in a long run. A large event
// has its own key, so that appends after it do not write it again.
import type { ObjectContext, ObjectSharedContext } from '@restatedev/restate-sdk';
import { FULL_PAGE_SIZE } from 'countersign/store';
import { lines } from './wire.ts';

const CHUNK_EVENTS = 64;
/** Longer events have their own keys. */
const LARGE_EVENT = 8_192;
/** The most chunks that one read asks for at once. */
const MOST_CHUNKS = 16;

/** Stands in its chunk for a large event: no JSON begins with it. The length follows. */
const ELSEWHERE = '@';

const chunkKey = (index: number): string => `events-${index}`;
const eventKey = (index: number): string => `event-${index}`;

/** The chunk that the next event goes to; empty if it begins a new one. */
export async function readTail(ctx: ObjectContext, version: number): Promise<string> {
  if (version % CHUNK_EVENTS === 0) return '';
  return (await ctx.get<string>(chunkKey(Math.floor(version / CHUNK_EVENTS)), lines)) ?? '';
}

/** `tail` is the chunk that the run of this version ends with. */
export function addEvents(ctx: ObjectContext, version: number, tail: string, events: readonly string[]): void {
  let chunk = tail === '' ? [] : [tail];
  for (const [added, event] of events.entries()) {
    const index = version + added;
    const isLarge = event.length > LARGE_EVENT;
    if (isLarge) ctx.set(eventKey(index), event, lines);
    chunk.push(isLarge ? `${ELSEWHERE}${event.length}` : event);
    const isFull = (index + 1) % CHUNK_EVENTS === 0;
    if (!isFull && added < events.length - 1) continue;
    ctx.set(chunkKey(Math.floor(index / CHUNK_EVENTS)), chunk.join('\n'), lines);
    chunk = [];
  }
}

/**
 * A page of events: those after the first `after`, at most `limit`, and no more once it is full. It is torn if some of the
 * events are gone.
 */
export async function readEvents(
  ctx: ObjectSharedContext,
  version: number,
  after: number,
  limit: number,
): Promise<{ readonly events: readonly string[]; readonly isTorn: boolean }> {
  const end = Math.min(version, after + limit);
  const events: string[] = [];
  let size = 0;
  // Most runs fit into the first chunk, so longer and longer ranges are asked for.
  for (let count = 1; after + events.length < end && size < FULL_PAGE_SIZE; count = Math.min(2 * count, MOST_CHUNKS)) {
    const next = after + events.length;
    const first = Math.floor(next / CHUNK_EVENTS);
    const last = Math.min(first + count - 1, Math.floor((end - 1) / CHUNK_EVENTS));
    const chunks = await getAll(ctx, range(first, last).map(chunkKey));
    if (chunks.includes(null)) return { events, isTorn: true };
    const texts = chunks.flatMap((chunk) => chunk?.split('\n') ?? []);
    const page: string[] = [];
    for (const text of texts.slice(next - first * CHUNK_EVENTS, end - first * CHUNK_EVENTS)) {
      if (size >= FULL_PAGE_SIZE) break;
      page.push(text);
      size += text.startsWith(ELSEWHERE) ? Number(text.slice(ELSEWHERE.length)) : text.length;
    }
    const large = page.flatMap((text, index) => (text.startsWith(ELSEWHERE) ? [index] : []));
    const largeTexts = await getAll(
      ctx,
      large.map((index) => eventKey(next + index)),
    );
    if (largeTexts.includes(null) || page.length === 0) return { events, isTorn: true };
    for (const [place, index] of large.entries()) page[index] = largeTexts[place] ?? '';
    for (const text of page) events.push(text);
  }
  return { events, isTorn: false };
}

/** All are asked for before the first answer is awaited. */
async function getAll(ctx: ObjectSharedContext, keys: readonly string[]): Promise<readonly (string | null)[]> {
  const asked = keys.map((key) => ctx.get<string>(key, lines));
  const texts: (string | null)[] = [];
  for (const text of asked) texts.push(await text);
  return texts;
}

function range(first: number, last: number): readonly number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}
