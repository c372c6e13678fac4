// What all stores check of a note before they touch it, and how it is kept: the value as JSON text.
import { UsageError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import type { Note, PutOptions } from '../../runs/port/notes.ts';
import { mapValid } from '../../runs/port/skip-invalid.ts';
import type { Page } from '../../runs/port/store.ts';
import { jsonIn, readable } from '../sql/rows.ts';

/** A note as SQL stores keep it. */
export type NoteRow = {
  readonly key: string;
  readonly value: string;
  readonly version: number;
  readonly expires_at: number | null;
};

/** A note that is to be written. `version` is null when any will do. */
export type EncodedNote = {
  readonly value: string;
  readonly version: number | null;
  readonly expiresAt: number | null;
};

/** How often a process removes what has expired, while it writes notes. */
export const SWEEP_EVERY_MS = 60_000;
/** How many are removed at once, so that nobody waits long. */
export const SWEEP_MOST = 1_000;

export function encodeNote(value: Json, { version, expiresAt = null }: PutOptions = {}): EncodedNote {
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) throw new UsageError('not-json', {}, 'The value of a note is not JSON. Pass null for none.');
  if (version !== undefined && (!Number.isSafeInteger(version) || version < 0)) {
    throw new UsageError('invalid-options', { version }, `The version of a note is a whole number, not ${version}.`);
  }
  if (expiresAt !== null && !Number.isFinite(expiresAt)) {
    throw new UsageError('invalid-options', { expiresAt }, `A note expires at a time or never, not at ${expiresAt}.`);
  }
  return { value: text, version: version ?? null, expiresAt: expiresAt === null ? null : Math.ceil(expiresAt) };
}

/** Throws if its value cannot be read. */
export function noteOf({ key, value, version, expires_at }: NoteRow): Note {
  return { key, value: readable('note', key, 'value', jsonIn(value)), version, expiresAt: expires_at };
}

export function checkCollection(collection: string): void {
  checkName('collection', collection, 128);
}

export function checkKey(key: string): void {
  checkName('key', key, 512);
}

/** In the order in which they were asked for. What cannot be read is left out. */
export function inOrder(keys: readonly string[], rows: readonly NoteRow[]): readonly Note[] {
  const byKey = new Map(rows.map((row) => [row.key, row]));
  const found = [...new Set(keys)].flatMap((key) => byKey.get(key) ?? []);
  return mapValid(found, noteOf);
}

/** `rows` holds one more than `limit` when there is a page after this one. What cannot be read is left out. */
export function pageOfNotes(rows: readonly NoteRow[], limit: number): Page<Note> {
  const onPage = rows.slice(0, limit);
  return { items: mapValid(onPage, noteOf), cursor: rows.length > limit ? (onPage.at(-1)?.key ?? null) : null };
}

/** Not every database keeps a zero character, or half of a surrogate pair. */
function checkName(what: string, name: string, most: number): void {
  const fits = typeof name === 'string' && name.length > 0 && name.length <= most;
  if (fits && name.isWellFormed() && !name.includes('\0')) return;
  const given = typeof name === 'string' ? JSON.stringify(name.slice(0, 40)) : typeof name;
  throw new UsageError(
    'invalid-options',
    { [what]: given },
    `The ${what} of a note is a text of 1 to ${most} characters without a zero character, not ${given}.`,
  );
}
