// People who were removed: they neither sign in nor vote. Kept beside the absences, in one list, so that who votes is read at once.
import { UsageError } from '../core/errors.ts';
import { aString, checkOptions, checkValue } from '../core/options.ts';
import type { Note, Notes } from './port/notes.ts';
import type { Store } from './port/store.ts';

/** A person who was removed: they neither sign in nor vote. */
export type Removal = {
  readonly person: string;
  readonly at: number;
  /** Who removed them. */
  readonly by: string;
  readonly reason?: string;
};

/** Options of `ai.people.remove`. */
export type RemoveOptions = { readonly by: string; readonly reason?: string };

/** The collection of absences and removals. */
export const ABSENCES = 'absences';
const PAGE = 500;
/** A key with it is longer than any id, so no absence has it. */
const REMOVED = 'removed'.padEnd(201, '-');

export const isRemoval = ({ key }: Note): boolean => key.startsWith(REMOVED);

export const isRemovalOf =
  (person: string) =>
  ({ key }: Note): boolean =>
    key === REMOVED + person;

export const removalIn = ({ value }: Note): Removal => value as unknown as Removal;

export async function putRemoval(store: Store, person: string, options: RemoveOptions): Promise<Removal> {
  checkPerson('person', person);
  checkOptions('`remove`', options, { by: { ...aString, required: true }, reason: aString });
  const { by, reason } = options;
  checkPerson('by', by);
  const { notes } = store;
  const known = await findRemoval(notes, person);
  if (known) return known;
  const removal: Removal = { person, at: await store.now(), by, ...(reason !== undefined && { reason }) };
  await notes.put(ABSENCES, REMOVED + person, { ...removal });
  return removal;
}

/** Undefined if the person was not removed. */
export async function findRemoval(notes: Notes, person: string): Promise<Removal | undefined> {
  checkPerson('person', person);
  const note = await notes.get(ABSENCES, REMOVED + person);
  return note && removalIn(note);
}

/** Throws `not-allowed` if the person was removed. */
export async function refuseRemoved(notes: Notes, person: string): Promise<void> {
  if (await findRemoval(notes, person)) throw wasRemoved(person);
}

export async function dropRemoval(notes: Notes, person: string): Promise<boolean> {
  checkPerson('person', person);
  return notes.remove(ABSENCES, REMOVED + person);
}

/** All absences and removals. */
export async function absenceNotes(notes: Notes): Promise<readonly Note[]> {
  const found: Note[] = [];
  for (let after: string | null | undefined; after !== null; ) {
    const page = await notes.list(ABSENCES, { limit: PAGE, ...(after !== undefined && { after }) });
    found.push(...page.items);
    after = page.cursor;
  }
  return found;
}

export function wasRemoved(person: string): UsageError {
  const message = `${person} was removed, so they neither sign in nor decide. To undo that: countersign people restore ${person}`;
  return new UsageError('not-allowed', { status: 403, person }, message);
}

export function checkPerson(field: string, person: unknown): void {
  checkValue(field, person, {
    is: 'the id of a person, of 1 to 200 characters',
    fits: (value) => typeof value === 'string' && value.length > 0 && value.length <= 200,
  });
}
