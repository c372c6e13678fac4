// Absences: a person names a delegate for a period, who then decides for them. Kept as notes; the store's clock counts.
//
// Only the absent person, or an administrator who is not the delegate, names one. A person who ever had a passkey signs it. The
// absent person is told, and the delegate must be a known person.
import type { Delegation } from '../core/authority/policy.ts';
import { UsageError } from '../core/errors.ts';
import { isObject, type Json } from '../core/json.ts';
import { anything, aString, checkOptions, type OptionKind, type OptionTable } from '../core/options.ts';
import { asName } from '../core/request/person.ts';
import { withdrawLiftVotes } from './freezes/removed-lifter.ts';
import { putNews } from './notices/person-news.ts';
import { checkSignedAbsence } from './passkeys/check-signature.ts';
import { Passkeys } from './passkeys/passkeys.ts';
import { type NamedDelegate, type People, SIGNED_IN } from './people.ts';
import type { Note } from './port/notes.ts';
import type { Store } from './port/store.ts';
import {
  absenceNotes,
  ABSENCES as COLLECTION,
  checkPerson,
  dropRemoval,
  findRemoval,
  isRemoval,
  isRemovalOf,
  putRemoval,
  type Removal,
  type RemoveOptions,
  refuseRemoved,
  removalIn,
  wasRemoved,
} from './removals.ts';

/** A period: `delegate` decides for `person` during it. Times are in milliseconds; `until` is the first one after it. */
export type Absence = {
  readonly person: string;
  readonly delegate: string;
  readonly from: number;
  readonly until: number;
  /** Who named the delegate. */
  readonly by: string;
  readonly how: Exclude<Delegation['how'], 'directory'>;
};

/** Options of `ai.people.absent`. */
export type AbsentOptions = {
  /** The person to decide instead: one whom the directory knows, or who has signed in to the server. */
  readonly delegate: string;
  /** Now by default. */
  readonly from?: number | Date;
  /** At most 90 days after the beginning. */
  readonly until: number | Date;
  /** Who names the delegate: the person, as they are signed in, or an administrator, who cannot be the delegate. */
  readonly by: string;
  /** Signs `absenceChallenge` of this absence with a passkey of the person: needed if `by` is the person and they have passkeys. */
  readonly signature?: Json;
};

const aTime: OptionKind = {
  is: 'a time: a Date, or milliseconds',
  fits: (value) => Number.isSafeInteger(value instanceof Date ? value.getTime() : value),
};

const ABSENT_OPTIONS: OptionTable<AbsentOptions> = {
  delegate: { ...aString, required: true },
  from: aTime,
  until: { ...aTime, required: true },
  by: { ...aString, required: true },
  signature: anything,
};

const DAY_MS = 24 * 3_600_000;
const LONGEST_DAYS = 90;
/** How long a person counts as known after they signed in. */
const KNOWN_DAYS = 180;

/** Absent people and their delegates; `ai.people`. */
export class Absences {
  readonly #store: Store;
  readonly #people: People;

  constructor(store: Store, people: People = {}) {
    this.#store = store;
    this.#people = people;
  }

