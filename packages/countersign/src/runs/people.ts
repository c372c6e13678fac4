// The directory of people. The engine asks it when a person votes, and records its answer with the vote. A server asks it who signs in.

import type { Voter as CandidateVoter } from '../core/authority/may-decide.ts';
import type { Delegation, Who } from '../core/authority/policy.ts';
import { UsageError } from '../core/errors.ts';
import { defined } from '../core/json.ts';
import type { Contact } from './notices/channel.ts';
import type { Notes } from './port/notes.ts';
import type { Electorate, Voter } from './requests/votes.ts';
import type { DecideOptions } from './run-options.ts';

type MaybePromise<T> = T | Promise<T>;

/** A directory of people, as far as the application has one. Ids are compared byte for byte, so use one spelling per person. */
export type People = {
  /** The roles of a person. They are added to those that the sign-in knows. */
  readonly rolesOf?: (person: string) => MaybePromise<readonly string[]>;
  readonly managerOf?: (person: string) => MaybePromise<string | undefined>;
  /** Returns the delegate of an absent person. */
  readonly delegateOf?: (person: string) => MaybePromise<string | undefined>;
  /** Returns the members of a role. If a policy needs more people than that, its cards have a warning. */
  readonly membersOf?: (role: string) => MaybePromise<readonly string[]>;
  /** Where a person can be reached. Undefined if the directory does not know them. */
  readonly contactOf?: (person: string) => MaybePromise<Contact | undefined>;
  /** False for those who have left: they neither sign in nor vote. It is asked about everyone who does, programs with tokens too. */
  readonly isActive?: (person: string) => MaybePromise<boolean>;
  /** All roles that exist. A policy that names another one is refused where it is defined. */
  readonly roles?: readonly string[];
};

/** A delegate, and who named them. */
export type NamedDelegate = Delegation & { readonly delegate: string };

/** The directory of the application, and the recorded absences. */
export type Directory = Omit<People, 'delegateOf'> & Delegations;

/** Who decides for whom now. */
type Delegations = {
  /** The delegate of an absent person, and who named them. */
  delegationOf(person: string): Promise<NamedDelegate | undefined>;
  delegateOf(person: string): Promise<string | undefined>;
  /** The people who are away, and for whom this person decides. */
  actsFor(person: string): Promise<readonly string[]>;
  /** Throws `not-allowed` if the person was removed. */
  refuseRemoved(person: string): Promise<void>;
};

/** Methods of the directory stay methods: it may be an object of a class. */
export function directoryOf(people: People, absences: Delegations): Directory {
  const { rolesOf, managerOf, membersOf, contactOf, roles } = people;
  return {
    ...(rolesOf && { rolesOf: (person) => rolesOf.call(people, person) }),
    ...(managerOf && { managerOf: (person) => managerOf.call(people, person) }),
    ...(membersOf && { membersOf: (role) => membersOf.call(people, role) }),
    ...(contactOf && { contactOf: (person) => contactOf.call(people, person) }),
    ...(roles && { roles }),
    delegationOf: (person) => absences.delegationOf(person),
    delegateOf: (person) => absences.delegateOf(person),
    actsFor: (person) => absences.actsFor(person),
    refuseRemoved: (person) => absences.refuseRemoved(person),
  };
}

/**
 * Who votes, with the roles that count: those of the absent person for a vote on their behalf. A person who cannot vote
 * themselves votes for the only one who can and whom they stand in for.
 */
export async function voterOf(
  people: Directory,
  by: string | null,
  options: DecideOptions,
  { mayVote, named }: Electorate,
): Promise<Voter> {
  const { roles: given = [], onBehalfOf, digest, signature, seenForMs } = options;
  const about = defined({ digest, signature, seenForMs });
  if (by !== null) await people.refuseRemoved(by);
  if (onBehalfOf !== undefined) return { ...(await delegateVoter(people, by, onBehalfOf)), ...about };
  const own = await voter(people, by, given);
  if (by === null || mayVote({ by, ...own })) return { ...own, ...about };
  const absent = await absentPeople(people, by, named);
  const others = await Promise.all(absent.map((person) => delegateVoter(people, by, person)));
  const [only, ...more] = others.filter((other) => mayVote({ by, ...other }));
  return { ...(only && more.length === 0 ? only : own), ...about };
}

