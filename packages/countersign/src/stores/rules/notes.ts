// Notes on top of the rows that each store keeps: checked before they are written, with the value as JSON text.
import { UsageError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import type { Note, Notes, PutOptions } from '../../runs/port/notes.ts';
import { mapValid } from '../../runs/port/skip-invalid.ts';
import { readLimit } from './page.ts';
import { readRow } from './read-row.ts';
import { isStorable } from './refusals.ts';

/** A note as the stores keep it. */
export type NoteRow = {
  readonly key: string;
  readonly value: string;
  readonly version: number;
  readonly expires_at: number | null;
};

/** A note to be written. `version` is null if any version may be overwritten. */
export type NewNote = {
  readonly value: string;
  readonly version: number | null;
  readonly expiresAt: number | null;
};

/** The rows of a store, without those that have expired. */
export type NoteRows = {
  /** In any order. */
  get(collection: string, keys: readonly string[]): Promise<readonly NoteRow[]>;
  /** False if the note does not have the version. */
  put(collection: string, key: string, note: NewNote): Promise<boolean>;
  remove(collection: string, key: string): Promise<boolean>;
  /** Rows with keys after `after`, in the byte order of the keys. */
  list(collection: string, after: string, limit: number): Promise<readonly NoteRow[]>;
  /** Removes expired notes, at most `limit`, so that a write does not wait long. */
  sweep(limit: number): Promise<void>;
};

/** How often a process that writes notes removes expired ones. */
const SWEEP_EVERY_MS = 60_000;
const SWEEP_MOST = 1_000;

/** Notes on top of rows: checks every call, and removes expired rows now and then. */
export function createNotes(rows: NoteRows): Notes {
  let sweepAt = 0;
  return {
    async get(collection, key) {
      checkNames(collection, key);
      const [row] = await rows.get(collection, [key]);
      return row === undefined ? undefined : noteOf(row);
    },
    async put(collection, key, value, options) {
      checkNames(collection, key);
      const note = encode(value, options);
      if (performance.now() >= sweepAt) {
        sweepAt = performance.now() + SWEEP_EVERY_MS;
        await rows.sweep(SWEEP_MOST);
      }
      return rows.put(collection, key, note);
    },
    async remove(collection, key) {
      checkNames(collection, key);
      return rows.remove(collection, key);
    },
    async getMany(collection, keys) {
      checkNames(collection, ...keys);
      if (keys.length === 0) return [];
      const byKey = new Map((await rows.get(collection, keys)).map((row) => [row.key, row]));
      const found = [...new Set(keys)].flatMap((key) => byKey.get(key) ?? []);
      return mapValid(found, noteOf);
    },
    async list(collection, { after = '', limit }) {
      checkNames(collection);
      const found = await rows.list(collection, after, readLimit(limit) + 1);
      const onPage = found.slice(0, limit);
      return { items: mapValid(onPage, noteOf), cursor: found.length > limit ? (onPage.at(-1)?.key ?? null) : null };
    },
  };
}

function encode(value: Json, { version, expiresAt = null }: PutOptions = {}): NewNote {
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) throw new UsageError('not-json', {}, 'The value of a note is not JSON. Pass null for none.');
  if (version !== undefined && (!Number.isSafeInteger(version) || version < 0))
    throw mistake('version', `The version of a note must be a whole number, not ${version}.`);
  if (expiresAt !== null && !Number.isFinite(expiresAt))
    throw mistake('expiresAt', `\`expiresAt\` of a note must be a time or null, not ${expiresAt}.`);
  return { value: text, version: version ?? null, expiresAt: expiresAt === null ? null : Math.ceil(expiresAt) };
}

function noteOf({ key, value, version, expires_at }: NoteRow): Note {
  return readRow('note', key, () => ({ key, value: JSON.parse(value), version, expiresAt: expires_at }));
}

function checkNames(collection: string, ...keys: readonly string[]): void {
  checkName('collection', collection, 128);
  for (const key of keys) checkName('key', key, 512);
}

function checkName(field: string, name: string, longest: number): void {
  if (typeof name === 'string' && name.length > 0 && name.length <= longest && isStorable(name)) return;
  const shown = typeof name === 'string' ? JSON.stringify(name.slice(0, 40)) : typeof name;
  const message = `The ${field} of a note must be a string of 1 to ${longest} characters without a zero character, not ${shown}.`;
  throw mistake(field, message);
}

function mistake(field: string, message: string): UsageError {
  return new UsageError('invalid-options', { field }, message);
}
