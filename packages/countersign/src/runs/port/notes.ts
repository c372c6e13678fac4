// The port for notes: small records that a server keeps beside the runs, such as tokens, claims of cards and sessions.
import type { Json } from '../../core/json.ts';
import type { Page } from './page.ts';

/** A small record. */
export type Note = {
  readonly key: string;
  readonly value: Json;
  /** Another one with every write, and never one that the store has given to a note before. */
  readonly version: number;
  /** When it ceases to be there, by the clock of the store; null if it stays. */
  readonly expiresAt: number | null;
};

/** How a note is written. */
export type PutOptions = {
  /** The version that the note must have; 0: there must be none, or it has expired. Any unless given. */
  readonly version?: number;
  /** Null unless given, also if the note had one before. */
  readonly expiresAt?: number | null;
};

/**
 * Small records in collections, each under its key. All methods may be called at once from many processes.
 *
 * A note that has expired is not there for any of them. Names of collections have up to 128 characters, keys up to 512.
 */
export interface Notes {
  get(collection: string, key: string): Promise<Note | undefined>;
  /** Resolves with true once it is durable, with false if the note is not at the version that was given. */
  put(collection: string, key: string, value: Json, options?: PutOptions): Promise<boolean>;
  /** False if there was none. */
  remove(collection: string, key: string): Promise<boolean>;
  /** Those that are there, each once, in the order in which they were asked for. */
  getMany(collection: string, keys: readonly string[]): Promise<readonly Note[]>;
  /** In the order of the keys, byte by byte. `after` is a key; the cursor of a page is the last one on it. */
  list(collection: string, query: { readonly after?: string; readonly limit: number }): Promise<Page<Note>>;
}