/** The person as they would vote: alone, with the roles of the sign-in (`given`), and for each person whom they stand in for. */
export async function votersFor(
  people: Directory,
  by: string,
  given: readonly string[],
): Promise<readonly CandidateVoter[]> {
  const absent = await people.actsFor(by);
  const others = absent.map(async (person) => ({ by, onBehalfOf: person, ...(await voter(people, person, [])) }));
  return [{ by, ...(await voter(people, by, given)) }, ...(await Promise.all(others))];
}

async function voter({ rolesOf }: Directory, person: string | null, given: readonly string[]): Promise<Voter> {
  const known = person === null ? [] : ((await rolesOf?.(person)) ?? []);
  const roles = [...new Set([...given, ...known])];
  return roles.length > 0 ? { roles } : {};
}

/** The people for whom this person decides now. A directory can be asked only about people whom the policy names. */
async function absentPeople(
  { actsFor, delegateOf }: Directory,
  by: string,
  named: readonly string[],
): Promise<readonly string[]> {
  const delegates = await Promise.all(named.map(delegateOf));
  return [...new Set([...(await actsFor(by)), ...named.filter((_, index) => delegates[index] === by)])];
}

/** The voter for an absent person, with the roles of that person. Throws if they do not stand in for them now. */
async function delegateVoter(people: Directory, by: string | null, absent: string): Promise<Voter> {
  const named = await people.delegationOf(absent);
  if (by !== null && named?.delegate === by) {
    const { delegate: _delegate, ...delegation } = named;
    return { ...(await voter(people, absent, [])), onBehalfOf: absent, delegation };
  }
  const message = `${by ?? 'This person'} does not stand in for ${absent} now. Nothing was recorded.`;
  throw new UsageError('not-allowed', { status: 403, onBehalfOf: absent }, message);
}

/** A person whom this installation knows, and where they can be reached. */
export type KnownPerson = { readonly person: string; readonly contact: Contact };

type Sources = {
  readonly people: Directory;
  readonly notes: Notes;
  /** The people whom the application tells about requests that name nobody. */
  readonly everyone: Who;
};

/** The collection of people who have signed in. */
export const SIGNED_IN = 'signed-in';

/** More are not searched for an address. */
const MOST = 2_000;
const PAGE = 500;

/** The people with this id or mail address, whatever its capital letters. People whom nothing knows are not among them. */
export async function peopleCalled(name: string, sources: Sources): Promise<readonly KnownPerson[]> {
  const own = await knownPerson(name, sources);
  if (own) return [own];
  if (!name.includes('@')) return [];
  const found: KnownPerson[] = [];
  for (const person of await everyKnownId(sources)) {
    const contact = (await sources.people.contactOf?.(person)) ?? {};
    if ((contact.mail ?? person).toLowerCase() === name.toLowerCase()) found.push({ person, contact });
  }
  return found;
}

async function knownPerson(person: string, sources: Sources): Promise<KnownPerson | undefined> {
  const { people, notes, everyone } = sources;
  const contact = await people.contactOf?.(person);
  if (contact) return { person, contact };
  const isKnown =
    (everyone.people ?? []).includes(person) ||
    ((await people.rolesOf?.(person)) ?? []).length > 0 ||
    (await notes.get(SIGNED_IN, person)) !== undefined;
  return isKnown ? { person, contact: {} } : undefined;
}

async function everyKnownId({ people, notes, everyone }: Sources): Promise<readonly string[]> {
  const roles = new Set([...(people.roles ?? []), ...(everyone.roles ?? [])]);
  const members = await Promise.all([...roles].map(async (role) => (await people.membersOf?.(role)) ?? []));
  const signedIn: string[] = [];
  for (let after: string | null | undefined; after !== null && signedIn.length < MOST; ) {
    const page = await notes.list(SIGNED_IN, { limit: PAGE, ...(after !== undefined && { after }) });
    signedIn.push(...page.items.map(({ key }) => key));
    after = page.cursor;
  }
  return [...new Set([...(everyone.people ?? []), ...members.flat(), ...signedIn])].slice(0, MOST);
}
