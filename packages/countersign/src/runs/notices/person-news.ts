// News for one person that is not about a request: someone named a delegate for them. Kept until each channel has told it.
//
// The note of the news says which channel has told it. A channel claims it for a while before it tells, so that usually one
// process does, and another tries again after a failure or a crash.
import { randomUUID } from 'node:crypto';
import { isObject, type Json } from '../../core/json.ts';
import type { Note, Notes } from '../port/notes.ts';
import type { Channel, Contact, PersonNews } from './channel.ts';

type Kept = Omit<PersonNews, 'key' | 'contact'> & {
  /** By channel: until when a process is telling it; null once it was told. */
  readonly told?: { readonly [channel: string]: number | null };
};

export type InformingOptions = {
  readonly notes: Notes;
  readonly channels: readonly Channel[];
  readonly people: { readonly contactOf?: (person: string) => Contact | undefined | Promise<Contact | undefined> };
  readonly now: () => number;
  readonly isStopping: () => boolean;
  readonly onError: (error: unknown) => void;
};

const COLLECTION = 'person-news';
const KEPT_MS = 7 * 24 * 3_600_000;
/** How long a channel has, and when it is tried again. */
const CLAIM_MS = 60_000;
const TIMEOUT_MS = 10_000;
const PAGE = 100;
const ATTEMPTS = 5;

/** Keeps the news until workers have told it. */
export async function putNews(notes: Notes, news: Kept): Promise<void> {
  await notes.put(COLLECTION, randomUUID(), news as unknown as Json, { expiresAt: news.at + KEPT_MS });
}

/** Tells the news that these channels have not told yet. */
export async function tellNews(options: InformingOptions): Promise<void> {
  const telling = options.channels.filter(({ inform }) => inform);
  if (telling.length === 0) return;
  for (let after: string | null | undefined; after !== null; ) {
    const page = await options.notes.list(COLLECTION, { limit: PAGE, ...(after !== undefined && { after }) });
    for (const note of page.items)
      for (const channel of telling) if (!options.isStopping()) await tell(channel, note, options);
    after = page.cursor;
  }
}

async function tell(channel: Channel, { key, value }: Note, options: InformingOptions): Promise<void> {
  const { notes, people, now, onError } = options;
  const { told = {}, ...news } = value as unknown as Kept;
  const claimed = told[channel.name];
  if (claimed === null || (claimed !== undefined && claimed > now())) return;
  if (!(await mark(notes, key, channel.name, claimed, now() + CLAIM_MS))) return;
  try {
    const contact = (await people.contactOf?.(news.person)) ?? {};
    await channel.inform?.({ ...news, key, contact }, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    await mark(notes, key, channel.name, undefined, null);
  } catch (error) {
    onError(error);
  }
}

/** Changes what the note says about one channel; the others may change theirs meanwhile. False if `expected` is outdated. */
async function mark(
  notes: Notes,
  key: string,
  channel: string,
  expected: number | undefined,
  next: number | null,
): Promise<boolean> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const note = await notes.get(COLLECTION, key);
    if (!note || !isObject(note.value)) return false;
    const kept = note.value as unknown as Kept;
    if (next !== null && kept.told?.[channel] !== expected) return false;
    const changed = { ...kept, told: { ...kept.told, [channel]: next } } as unknown as Json;
    if (await notes.put(COLLECTION, key, changed, { version: note.version, expiresAt: kept.at + KEPT_MS })) return true;
  }
  return false;
}
