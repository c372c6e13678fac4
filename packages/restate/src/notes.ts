// Notes on Restate: one object each. Several at once, and lists, come from the copy in the lists.
import { ProviderError } from 'countersign';
import type { NewNote, Note, NoteRow, NoteRows, Store } from 'countersign/store';
import type { StoreClock } from './clock.ts';
import type { Ingress } from './ingress.ts';
import { type KeptNote, noteKey, noteName, type PutRequest } from './wire.ts';

export class RestateNotes implements NoteRows {
  readonly #nodes: Ingress;
  readonly #service: string;
  readonly #lists: Store;
  readonly #clock: StoreClock;

  constructor(nodes: Ingress, name: string, lists: Store, clock: StoreClock) {
    this.#nodes = nodes;
    this.#service = noteName(name);
    this.#lists = lists;
    this.#clock = clock;
  }

  async get(collection: string, keys: readonly string[]): Promise<readonly NoteRow[]> {
    const [key, ...others] = keys;
    if (key === undefined) return [];
    if (others.length > 0) return (await this.#lists.notes.getMany(collection, keys)).map(rowOf);
    const call = { service: this.#service, key: noteKey(collection, key), handler: 'get', changes: false };
    const note: KeptNote | null = JSON.parse(await this.#nodes.call(call));
    return note === null ? [] : [{ key, value: note.value, version: note.version, expires_at: note.expiresAt }];
  }

  async put(collection: string, key: string, note: NewNote): Promise<boolean> {
    const body: PutRequest = { ...note, notAfter: await this.#clock.notAfter() };
    const written: boolean | null = JSON.parse(await this.#change(collection, key, 'put', body));
    if (written !== null) return written;
    const message = `Restate reached the note ${key} of ${collection} too late, and did not write it. Try again.`;
    throw new ProviderError('store-failed', { collection, key }, message, { retryable: true });
  }

  async remove(collection: string, key: string): Promise<boolean> {
    return JSON.parse(await this.#change(collection, key, 'remove'));
  }

  async list(collection: string, after: string, limit: number): Promise<readonly NoteRow[]> {
    const { items } = await this.#lists.notes.list(collection, { ...(after !== '' && { after }), limit });
    return items.map(rowOf);
  }

  /** Nothing to do: the object of a note clears itself. */
  async sweep(): Promise<void> {}

  #change(collection: string, key: string, handler: string, body?: PutRequest): Promise<string> {
    const call = { service: this.#service, key: noteKey(collection, key), handler, changes: true };
    return this.#nodes.call(body === undefined ? call : { ...call, body });
  }
}

/** The lists have their own versions, so that of the object is in the value. */
function rowOf({ key, value, expiresAt }: Note): NoteRow {
  const [text, version] = value as readonly [string, number];
  return { key, value: text, version, expires_at: expiresAt };
}
