// Entries: the notices about a request that a channel has delivered, to all or to one person. One process at a time works on an entry.
import { isObject, type Json } from '../../core/json.ts';
import type { RequestNotice } from '../../core/request/notice.ts';
import type { Notes } from '../port/notes.ts';
import type { Reason } from './channel.ts';
import { keyPart } from './key-part.ts';

/** A recipient, and the reason. */
export type Told = {
  readonly person: string;
  /** The notice. */
  readonly key: string;
  readonly why: Reason;
  readonly onBehalfOf?: string;
};

export type Entry = {
  readonly requestId: string;
  /** Null for the request as a whole. */
  readonly person: string | null;
  /** The notices that were delivered or are no longer needed. */
  readonly delivered: readonly { readonly key: string; readonly at: number }[];
  /** A notice was sent, or may have been before a process died: then people learn here that the request is over. */
  readonly sent?: true;
  /** What the channel returned for the last notice. */
  readonly receipt?: Json;
  /** How often the next notice failed. */
  readonly attempts: number;
  readonly lastError?: string;
  /** After a failure: a hint for this time exists, so that earlier hints need not be looked at. */
  readonly nextAt?: number;
  /** A process works on it until then. */
  readonly lease?: { readonly until: number; readonly token: string };
  /** The notices that were given up. A notice that is not among them is tried again. */
  readonly dead?: readonly string[];
  /** The last notice is delivered once more, because someone asked for it. */
  readonly again?: true;
  /** The recipients on a channel for each person; only in the entry of the request as a whole. */
  readonly recipients?: readonly Told[];
  /** The hints of the recipients are being put. If a process dies meanwhile, the next one puts those of all recipients. */
  readonly hinting?: true;
};

/** An entry as read; `version` is 0 if it does not exist yet. */
export type Kept = { readonly entry: Entry; readonly version: number };

export const entryKey = (requestId: string, person: string | null): string =>
  `${keyPart(requestId)}|${keyPart(person ?? '')}`;

/** How long the entry of a request that is over is kept. */
export const KEPT_MS = 30 * 24 * 3_600_000;

export class Entries {
  readonly #notes: Notes;
  readonly #collection: string;
  readonly #newToken: () => string;

  constructor(notes: Notes, channel: string, newToken: () => string) {
    this.#notes = notes;
    this.#collection = `deliveries-${channel}`;
    this.#newToken = newToken;
  }

  async find(requestId: string, person: string | null): Promise<Kept> {
    const note = await this.#notes.get(this.#collection, entryKey(requestId, person));
    if (!note || !isObject(note.value)) return { entry: { requestId, person, delivered: [], attempts: 0 }, version: 0 };
    return { entry: note.value as unknown as Entry, version: note.version };
  }

  /** Takes the lease. Undefined if another process has it, or changed the entry since it was read. */
  async hold({ entry, version }: Kept, now: number, leaseMs: number): Promise<Kept | undefined> {
    if (entry.lease && entry.lease.until > now) return undefined;
    // A process that held the lease and did not release it has died. That is not a failure of the channel, but the notice may be sent.
    const died = entry.lease && ({ sent: true } as const);
    const lease = { until: now + leaseMs, token: this.#newToken() };
    return this.write({ entry, version }, { ...entry, ...died, lease });
  }

  /** Writes the entry with its lease, which may become longer. Undefined if someone else changed it since it was read. */
  async write({ version }: Kept, entry: Entry, leaseUntil?: number): Promise<Kept | undefined> {
    const { lease } = entry;
    const longer = lease && leaseUntil !== undefined ? { lease: { ...lease, until: leaseUntil } } : {};
    if (!(await this.#put({ ...entry, ...longer }, version, null))) return undefined;
    const written = await this.find(entry.requestId, entry.person);
    return written.entry.lease?.token === lease?.token ? written : undefined;
  }

  /** Writes the entry without its lease. Returns false if someone else changed it since it was read. */
  release({ version }: Kept, entry: Entry, expiresAt: number | null = null): Promise<boolean> {
    const { lease: _lease, ...rest } = entry;
    return this.#put(rest, version, expiresAt);
  }

  /** Changes an entry that another process may work on. */
  async change(requestId: string, person: string | null, changed: (entry: Entry) => Entry): Promise<void> {
    for (;;) {
      const { entry, version } = await this.find(requestId, person);
      if (await this.#put(changed(entry), version, null)) return;
    }
  }

  async remove(requestId: string, person: string | null): Promise<void> {
    await this.#notes.remove(this.#collection, entryKey(requestId, person));
  }

  #put(entry: Entry, version: number, expiresAt: number | null): Promise<boolean> {
    const key = entryKey(entry.requestId, entry.person);
    return this.#notes.put(this.#collection, key, entry as unknown as Json, { version, expiresAt });
  }
}

/** The entry after a notice was delivered. */
export function afterSending(before: Entry, { key }: RequestNotice, receipt: Json | undefined, at: number): Entry {
  const { lastError: _error, nextAt: _nextAt, dead: _dead, again: _again, ...entry } = before;
  const delivered = [...before.delivered.filter((other) => other.key !== key), { key, at }];
  return { ...entry, delivered, sent: true, attempts: 0, ...(receipt !== undefined && { receipt }) };
}
