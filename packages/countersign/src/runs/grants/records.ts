// The records of grants, as notes of the store: one note per grant with its events and their hash chain, and an index of open ones.

import {
  foldGrant,
  type Grant,
  type GrantEvent,
  type GrantState,
  withoutUses,
} from '../../core/authority/grants/grant.ts';
import { ConflictError, UsageError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json.ts';
import { link, shortHash } from '../port/chain.ts';
import type { Note, Notes } from '../port/notes.ts';
import type { Page } from '../port/page.ts';
import { mapValid } from '../port/skip-invalid.ts';

const GRANTS = 'grants';

/** Only a hint, for looking up the grants of a tool: a key is `<tool>/<grant>`. The note of the grant decides. */
const OPEN = 'grants-open';

/** How many grants of a tool are read at once. */
const PAGE = 100;

/** How long a process believes that a store has open grants, or none. */
const BELIEVED_MS = 250;

/** A look whether any grant is open. `isAny` is known once it was answered. */
type Look = { readonly at: number; readonly answer: Promise<boolean>; isAny?: boolean };

/** The last look into each store: while no grant is open, the calls of a busy process share it. */
const LOOKS = new WeakMap<Notes, Look>();

/** A loaded grant. `version` is that of its note. */
export type GrantRecord = {
  readonly events: readonly GrantEvent[];
  readonly hash: string;
  readonly state: GrantState;
  readonly version: number;
};

/** What a change adds to the record; nothing if it is undefined. */
type Change = (state: GrantState) => GrantEvent | undefined;

export class GrantRecords {
  readonly #notes: Notes;

  constructor(notes: Notes) {
    this.#notes = notes;
  }

  /** Records a new grant. Returns false if one with this id exists. */
  async make(grant: Grant, at: number): Promise<boolean> {
    const { id, tool, expiresAt } = grant;
    // First, because calls look here: an entry without a grant is skipped, a grant without an entry would not be found.
    await this.#notes.put(OPEN, openKey(tool, id), null, { expiresAt });
    LOOKS.delete(this.#notes);
    const made: GrantEvent = { type: 'made', at, grant };
    return this.#put(id, [made], link(chainStart(id), made), 0);
  }

  /** Throws `unknown-grant`, or `tampered-grant` if its chain does not match. */
  async read(id: string): Promise<GrantRecord> {
    const record = await this.find(id);
    if (record) return record;
    throw new UsageError('unknown-grant', { grantId: id }, `Grant ${id} not found in the store. Check the id.`);
  }

  async find(id: string): Promise<GrantRecord | undefined> {
    const note = await this.#notes.get(GRANTS, id);
    return note && grantRecordOf(note);
  }

  /** Ordered by their ids, newest first. A record that was changed is skipped, with a process warning. */
  async list(limit: number, after: string | undefined): Promise<Page<GrantRecord>> {
    const page = await this.#notes.list(GRANTS, { limit, ...(after !== undefined && { after }) });
    return { ...page, items: mapValid(page.items, grantRecordOf) };
  }

  /**
   * Whether any grant is open: as this process knows it, or as the store says. One that another process gave may be missed
   * for `BELIEVED_MS`, but none that was given before the moment `since` of the steady clock.
   */
  isAnyOpen(since: number): boolean | Promise<boolean> {
    const now = performance.now();
    const known = LOOKS.get(this.#notes);
    if (known && known.at >= since && now - known.at < BELIEVED_MS) return known.isAny ?? known.answer;
    const answer = this.#notes.list(OPEN, { limit: 1 }).then(({ items }) => items.length > 0);
    const look: Look = { at: now, answer };
    LOOKS.set(this.#notes, look);
    const forget = (): void => {
      if (LOOKS.get(this.#notes) === look) LOOKS.delete(this.#notes);
    };
    answer.then((isAny) => {
      look.isAny = isAny;
    }, forget);
    return answer;
  }

  /** The grants of a tool that may be open. A record that was changed is skipped, with a process warning. */
  async open(tool: string): Promise<readonly GrantRecord[]> {
    const prefix = openKey(tool, '');
    const ids: string[] = [];
    for (let after = prefix; ; ) {
      const { items, cursor } = await this.#notes.list(OPEN, { after, limit: PAGE });
      const own = items.filter(({ key }) => key.startsWith(prefix));
      for (const { key } of own) ids.push(key.slice(prefix.length));
      if (own.length < items.length || cursor === null) break;
      after = cursor;
    }
    return this.several(ids);
  }

  /** Those of these ids that exist. A record that was changed is skipped, with a process warning. */
  async several(ids: readonly string[]): Promise<readonly GrantRecord[]> {
    return ids.length === 0 ? [] : mapValid(await this.#notes.getMany(GRANTS, ids), grantRecordOf);
  }

  /** Calls do not look at the grant again. */
  async close({ grant }: GrantState): Promise<void> {
    await this.#notes.remove(OPEN, openKey(grant.tool, grant.id));
  }

  /** Adds the event. Returns false if someone else changed the grant since it was read. */
  add({ state, events, hash, version }: GrantRecord, event: GrantEvent): Promise<boolean> {
    return this.#put(state.grant.id, [...events, event], link(hash, event), version);
  }

  /** Adds what `change` makes of the grant until it makes nothing more of it. Others may change it meanwhile. */
  async change(id: string, change: Change): Promise<GrantRecord> {
    for (;;) {
      const record = await this.read(id);
      const event = change(record.state);
      if (!event) return record;
      await this.add(record, event);
    }
  }

  /** Removes the reservations of these calls. A record of each run must rule its call out for good. */
  async release(id: string, keys: ReadonlySet<string>): Promise<GrantRecord> {
    for (;;) {
      const record = await this.read(id);
      const reserved = [...keys].filter((key) => record.state.uses.get(key)?.status === 'reserved');
      if (reserved.length === 0) return record;
      const events = withoutUses(record.events, new Set(reserved));
      await this.#put(id, events, events.reduce(link, chainStart(id)), record.version);
    }
  }

  #put(id: string, events: readonly GrantEvent[], hash: string, version: number): Promise<boolean> {
    return this.#notes.put(GRANTS, id, { events, hash } as unknown as Json, { version });
  }
}

const openKey = (tool: string, id: string): string => `${encodeURIComponent(tool)}/${id}`;

/** Covers the id, so that the record of one grant does not pass for another. */
const chainStart = (id: string): string => shortHash(JSON.stringify(['grant', id]));

export function grantRecordOf({ key, value, version }: Note): GrantRecord {
  const { events, hash } = (isObject(value) ? value : {}) as Partial<GrantRecord>;
  if (!Array.isArray(events) || typeof hash !== 'string' || events.reduce(link, chainStart(key)) !== hash)
    throw tampered(key);
  const state = foldGrant(events);
  if (state.grant.id !== key) throw tampered(key);
  return { events, hash, state, version };
}

function tampered(grantId: string): ConflictError {
  const message = `The record of grant ${grantId} does not verify. An event was changed, removed or added after it was recorded.`;
  return new ConflictError('tampered-grant', { grantId }, message);
}
