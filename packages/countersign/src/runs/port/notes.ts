// The port for notes: small records beside the runs, such as tokens, holds and sessions.
import type { Json } from '../../core/json.ts';
import type { Page } from './page.ts';

/** A small record. */
export type Note = {
  readonly key: string;
  readonly value: Json;
  /** Changes with every write, and is never reused by the store. */
  readonly version: number;
  /** When it expires, by the clock of the store; null if never. */
  readonly expiresAt: number | null;
};

/** How a note is written. */
export type PutOptions = {
  /** The version that the note must have; 0 if it must not exist. Any version by default. */
  readonly version?: number;
  /** Null by default, even if the note had one before. */
  readonly expiresAt?: number | null;
};

/**
 * Small records in collections, each under its key. All methods may be called at once from many processes.
 *
 * An expired note does not exist for any of them. Names of collections have up to 128 characters, keys up to 512.
 */
export interface Notes {
  get(collection: string, key: string): Promise<Note | undefined>;
  /** Resolves with true once durable, with false if the note does not have the given version. */
  put(collection: string, key: string, value: Json, options?: PutOptions): Promise<boolean>;
  /** Resolves with false if the note did not exist. */
  remove(collection: string, key: string): Promise<boolean>;
  /** The existing notes, each once, in the requested order. */
  getMany(collection: string, keys: readonly string[]): Promise<readonly Note[]>;
  /** Ordered by the bytes of the keys. `after` is a key; the cursor of a page is its last key. */
  list(collection: string, query: { readonly after?: string; readonly limit: number }): Promise<Page<Note>>;
}
