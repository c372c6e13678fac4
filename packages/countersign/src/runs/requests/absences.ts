// Absences: a person names a delegate for a period, who then decides for them. Kept as notes; the store's clock counts.
import { UsageError } from '../../core/errors.ts';
import {
  anything,
  aString,
  aStringOrNull,
  checkOptions,
  checkValue,
  type OptionKind,
  type OptionTable,
} from '../../core/options.ts';
import type { Note } from '../port/notes.ts';
import type { Store } from '../port/store.ts';

/** A period: `delegate` decides for `person` during it. Times are in milliseconds; `until` is the first one after it. */
export type Absence = {
  readonly person: string;
  readonly delegate: string;
  readonly from: number;
  readonly until: number;
  /** Who recorded it. */
  readonly by: string | null;
};

/** Options of `ai.people.absent`. */
export type AbsentOptions = {
  /** The person to decide instead. */
  readonly delegate: string;
  /** Now by default. */
  readonly from?: number | Date;
  readonly until: number | Date;
  /** Who records it: the person or an administrator. */
  readonly by?: string | null;
};

const aTime: OptionKind = {
  is: 'a time: a Date, or milliseconds',
  fits: (value) => Number.isSafeInteger(value instanceof Date ? value.getTime() : value),
};

const ABSENT_OPTIONS: OptionTable<AbsentOptions> = {
  delegate: { ...aString, required: true },
  from: aTime,
  until: { ...aTime, required: true },
  by: aStringOrNull,
};

const COLLECTION = 'absences';
const PAGE = 500;

/** Absent people and their delegates; `ai.people`. */
export class Absences {
  readonly #store: Store;
  readonly #delegateOf: DelegateOf;

  /** `delegateOf` asks a directory about people who are not away by the record. */
  constructor(store: Store, delegateOf: DelegateOf = () => undefined) {
    this.#store = store;
    this.#delegateOf = delegateOf;
  }

  /**
   * Records that a person is away for a period, in place of the period before. In it, `delegate` may decide for them, with
   * their roles; decisions then name both people.
   */
  async absent(person: string, options: AbsentOptions): Promise<Absence> {
    checkPerson('person', person);
    checkOptions('`absent`', options, ABSENT_OPTIONS);
    const { delegate, until, by = null } = options;
    checkPerson('delegate', delegate);
    const now = await this.#store.now();
    const absence: Absence = { person, delegate, from: timeOf(options.from ?? now), until: timeOf(until), by };
    if (delegate === person)
      throw invalid('delegate', `${person} cannot stand in for themselves. Name another person.`);
    if (absence.until <= Math.max(now, absence.from))
      throw invalid('until', 'The period must end later than it begins, and later than now.');
    await this.#store.notes.put(COLLECTION, person, { ...absence }, { expiresAt: absence.until });
    return absence;
  }

  /** Ends the absence of a person. Returns false if there was none. */
  async present(person: string): Promise<boolean> {
    checkPerson('person', person);
    return this.#store.notes.remove(COLLECTION, person);
  }

  /** Lists the absences that have not ended, even those that have not begun. With `delegate`, only those with this delegate. */
  async absences(options: { readonly delegate?: string } = {}): Promise<readonly Absence[]> {
    checkOptions('`absences`', options, { delegate: anything });
    const found: Absence[] = [];
    for (let after: string | null | undefined; after !== null; ) {
      const page = await this.#store.notes.list(COLLECTION, { limit: PAGE, ...(after !== undefined && { after }) });
      found.push(...page.items.map(absenceIn));
      after = page.cursor;
    }
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
    const [absence, now] = await Promise.all([this.absenceOf(person), this.#store.now()]);
    return absence && isAway(absence, now) ? absence.delegate : await this.#delegateOf(person);
  }

  /** The people who are away at this time of the store, by the record, and for whom this person decides. */
  async actsFor(person: string): Promise<readonly string[]> {
    const [absences, now] = await Promise.all([this.absences({ delegate: person }), this.#store.now()]);
    return absences.filter((absence) => isAway(absence, now)).map((absence) => absence.person);
  }
}

type DelegateOf = (person: string) => string | undefined | Promise<string | undefined>;

const absenceIn = ({ value }: Note): Absence => value as unknown as Absence;

const isAway = ({ from, until }: Absence, now: number): boolean => from <= now && now < until;

const timeOf = (time: number | Date): number => (time instanceof Date ? time.getTime() : time);

function checkPerson(field: string, person: unknown): void {
  checkValue(field, person, {
    is: 'the id of a person, of 1 to 200 characters',
    fits: (value) => typeof value === 'string' && value.length > 0 && value.length <= 200,
  });
}

function invalid(field: string, message: string): UsageError {
  return new UsageError('invalid-options', { field }, message);
}
