// What is frozen in a store: one note with the records of all freezes that are not lifted, whose version every start is judged by.
import { type Freeze, type FreezeEvent, type FreezeState, foldFreeze } from '../../core/authority/freeze.ts';
import { ANYONE } from '../../core/authority/policy.ts';
import { ConflictError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json.ts';
import { link, shortHash } from '../port/chain.ts';
import type { Note, Notes } from '../port/notes.ts';
import type { Page } from '../port/page.ts';
import { mapValid } from '../port/skip-invalid.ts';
import { FREEZES, type Store } from '../port/store.ts';

/** The freezes that were lifted, each under its id. */
const LIFTED = 'freezes-lifted';

/** Which copy of the data the store was last. */
const PLACE = ['freezes', 'place'] as const;

const RESTORED =
  'The store was restored from a backup, or moved. Calls that ran after the backup are not in it: check what they did outside.';

type Change = (frozen: Frozen) => readonly FreezeRecord[] | undefined | Promise<readonly FreezeRecord[] | undefined>;

/** The runs with frozen calls. Only a hint: the record of the run decides. */
const FROZEN_RUNS = 'frozen-runs';

/** The record of a freeze. */
export type FreezeRecord = { readonly events: readonly FreezeEvent[]; readonly hash: string };

/** What is frozen at a version of the note; 0 if there is no note. */
export type Frozen = {
  readonly version: number;
  readonly records: readonly FreezeRecord[];
  readonly freezes: readonly Freeze[];
};

const BOOKS = new WeakMap<Notes, FreezeBook>();

/** The one book of a store in this process. */
export function bookOf(store: Pick<Store, 'notes' | 'identity' | 'now'>): FreezeBook {
  const known = BOOKS.get(store.notes);
  if (known) return known;
  const book = new FreezeBook(store);
  BOOKS.set(store.notes, book);
  return book;
}

export class FreezeBook {
  /** As last read. A start that is judged by it is refused if it is out of date. */
  known: Frozen | undefined;
  readonly #notes: Notes;
  readonly #store: Pick<Store, 'identity' | 'now'>;
  #placed: Promise<void> | undefined;

  constructor(store: Pick<Store, 'notes' | 'identity' | 'now'>) {
    this.#notes = store.notes;
    this.#store = store;
  }

  /** Throws `tampered-freeze` if a record was changed: then no call starts. */
  async read(): Promise<Frozen> {
    this.#placed ??= this.#checkPlace().catch((error: unknown) => {
      this.#placed = undefined;
      throw error;
    });
    await this.#placed;
    return this.#read();
  }

  /** A store that was restored from a backup may not know what ran after it: it starts frozen. */
  async #checkPlace(): Promise<void> {
    const here = await this.#store.identity?.();
    if (here === undefined) return;
    const before = await this.#notes.get(...PLACE);
    if (before?.value === here) return;
    if (before) {
      const id = `freeze_restored_${shortHash(JSON.stringify([before.version, here])).replace(/[^a-zA-Z0-9]/g, 'x')}`;
      await this.#freeze({ id, reason: RESTORED, by: null, at: await this.#store.now() });
    }
    await this.#notes.put(...PLACE, here, { version: before?.version ?? 0 });
  }

  /** Nobody is asked: whoever lifts it, their process says who may. Freezing it again changes nothing. */
  async freeze(freeze: Freeze): Promise<void> {
    await this.read();
    await this.#freeze(freeze);
  }

  async #freeze(freeze: Freeze): Promise<void> {
    const isKnown = ({ id }: Freeze): boolean => id === freeze.id;
    await this.#change(({ freezes, records }) =>
      freezes.some(isKnown) ? undefined : [...records, recorded({ type: 'frozen', freeze, lift: ANYONE })],
    );
  }

  async #read(): Promise<Frozen> {
    const note = await this.#notes.get(...FREEZES);
    const records = Array.isArray(note?.value) ? note.value.map((value) => checked(value)) : [];
    if (note && note.value !== null && !Array.isArray(note.value)) throw tampered('that are frozen now');
    const freezes = records.map(({ events }) => foldFreeze(events).freeze);
    this.known = { version: note?.version ?? 0, records, freezes };
    return this.known;
  }

  /** Writes what `change` makes of the records, until nobody else writes at the same time. Undefined for nothing to change. */
  async change(change: Change): Promise<void> {
    await this.read();
    await this.#change(change);
  }

  async #change(change: Change): Promise<void> {
    for (;;) {
      const frozen = await this.#read();
      const records = await change(frozen);
      if (!records) return;
      const isWritten = await this.#notes.put(...FREEZES, records as unknown as Json, { version: frozen.version });
      this.known = undefined;
      if (isWritten) return;
    }
  }

  /** Keeps the record of a lifted freeze. Its id sorts it: the newest first. */
  async keep(id: string, record: FreezeRecord): Promise<void> {
    await this.#notes.put(LIFTED, id, record as unknown as Json);
  }

  async lifted(limit: number, after?: string): Promise<Page<FreezeState>> {
    const page = await this.#notes.list(LIFTED, { limit, ...(after !== undefined && { after }) });
    return { ...page, items: mapValid(page.items, ({ value }: Note) => foldFreeze(checked(value).events)) };
  }

  async findLifted(id: string): Promise<FreezeState | undefined> {
    const note = await this.#notes.get(LIFTED, id);
    return note && foldFreeze(checked(note.value).events);
  }

  /** Before the calls of the run are frozen, so that whoever lifts the freeze finds them. */
  async remember(runId: string, now: number): Promise<void> {
    await this.#notes.put(FROZEN_RUNS, runId, now);
  }

  /** Unless it was remembered again since then. */
  async forget({ key, version }: Note): Promise<void> {
    await this.#notes.put(FROZEN_RUNS, key, null, { version, expiresAt: 1 });
  }

  async frozenRuns(after?: string): Promise<Page<Note>> {
    return this.#notes.list(FROZEN_RUNS, { limit: 100, ...(after !== undefined && { after }) });
  }
}

/** Begins with a number that falls with time, so that lists show the newest first. */
export function freezeId(at: number, random: string): string {
  return `freeze_${(36 ** 9 - 1 - at).toString(36).padStart(9, '0')}${shortHash(random)
    .replace(/[^a-zA-Z0-9]/g, 'x')
    .slice(0, 8)}`;
}

/** The record with one more event, or a new one. */
export function recorded(event: FreezeEvent, before?: FreezeRecord): FreezeRecord {
  return { events: [...(before?.events ?? []), event], hash: link(before?.hash ?? START, event) };
}

const START = shortHash(JSON.stringify(['freeze']));

function checked(value: Json): FreezeRecord {
  const { events, hash } = (isObject(value) ? value : {}) as Partial<FreezeRecord>;
  if (Array.isArray(events) && typeof hash === 'string' && events.reduce(link, START) === hash) return { events, hash };
  throw tampered('of a freeze');
}

function tampered(what: string): ConflictError {
  const message = `The record ${what} does not verify: it was changed after it was recorded. No call starts until someone restores it.`;
  return new ConflictError('tampered-freeze', {}, message);
}