  /**
   * Records that a person is away for a period, in place of the period before, and tells them. In it, `delegate` may decide for
   * them, with their roles; decisions then name both people. Under a policy with `signed` that counts only with `delegates`.
   */
  async absent(person: string, options: AbsentOptions): Promise<Absence> {
    checkPerson('person', person);
    checkOptions('`absent`', options, ABSENT_OPTIONS);
    const { delegate, by } = options;
    checkPerson('delegate', delegate);
    checkPerson('by', by);
    const now = await this.#store.now();
    const [from, until] = [timeOf(options.from ?? now), timeOf(options.until)];
    if (delegate === person)
      throw invalid('delegate', `${person} cannot stand in for themselves. Name another person.`);
    if (until <= Math.max(now, from))
      throw invalid('until', 'The period must end later than it begins, and later than now.');
    if (until - Math.max(now, from) > LONGEST_DAYS * DAY_MS)
      throw invalid('until', `An absence is ${LONGEST_DAYS} days at most. Name an earlier end.`);
    if (by === delegate) {
      const message = `${by} cannot become the delegate of ${person} by their own act. Nothing was recorded.`;
      throw new UsageError('not-allowed', { status: 403, person }, message);
    }
    for (const one of [person, delegate]) await this.refuseRemoved(one);
    if (!(await this.#knows(delegate))) throw unknownDelegate(delegate);
    const how = by === person ? await this.#ownAct(person, options) : 'administrator';
    const absence: Absence = { person, delegate, from, until, by, how };
    // First: a crash in between tells of an absence that does not count, rather than hiding one that does.
    await putNews(this.#store.notes, { type: 'delegate-named', at: now, person, delegate, from, until, by });
    await this.#store.notes.put(COLLECTION, person, { ...absence }, { expiresAt: until });
    return absence;
  }

  /**
   * Records that a person was removed: from now on they neither vote nor sign in. `countersign people remove` also ends what they
   * have: sessions, tokens, links, passkeys, grants, and votes on requests that wait.
   */
  async remove(person: string, options: RemoveOptions): Promise<Removal> {
    const removal = await putRemoval(this.#store, person, options);
    await withdrawLiftVotes(this.#store, person);
    const ended = (await this.absences()).filter((one) => one.person === person || one.delegate === person);
    for (const absence of ended) await this.present(absence.person);
    return removal;
  }

  /** Lets a person who was removed sign in again. What they had does not come back. Returns false if they were not removed. */
  async restore(person: string): Promise<boolean> {
    return dropRemoval(this.#store.notes, person);
  }

  /** The removal of this person; undefined if they were not removed. */
  async removalOf(person: string): Promise<Removal | undefined> {
    return findRemoval(this.#store.notes, person);
  }

  /** Lists the people who were removed. */
  async removals(): Promise<readonly Removal[]> {
    return (await absenceNotes(this.#store.notes)).filter(isRemoval).map(removalIn);
  }

  /** Records that a person has signed in, and the name that the sign-in gives: then they are known, and can be a delegate. Servers call it. */
  async signedIn(person: string, name?: string | null): Promise<void> {
    checkPerson('person', person);
    const at = await this.#store.now();
    const shown = asName(name);
    const value = { at, ...(shown !== undefined && { name: shown }) };
    await this.#store.notes.put(SIGNED_IN, person, value, { expiresAt: at + KNOWN_DAYS * DAY_MS });
  }

  /** The name of a person: by the directory, or as they signed in. Undefined if neither has one. Names are only shown. */
  async nameOf(person: string): Promise<string | undefined> {
    checkPerson('person', person);
    const known = asName((await this.#people.contactOf?.(person))?.name);
    if (known !== undefined) return known;
    const { value } = (await this.#store.notes.get(SIGNED_IN, person)) ?? {};
    return isObject(value) ? asName(value.name) : undefined;
  }

  /** Ends the absence of a person. Returns false if there was none. */
  async present(person: string): Promise<boolean> {
    checkPerson('person', person);
    return this.#store.notes.remove(COLLECTION, person);
  }

  /** Lists the absences that have not ended, even those that have not begun. With `delegate`, only those with this delegate. */
  async absences(options: { readonly delegate?: string } = {}): Promise<readonly Absence[]> {
    checkOptions('`absences`', options, { delegate: anything });
    const found = (await absenceNotes(this.#store.notes)).filter((note) => !isRemoval(note)).map(absenceIn);
    return options.delegate === undefined ? found : found.filter(({ delegate }) => delegate === options.delegate);
  }

  /** The recorded absence of a person, if it has not ended. */
  async absenceOf(person: string): Promise<Absence | undefined> {
    checkPerson('person', person);
    const note = await this.#store.notes.get(COLLECTION, person);
    return note && absenceIn(note);
  }

  /** Returns the person's delegate at this time of the store; undefined if the person is not away. */
  async delegateOf(person: string): Promise<string | undefined> {
    return (await this.delegationOf(person))?.delegate;
  }

  /** The person's delegate at this time of the store, and who named them. The directory is asked if the record has none. */
  async delegationOf(person: string): Promise<NamedDelegate | undefined> {
    const [absence, now] = await Promise.all([this.absenceOf(person), this.#store.now()]);
    if (absence && isAway(absence, now)) return { delegate: absence.delegate, by: absence.by, how: absence.how };
    const delegate = await this.#people.delegateOf?.(person);
    return delegate === undefined ? undefined : { delegate, by: null, how: 'directory' };
  }

  /**
   * The people who are away at this time of the store, by the record, and for whom this person decides. Throws `not-allowed` if the
   * person was removed.
   */
  async actsFor(person: string): Promise<readonly string[]> {
    const [all, now] = await Promise.all([absenceNotes(this.#store.notes), this.#store.now()]);
    if (all.some(isRemovalOf(person)) || (await this.hasLeft(person))) throw wasRemoved(person);
    const absences = all.filter((note) => !isRemoval(note)).map(absenceIn);
    return absences.filter((one) => one.delegate === person && isAway(one, now)).map((absence) => absence.person);
  }

  /** The directory can say who has left. */
  get knowsWhoLeft(): boolean {
    return this.#people.isActive !== undefined;
  }

  /** Whether the directory says that this person has left. */
  async hasLeft(person: string): Promise<boolean> {
    checkPerson('person', person);
    return this.#people.isActive !== undefined && (await this.#people.isActive(person)) !== true;
  }

  /** Throws `not-allowed` if the person was removed, or has left. */
  async refuseRemoved(person: string): Promise<void> {
    await refuseRemoved(this.#store.notes, person);
    if (await this.hasLeft(person)) throw wasRemoved(person);
  }

  async #knows(person: string): Promise<boolean> {
    if (await this.#store.notes.get(SIGNED_IN, person)) return true;
    if ((await this.#people.contactOf?.(person)) !== undefined) return true;
    return ((await this.#people.rolesOf?.(person)) ?? []).length > 0;
  }

  /** Revoking keys does not free from signing: a stolen session can revoke them. */
  async #ownAct(person: string, options: AbsentOptions): Promise<'passkey' | 'session'> {
    const { signature, delegate, from, until } = options;
    const passkeys = new Passkeys(this.#store.notes, () => this.#store.now());
    if ((await passkeys.list(person)).length === 0) return 'session';
    if (signature === undefined) {
      const message = `${person} has a passkey, so they sign the name of their delegate with it. Nothing was recorded.`;
      throw new UsageError('signature-required', { status: 403, person }, message);
    }
    const signed = { person, delegate, from: from === undefined ? null : timeOf(from), until: timeOf(until) };
    await checkSignedAbsence(passkeys, signature, signed);
    return 'passkey';
  }
}

const absenceIn = ({ value }: Note): Absence => value as unknown as Absence;

const isAway = ({ from, until }: Absence, now: number): boolean => from <= now && now < until;

const timeOf = (time: number | Date): number => (time instanceof Date ? time.getTime() : time);

function invalid(field: string, message: string): UsageError {
  return new UsageError('invalid-options', { field }, message);
}

function unknownDelegate(delegate: string): UsageError {
  const message = `${delegate} is not known here, so they cannot be a delegate. The directory (\`people.contactOf\` or \`people.rolesOf\`) must know them, or they must have signed in to the server.`;
  return invalid('delegate', message);
}
